"""Seats: how many runs go at once, and who waits in which place."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Seats:
    """A fair queue for the lanes of the engine. All methods run on the server's event loop.

    The queue is ours, not Gradio's, so that somebody who waits can be told their place, can leave at once,
    and never has more than one entry.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken = 0
        self._waiting: deque[tuple[asyncio.Event, Callable[[int], None]]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def free(self) -> int:
        return self.total - self.taken

    @asynccontextmanager
    async def seat(self, told: Callable[[int], None] = lambda place: None) -> AsyncIterator[None]:
        """Hold one seat inside the block. `told` hears the place in the queue (1 = next) when it changes."""
        if self.free and not self._waiting:
            self.taken += 1
        else:
            await self._wait(told)
        try:
            yield
        finally:
            self.taken -= 1
            self._admit()

    async def _wait(self, told: Callable[[int], None]) -> None:
        called = asyncio.Event()
        entry = (called, told)
        self._waiting.append(entry)
        told(len(self._waiting))
        try:
            await called.wait()
        except asyncio.CancelledError:
            if called.is_set():  # the seat came in the moment of leaving: pass it on
                self.taken -= 1
                self._admit()
            else:
                self._waiting.remove(entry)
                self._tell_places()
            raise

    def _admit(self) -> None:
        while self.free and self._waiting:
            called, _ = self._waiting.popleft()
            self.taken += 1
            called.set()
        self._tell_places()

    def _tell_places(self) -> None:
        for place, (_, told) in enumerate(self._waiting, 1):
            told(place)
