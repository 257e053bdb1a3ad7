"""The playground without a page: python -m playground "Say hi"."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import playground
from playground.arguments import Refused, messages_of, params_of, parser
from playground.terminal import Terminal
from playground.trace import Event, Prompt, Trace, collect, event_record

OK, FAILED, INTERRUPTED = 0, 1, 130
_FAILURES = ("error", "nan_logits", "no_token_left")


class Failed(Refused):
    """Something that was asked for rightly did not work, in one sentence."""

    code = FAILED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code; see the epilog of the parser."""
    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        options = parser().parse_args(arguments)
        return _show(options, terminal) if options.show else _run(options, terminal)
    except Refused as error:
        terminal.note(str(error))
        return error.code
    except BrokenPipeError:
        _drop_output()
        return FAILED
    except KeyboardInterrupt:
        terminal.note("interrupted")
        return INTERRUPTED


# --- a run ------------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace, terminal: Terminal) -> int:
    params = params_of(options)
    messages = messages_of(options)
    if options.save and (Path(options.save).is_dir() or not Path(options.save).absolute().parent.is_dir()):
        raise Refused(f"--save cannot write {options.save!r}: there is no such folder, or it is one")
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
        with _stop_on_interrupt(stream.stop):
            events, broken = _follow(stream, _writer(options.json, terminal))
    trace = collect(engine.info, params, events)
    finished = trace.finished
    if not broken:
        terminal.summary(finished, params)
    if options.save:
        _save(Path(options.save), trace)
    if finished.reason == "stopped" and not broken:
        return INTERRUPTED
    return FAILED if broken or finished.reason in _FAILURES else OK


def _prompt(engine: Any, options: argparse.Namespace, messages: Any, terminal: Terminal) -> Prompt:
    if options.raw:
        return engine.raw(messages)
    only_text = not options.messages and options.system is None
    if only_text and not engine.tokenizer.chat_template:
        terminal.note("this model has no chat template, so the text itself is gone on from, as with --raw")
        return engine.raw(messages[0]["content"])
    return engine.chat(messages, thinking=options.thinking, continue_last=options.continue_last)


def _follow(stream: Any, write: Callable[[Event], None]) -> tuple[list[Event], bool]:
    """All events of a run, written as they come; and whether the reader of our output went away meanwhile.

    Then the run is stopped, and what was made by then still counts.
    """
    events: list[Event] = []
    broken = False
    for event in stream:
        events.append(event)
        if not broken:
            try:
                write(event)
            except BrokenPipeError:
                broken = True
                stream.stop()
                _drop_output()
    return events, broken


def _writer(as_json: bool, terminal: Terminal) -> Callable[[Event], None]:
    def write_line(event: Event) -> None:
        print(json.dumps(event_record(event), allow_nan=False), flush=True)

    return write_line if as_json else terminal.show


@contextlib.contextmanager
def _stop_on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C stops the run, which then ends as runs do; a second one ends the program."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _drop_output() -> None:
    """Nobody reads our output: what is still to be flushed at exit must not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _save(path: Path, trace: Trace) -> None:
    """Written beside, then renamed, so that an earlier file is whole or replaced."""
    beside = path.with_name(path.name + ".part")
    try:
        beside.write_text(trace.to_json(), "utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise Failed(f"the trace could not be saved as {str(path)!r}: {error.strerror}") from None


def _show(options: argparse.Namespace, terminal: Terminal) -> int:
    """A saved trace, as it looked when it was made. Needs no torch."""
    if options.prompt is not None or options.messages or options.save:
        raise Refused("--show prints a saved trace and runs nothing: leave prompt, --messages and --save out")
    try:
        trace = Trace.from_json(Path(options.show).read_bytes())
    except OSError as error:
        raise Refused(f"--show cannot read {options.show!r}: {error.strerror}") from None
    except ValueError as error:
        raise Refused(f"--show cannot read {options.show!r}: {error}") from None
    write = _writer(options.json, terminal)
    events: list[Event] = [trace.prompt, *trace.steps, trace.finished]
    for event in events:
        write(event)
    terminal.summary(trace.finished, trace.params)
    terminal.origin(trace.model, trace.created)
    return OK


if __name__ == "__main__":
    sys.exit(main())
