"""Seats: how many lanes go at once, and who waits in which place."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass


class Seats:
    """A fair queue for the lanes of the engine. All methods run on the server's event loop.

    The queue is ours, not Gradio's, so that somebody who waits can be told their place, can leave at once,
    and never has more than one entry.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken = 0
        self._waiting: deque[_Entry] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def free(self) -> int:
        return self.total - self.taken

    @asynccontextmanager
    async def seat(
        self, told: Callable[[int], None] = lambda place: None, count: int = 1
    ) -> AsyncIterator[None]:
        """Hold `count` seats inside the block. `told` hears each new place in the queue (1 = next).

        All seats of a visitor come together, and nobody overtakes: whoever needs many waits until so many are
        free, and those behind wait with them. Raises ValueError, in a sentence, for more than there are.
        """
        if count > self.total:
            raise ValueError(
                f"This needs {count} lanes at once and this server runs at most {self.total}: take fewer."
            )
        if self.free >= count and not self._waiting:
            self.taken += count
        else:
            await self._wait(_Entry(asyncio.Event(), told, count))
        try:
            yield
        finally:
            self.taken -= count
            self._admit()

    async def _wait(self, entry: _Entry) -> None:
        self._waiting.append(entry)
        entry.told(len(self._waiting))
        try:
            await entry.called.wait()
        except asyncio.CancelledError:
            if entry.called.is_set():  # the seats came in the moment of leaving: pass them on
                self.taken -= entry.count
            else:
                self._waiting.remove(entry)
            self._admit()
            raise

    def _admit(self) -> None:
        while self._waiting and self.free >= self._waiting[0].count:
            entry = self._waiting.popleft()
            self.taken += entry.count
            entry.called.set()
        for place, entry in enumerate(self._waiting, 1):
            entry.told(place)


@dataclass(frozen=True, eq=False)
class _Entry:
    """Somebody who waits."""

    called: asyncio.Event
    told: Callable[[int], None]
    count: int
