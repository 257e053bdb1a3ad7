"""Programs that the tests of hosting start, and free ports for them."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """A port below those that the system hands to whoever connects: it stays free until it is taken."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("0.0.0.0", port))
            return port
    raise AssertionError("no port is free")


def get(url: str, **options: Any) -> bytes:
    with urllib.request.urlopen(url, timeout=10, **options) as answer:
        return bytes(answer.read())


@contextlib.contextmanager
def program(
    command: Sequence[str], *, log: Path, cwd: Path = ROOT, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` until the block is left; what it writes goes to `log`."""
    with log.open("wb") as written:
        process = subprocess.Popen(
            command, cwd=cwd, env=environment, stdout=written, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def healthy(
    url: str, process: subprocess.Popen[bytes], log: Path, ready: Callable[[Any], bool], seconds: float = 120
) -> Any:
    """What /health under `url` answers once it is `ready`."""
    deadline, found = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            found = json.loads(get(url + "health"))
            if ready(found):
                return found
        assert process.poll() is None, f"the program ended: {log.read_text()[-2000:]}"
        time.sleep(0.1)
    raise AssertionError(f"/health stayed at {found}: {log.read_text()[-2000:]}")


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]
