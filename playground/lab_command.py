"""Labs in the terminal: python -m playground lab kv-cache --json."""

from __future__ import annotations

import argparse
import contextlib
import json
import threading
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rich.console import Console

import playground
from playground.arguments import Failed, QuietParser, Refused, add_model_options
from playground.experiments import LABS, Lab
from playground.experiments.lab import Progress, kind_of, read_options, record, run_lab
from playground.findings.report import LabResult
from playground.interrupt import stop_on_interrupt
from playground.saving import check_target, save
from playground.terminal import Terminal
from playground.terminal_report import print_report

if TYPE_CHECKING:
    from playground.engine.local import LocalEngine

_KINDS: dict[str, dict[str, Any]] = {
    "whole": {"type": int, "metavar": "N"},
    "number": {"type": float, "metavar": "X"},
    "text": {"metavar": "TEXT"},
    "switch": {"action": argparse.BooleanOptionalAction},
}


def lab_parser() -> argparse.ArgumentParser:
    """The options of `lab`. Parsing a bad one raises Refused."""
    made = QuietParser(
        prog="python -m playground lab",
        description="Measure something about a model on this machine, and say how it was measured.",
        epilog="Exit codes: 0 measured; 1 the model or the measuring failed; 2 a bad argument; 130 stopped "
        "by Ctrl-C, with what was measured by then. A lab's options: python -m playground lab NAME --help. "
        "To ask about the word lab alone: python -m playground -- lab",
        allow_abbrev=False,
    )
    labs = made.add_subparsers(dest="lab", metavar="NAME", required=True)
    for lab in LABS.values():
        one = labs.add_parser(
            lab.name,
            help=lab.question,
            description=" ".join([lab.question, *lab.method, *lab.bounds]).replace("%", "%%"),
            allow_abbrev=False,
        )
        for item in fields(lab.options):
            told = item.metadata["label"] + (f": {item.metadata['hint']}" if item.metadata["hint"] else "")
            shown = f"{told} (default {_shown(item.default)})".replace("%", "%%")
            kind = _KINDS.get(kind_of(item)) or {"type": _list, "metavar": "N,N…"}
            one.add_argument(
                "--" + item.name.replace("_", "-"),
                default=argparse.SUPPRESS,
                help=shown,
                dest=item.name,
                **kind,
            )
        add_model_options(one.add_argument_group("model"))
        group = one.add_argument_group("output")
        group.add_argument("--json", action="store_true", help="everything, as one JSON object")
        group.add_argument("--save", metavar="FILE", help="keep that object as a file")
    return made


def _list(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be whole numbers with commas between, got {text!r:.80}"
        ) from None


def _shown(default: Any) -> str:
    if isinstance(default, tuple):
        return ",".join(str(each) for each in default)
    return (
        {True: "yes", False: "no"}.get(default, str(default)) if isinstance(default, bool) else str(default)
    )


def run_command(options: argparse.Namespace, terminal: Terminal, console: Console) -> bool:
    """Run a lab and print what it found. Whether it came to its end; False if it was interrupted.

    Raises Refused, and Failed where the model cannot be loaded or the measuring failed.
    """
    lab = LABS[options.lab]
    given = {item.name: getattr(options, item.name) for item in fields(lab.options) if item.name in options}
    try:
        chosen = read_options(lab, given)
    except ValueError as error:
        raise Refused(str(error)) from None
    if options.save:
        check_target("--save", options.save)
    from playground.engine.models import LoadError

    try:
        engine = playground.load(options.model, device=options.device, dtype=options.dtype)
    except LoadError as error:
        raise Failed(str(error)) from None
    with contextlib.closing(engine):
        result, failure = _measured(lab, engine, chosen, terminal)
    if result is not None:
        told = json.dumps(record(lab, result), allow_nan=False)
        try:
            if options.json:
                console.file.write(told + "\n")
                console.file.flush()
            else:
                print_report(console, lab, result)
        finally:  # also where nobody reads any more
            if options.save:
                save("result", options.save, told)
    if failure is not None:
        raise failure
    if result is None:
        terminal.note("stopped before anything was measured")
    return result is not None and result.complete


def _measured(
    lab: Lab, engine: LocalEngine, options: Any, terminal: Terminal
) -> tuple[LabResult | None, Failed | None]:
    """The last result: a complete one, or what there was when Ctrl-C or a failure came; and that failure."""
    from playground.experiments.bench import Bench

    latest: LabResult | None = None
    told = ""
    stopped = threading.Event()
    with stop_on_interrupt(stopped.set):
        try:
            for event in run_lab(lab, Bench(engine), options):
                if isinstance(event, LabResult):
                    latest = event
                elif isinstance(event, Progress) and event.text != told:
                    told = event.text
                    terminal.note(f"{event.share:4.0%}  {told}")
                if stopped.is_set():
                    break
        except (ValueError, RuntimeError, MemoryError) as error:  # torch's lack of memory is a RuntimeError
            return latest, Failed(" ".join(str(error).split())[:500] or type(error).__name__)
    return latest, None
