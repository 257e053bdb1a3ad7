"""The two ends of a run: the worker that makes its events, and the reader that takes them."""

from __future__ import annotations

import queue
from collections.abc import Iterator

from playground.engine.lane import Lane
from playground.trace import Event, Finished


class Run:
    """The lanes of one request, as the worker sees them."""

    def __init__(self) -> None:
        self.lanes: list[Lane] = []
        self.cancelled = False
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._prompt_sent = False

    def emit(self, event: Event) -> None:
        """Pass an event on. The prompt goes first, with the scores that are known by then."""
        if not self._prompt_sent:
            self._prompt_sent = True
            self.events.put(self.lanes[0].scored_prompt())
        self.events.put(event)


class Stream(Iterator[Event]):
    """The events of a run, as its reader sees them: an iterator that ends when every lane has ended.

    `close()`, from any thread, stops the lanes within a step; a reader that waits for the next event is
    woken by their `Finished`, with the reason "stopped". Dropping the stream closes it.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._running = len(run.lanes)
        self._closed = False

    def __next__(self) -> Event:
        if not self._running or self._closed:
            raise StopIteration
        event = self._run.events.get()
        self._running -= isinstance(event, Finished)
        return event

    def close(self) -> None:
        self._run.cancelled = True
        self._closed = True

    def stop(self) -> None:
        """Stop the lanes within a step but go on reading: what was made, and a `Finished` for each."""
        self._run.cancelled = True

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
