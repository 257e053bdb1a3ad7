"""The playground without a page: python -m playground "Say hi"."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import playground
from playground.arguments import Refused, messages_of, params_of, parser
from playground.terminal import Terminal, drop
from playground.trace import Event, Prompt, Trace, collect, event_record

OK, FAILED, INTERRUPTED = 0, 1, 130
_FAILURES = ("error", "nan_logits", "no_token_left")


class Failed(Refused):
    """Something that was asked for rightly did not work, in one sentence."""

    code = FAILED


class OutputLost(Failed):
    """Our output cannot be written any more: a sentence, or none where its reader went away on purpose."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code; see the epilog of the parser."""
    # Streams closed by >&- or 2>&- are None, which libraries take for "the other one" or trip over.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115  to the end of the program
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        options = parser().parse_args(arguments)
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
    if options.save:
        _check_target(options.save)
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
            events, lost = _follow(stream, _writer(options.json, terminal))
    trace = collect(engine.info, params, events)
    finished = trace.finished
    if lost is None:
        terminal.summary(finished, params)
    elif str(lost):
        terminal.note(str(lost))
    if options.save:
        _save(options.save, trace)
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


def _check_target(name: str) -> None:
    """What is known before a run of why it could not be saved as `name`. Raises Refused."""
    try:
        status = _status(name)
        if status is None and not Path(os.path.realpath(name)).parent.is_dir():
            raise Refused(f"--save cannot write {name!r}: there is no such folder")
        if status is not None and stat.S_ISDIR(status.st_mode):
            raise Refused(f"--save cannot write {name!r}: it is a folder")
    except (OSError, ValueError) as error:  # too long a name, a character that no name may have, …
        reason = error.strerror if isinstance(error, OSError) else error
        raise Refused(f"--save cannot write {name!r}: {reason}") from None


def _status(name: str) -> os.stat_result | None:
    try:
        return os.stat(name)
    except FileNotFoundError:
        return None


def _save(name: str, trace: Trace) -> None:
    """Raises Failed."""
    try:
        status = _status(name)
        if status is not None and (descriptor := _own(status)) is not None:
            with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
                file.write(trace.to_json() + "\n")
        elif status is None or stat.S_ISREG(status.st_mode):
            _replace(Path(os.path.realpath(name)), trace.to_json())
        else:  # a pipe or a device, which must stay one
            Path(name).write_text(trace.to_json(), "utf-8")
    except OSError as error:
        raise Failed(f"the trace could not be saved as {name!r}: {error.strerror}") from None


def _own(status: os.stat_result) -> int | None:
    """The descriptor of our own output, if that is the file: in /dev/stdout the trace follows the answer."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # a stream within Python has no descriptor
            if os.path.samestat(status, os.fstat(stream.fileno())):
                return stream.fileno()
    return None


def _replace(path: Path, text: str) -> None:
    """Written beside, then renamed, so that an earlier file is whole or replaced."""
    beside = path.with_name(f".{secrets.token_hex(8)}.part")  # however long the name of `path` is
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
        beside.replace(path)
    finally:
        with contextlib.suppress(OSError):  # renamed by now, or never made: nothing to remove
            beside.unlink()


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
