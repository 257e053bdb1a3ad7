"""Runs chat templates in a process of their own, with a deadline."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
START_LIMIT = 120.0  # seconds: the import of a library on a busy machine


class RenderError(ValueError):
    """Why a template gave no prompt: a sentence without its subject, "takes longer than 5 seconds"."""


class Renderer:
    """One worker process, started on first use and again after it had to be ended.

    Requests wait for one another, so templates that nobody has vetted get a renderer of their own.
    """

    def __init__(self, deadline: float = 5.0) -> None:
        self.deadline = deadline  # seconds per prompt
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def render(self, **request: Any) -> dict[str, Any]:
        """What `render_worker.render` returns for these arguments. Raises RenderError."""
        line = json.dumps(request).encode() + b"\n"
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self.close()  # somebody ended it
            answer = self._ask(self._process or self._start(), line, self.deadline)
        if answer is None:
            raise RenderError(f"takes longer than {self.deadline:g} seconds, or more memory than it may have")
        made: dict[str, Any] = json.loads(answer)
        if "error" in made:
            raise RenderError(made["error"])
        return made

    def warm_up(self) -> None:
        """Start the process, so that the first request need not wait for it."""
        with self._lock, contextlib.suppress(RenderError):
            if self._process is None:
                self._start()

    def close(self) -> None:
        """End the process; a later `render` starts another."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # it held a request that nobody will read
                    pipe.close()

    def _start(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "playground.text.render_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
        if self._ask(self._process, b"", START_LIMIT) is None:
            raise RenderError("cannot be run: the process for it does not start")
        return self._process

    def _ask(self, process: subprocess.Popen[bytes], line: bytes, limit: float) -> bytes | None:
        """The line that the process answers with; None if it ended first, by itself or by the deadline."""
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(limit, process.kill)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:  # it is gone
            answer = b""
        finally:
            timer.cancel()
        if answer.endswith(b"\n"):
            return answer
        self.close()
        return None
