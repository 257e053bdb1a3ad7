"""Runs a generator as ZeroGPU does, on a CPU: in a process forked for it, arguments and yields pickled."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

_context = multiprocessing.get_context("fork")
_one_at_a_time = threading.Lock()


def forking(task: Callable[..., Iterator[Any]], started: Callable[[int], None] = lambda pid: None) -> Any:
    """`task` in a forked process; `started` hears its id. Leaving the iterator stops it at its next yield."""

    def run(*args: Any) -> Iterator[Any]:
        given = pickle.dumps(args)
        ours, theirs = _context.Pipe()
        stopping = _context.Event()

        def work() -> None:
            ours.close()
            torch.set_num_threads(1)  # the threads of the process it was forked from are not there
            try:
                events = task(*pickle.loads(given))
                for event in events:
                    if stopping.is_set():
                        events.close()
                        break
                    theirs.send(("event", event))
                theirs.send(("end", None))
            except Exception as error:
                theirs.send(("failed", str(error)))

        process = _context.Process(target=work, daemon=True)
        _start(process)
        theirs.close()
        started(process.pid)
        try:
            while True:
                try:
                    kind, what = ours.recv()
                except (EOFError, OSError):  # in the middle of a message
                    raise RuntimeError("GPU task aborted") from None
                if kind == "end":
                    return
                if kind == "failed":
                    raise RuntimeError(what)
                yield what
        finally:
            stopping.set()
            process.join(20)
            if process.is_alive():
                os.kill(process.pid, 9)
                process.join()
                raise AssertionError("the process did not stop")

    return run


def _start(process: Any) -> None:
    """Fork, unless another thread is at it: as filelock refuses it, which the hub's library brings."""
    if not _one_at_a_time.acquire(blocking=False):
        raise RuntimeError("os.fork is unsafe while filelock is changing descriptor ownership")
    try:
        process.start()
    finally:
        _one_at_a_time.release()
