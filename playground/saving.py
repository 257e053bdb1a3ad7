"""Where the command line saves what it made: a file, a link, a pipe, a device or its own output."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

from playground.arguments import Failed, Refused
from playground.files import replace


def check_target(option: str, name: str) -> None:
    """What is known before a run of why it could not be saved as `name`. Raises Refused."""
    try:
        status = _status(name)
        if status is None and not Path(os.path.realpath(name)).parent.is_dir():
            raise Refused(f"{option} cannot write {name!r}: there is no such folder")
        if status is not None and stat.S_ISDIR(status.st_mode):
            raise Refused(f"{option} cannot write {name!r}: it is a folder")
    except (OSError, ValueError) as error:  # too long a name, a character that no name may have, …
        reason = error.strerror if isinstance(error, OSError) else error
        raise Refused(f"{option} cannot write {name!r}: {reason}") from None


def save(what: str, name: str, text: str) -> None:
    """Raises Failed."""
    try:
        status = _status(name)
        if status is not None and (descriptor := _own(status)) is not None:
            with open(descriptor, "w", encoding="utf-8", closefd=False) as file:
                file.write(text + "\n")
        elif status is None or stat.S_ISREG(status.st_mode):
            replace(Path(os.path.realpath(name)), text.encode())
        else:  # a pipe or a device, which must stay one
            Path(name).write_text(text, "utf-8")
    except OSError as error:
        raise Failed(f"the {what} could not be saved as {name!r}: {error.strerror}") from None


def _status(name: str) -> os.stat_result | None:
    try:
        return os.stat(name)
    except FileNotFoundError:
        return None


def _own(status: os.stat_result) -> int | None:
    """The descriptor of our own output, if that is the file: in /dev/stdout the trace follows the answer."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # a stream within Python has no descriptor
            if os.path.samestat(status, os.fstat(stream.fileno())):
                return stream.fileno()
    return None
