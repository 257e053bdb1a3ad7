"""What the tests of the command line share: how it is called, and what it printed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playground.__main__ import main
from tests.fakes import IM_END

ROOT = Path(__file__).parents[2]
RAW = ["--raw", "abc", "--seed", "7"]
ANSWER = [*b"Hi!", IM_END]

Engines = Callable[..., list[dict[str, Any]]]


def records(text: str) -> list[dict[str, Any]]:
    """JSON Lines, read by a parser that takes no NaN and no Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def refused(capsys: pytest.CaptureFixture[str], *options: str, code: int = 2) -> str:
    """The one line on stderr with which these arguments are refused."""
    assert main(options) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


# The command line over a slow scripted model, in a process of its own.
SLOW = """
import sys
import playground
from playground.__main__ import main
from playground.engine.local import LocalEngine
from tests.fakes import loaded, scripted

playground.load = lambda *_, **__: LocalEngine(loaded(scripted([120] * 200, prompt_length=3, delay=0.05)))
sys.exit(main())
"""


def start(*options: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOW, "--raw", "abc", *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True)


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line of the shell in which "$@" is the command line; only what needs no torch is quick."""
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "playground"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
