"""The playground without a page: python -m playground "Say hi"."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import playground
from playground.arguments import Failed, Refused, messages_of, params_of, parser, site_parser
from playground.interrupt import stop_on_interrupt
from playground.saving import check_target, save
from playground.terminal import Terminal, drop
from playground.trace import Event, Prompt, Trace, collect, event_record

OK, FAILED, INTERRUPTED = 0, 1, 130
_FAILURES = ("error", "nan_logits", "no_token_left")


class OutputLost(Failed):
    """Our output cannot be written any more: a sentence, or none where its reader went away on purpose."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code; see the epilog of the parser."""
    # Streams closed by >&- or 2>&- are None, which libraries take for "the other one" or trip over.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115  to the end of the program
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        if given[:1] == ["site"]:
            return _site(site_parser().parse_args(given[1:]), terminal)
        if given[:1] == ["lab"]:
            return _lab(given[1:], terminal)
        options = parser().parse_args(given)
        return _show(options, terminal) if options.show else _run(options, terminal)
    except Refused as error:
        if str(error):
            terminal.note(str(error))
        return error.code
    except KeyboardInterrupt:
        terminal.note("interrupted")
        return INTERRUPTED


# --- a run ------------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace, terminal: Terminal) -> int:
    params = params_of(options)
    messages = messages_of(options)
    for option, name in (("--save", options.save), ("--html", options.html)):
        if name:
            check_target(option, name)
    from playground.engine.models import LoadError

    try:
        engine = playground.load(options.model, device=options.device, dtype=options.dtype)
    except LoadError as error:
        raise Failed(str(error)) from None
    with contextlib.closing(engine):
        try:
            prompt = _prompt(engine, options, messages, terminal)
            stream = engine.stream(prompt, params, top_n=options.top_n, watched=options.watch)
        except ValueError as error:  # PromptError among them: this model cannot do what was asked
            raise Refused(str(error)) from None
        with stop_on_interrupt(stream.stop):
            events, lost = _follow(stream, _writer(options.json, terminal))
    trace = collect(engine.info, params, events)
    finished = trace.finished
    if lost is None:
        terminal.summary(finished, params)
    elif str(lost):
        terminal.note(str(lost))
    if options.save:
        save("trace", options.save, trace.to_json())
    if options.html:
        _save_page(options.html, trace)
    if finished.reason == "stopped" and lost is None:
        return INTERRUPTED
    return FAILED if lost is not None or finished.reason in _FAILURES else OK


def _prompt(engine: Any, options: argparse.Namespace, messages: Any, terminal: Terminal) -> Prompt:
    if options.raw:
        return engine.raw(messages)
    only_text = not options.messages and options.system is None
    if only_text and not engine.tokenizer.chat_template:
        terminal.note("this model has no chat template, so the text itself is gone on from, as with --raw")
        return engine.raw(messages[0]["content"])
    return engine.chat(messages, thinking=options.thinking, continue_last=options.continue_last)


def _follow(stream: Any, write: Callable[[Event], None]) -> tuple[list[Event], OutputLost | None]:
    """All events of a run, written as they come; and why that was not possible to the end.

    Then the run is stopped, and what was made by then still counts.
    """
    events: list[Event] = []
    lost: OutputLost | None = None
    for event in stream:
        events.append(event)
        if lost is None:
            try:
                write(event)
            except OutputLost as error:
                lost = error
                stream.stop()
    return events, lost


def _writer(as_json: bool, terminal: Terminal) -> Callable[[Event], None]:
    """What writes an event to standard output. Raises OutputLost."""

    def write(event: Event) -> None:
        try:
            if as_json:
                print(json.dumps(event_record(event), allow_nan=False), flush=True)
            else:
                terminal.show(event)
        except BrokenPipeError:
            drop(sys.stdout)
            raise OutputLost from None
        except OSError as error:
            drop(sys.stdout)
            raise OutputLost(f"the answer could not be printed: {error.strerror}") from None

    return write


def _show(options: argparse.Namespace, terminal: Terminal) -> int:
    """A saved trace, as it looked when it was made. Needs no torch."""
    if options.prompt is not None or options.messages or options.save:
        raise Refused("--show prints a saved trace and runs nothing: leave prompt, --messages and --save out")
    if options.html:
        check_target("--html", options.html)
    trace = _read_trace("--show", options.show)
    write = _writer(options.json, terminal)
    events: list[Event] = [trace.prompt, *trace.steps, trace.finished]
    for event in events:
        write(event)
    terminal.summary(trace.finished, trace.params)
    terminal.origin(trace.model, trace.created)
    if options.html:
        _save_page(options.html, trace)
    return OK


def _site(options: argparse.Namespace, terminal: Terminal) -> int:
    """Recorded runs as a static site. Needs no torch."""
    from playground.pages.site import INDEX, write_site

    folder = Path(options.folder)
    runs = [(Path(name).stem, _read_trace("site", name)) for name in options.traces]
    try:
        if folder.exists() and not folder.is_dir():
            raise Refused(f"site cannot write to {options.folder!r}: it is no folder")
        write_site(folder, runs)
    except ValueError as error:  # a file that is not ours, or a character that no name may have
        raise Refused(f"site cannot write to {options.folder!r}: {error}") from None
    except OSError as error:
        raise Failed(f"the site could not be written to {options.folder!r}: {error.strerror}") from None
    number = len(runs) or 1
    terminal.note(f"{number} run{'s' if number > 1 else ''}: open {folder / INDEX}")
    return OK


def _lab(given: Sequence[str], terminal: Terminal) -> int:
    """Something measured. See lab_command.py."""
    from rich.console import Console

    from playground.lab_command import lab_parser, run_command

    options = lab_parser().parse_args(given)
    try:
        complete = run_command(options, terminal, Console(highlight=False, markup=False, emoji=False))
    except BrokenPipeError:
        drop(sys.stdout)
        return FAILED
    except OSError as error:
        drop(sys.stdout)
        raise Failed(f"the result could not be printed: {error.strerror}") from None
    return OK if complete else INTERRUPTED


def _save_page(name: str, trace: Trace) -> None:
    """Raises Failed."""
    from playground.pages.standalone import standalone_page

    save("page", name, standalone_page(trace))


def _read_trace(asker: str, name: str) -> Trace:
    """Raises Refused."""
    try:
        return Trace.from_json(Path(name).read_bytes())
    except OSError as error:
        raise Refused(f"{asker} cannot read {name!r}: {error.strerror}") from None
    except ValueError as error:
        raise Refused(f"{asker} cannot read {name!r}: {error}") from None


if __name__ == "__main__":
    sys.exit(main())
