"""From an engine's blocking iterator to messages for the board, at most 20 a second.

A press of Generate is an asyncio task that posts operations to an outbox, and a generator that carries them
to the page. Stop, a newer run and a closed tab all cancel the task; nothing else needs to know why.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from playground.trace import Event, Finished, TokenStep
from playground.ui.host import EventStream
from playground.ui.recent import Recent
from playground.ui.records import Op, Recorder, compact

INTERVAL = 0.05  # seconds between two updates of the page: Gradio needs milliseconds for each


async def events_of(stream: EventStream) -> AsyncGenerator[Event]:
    """The events of a blocking engine stream, read by a thread of its own.

    Leaving this generator, by cancelling or closing, closes the stream, which ends the run within a step.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[Event | _End] = asyncio.Queue()

    def deliver(item: Event | _End) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the server is gone
            loop.call_soon_threadsafe(arrived.put_nowait, item)

    def read() -> None:
        try:
            for event in stream:
                deliver(event)
            deliver(_End(None))
        except Exception as error:
            deliver(_End(error))

    context = contextvars.copy_context()  # whoever lends an accelerator asks Gradio's who the visitor is
    threading.Thread(target=context.run, args=(read,), name="read a run", daemon=True).start()
    try:
        while not isinstance(item := await arrived.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stream.close()


@dataclass(frozen=True)
class _End:
    error: Exception | None


class Outbox:
    """Operations on their way to the page. Events are kept as they are and written when they leave."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None
        self._items: list[Op | TokenStep | Finished] = []
        self._any = asyncio.Event()
        self._closed = False

    def post(self, item: Op | TokenStep | Finished) -> None:
        self._items.append(item)
        self._any.set()

    def close(self) -> None:
        self._closed = True
        self._any.set()

    async def collect(self) -> list[Op]:
        """What has gathered since the last call; waits for something; empty when nothing more will come."""
        await self._any.wait()
        items, self._items = self._items, []
        if not self._closed:
            self._any.clear()
        return self._written(items)

    def _written(self, items: list[Op | TokenStep | Finished]) -> list[Op]:
        """Operations in order; steps between two others become one operation for each lane."""
        ops: list[Op] = []
        steps: dict[int, list[TokenStep]] = {}

        def write_steps() -> None:
            ops.extend(self._recording.tokens(lane, gathered) for lane, gathered in steps.items())
            steps.clear()

        for item in items:
            if isinstance(item, TokenStep):
                steps.setdefault(item.lane, []).append(item)
                continue
            write_steps()
            ops.append(self._recording.end(item) if isinstance(item, Finished) else item)
        write_steps()
        return ops

    @property
    def _recording(self) -> Recorder:
        assert self.recorder is not None
        return self.recorder


@dataclass
class Transport:
    """What a visitor's hand is on while a run goes."""

    pace: float = 0.0  # tokens a second; 0 = as fast as it goes
    pausing: bool = False  # the run is being cancelled to pause, not to stop


class Session:
    """What the server keeps for one open page: its latest run, to be able to end it, and what it made."""

    def __init__(self) -> None:
        self._number = 0
        self._task: asyncio.Task[None] | None = None
        self._begun = self._ended = 0  # the latest press that began a run, and the latest that ended one
        self.transport = Transport()
        self.recent = Recent()

    @property
    def idle(self) -> bool:
        """Whether no run is going."""
        return self._task is None or self._task.done()

    def overtaken(self, press: int) -> bool:
        """Whether a later press of this page, to stop or to begin anew, has arrived before this one."""
        return 0 < press < max(self._begun, self._ended)

    def begin(self, task: asyncio.Task[None], press: int = 0) -> int:
        """A run begins and the one before ends. Returns its number, see `number`."""
        self.stop()
        self._task = task
        self._begun = max(self._begun, press)
        self.transport.pausing = False
        return self.number()

    def number(self) -> int:
        """A number for what is told to the page next: larger than any before in this tab, also when the
        server was started anew in between."""
        self._number = max(self._number + 1, int(time.time() * 1000))
        return self._number

    def pause(self, press: int = 0) -> None:
        """End the run too, but as one that waits for its visitor."""
        self.transport.pausing = True
        self.stop(press)

    def stop(self, press: int = 0) -> None:
        """End the run, if one is going, and those that were asked for before but are still on their way."""
        self._ended = max(self._ended, press)
        if self._task is not None:
            self._task.cancel()
            self._task = None


def press_of(asked: Any) -> int:
    """The number of the press that the page sent with an order; 0 if it sent none."""
    press = asked.get("press") if isinstance(asked, dict) else None
    return press if type(press) is int and press > 0 else 0


async def messages(
    session: Session, work: Callable[[Outbox], Awaitable[None]], press: int = 0
) -> AsyncGenerator[str]:
    """Run `work` and yield what it posts, as the JSON messages that the board reads.

    Work that a later press of the page has overtaken is not begun. Each message has the run's number, so that
    late ones of an older run are dropped, and its own, since Gradio sends the last one twice.
    """
    stopped: Op = {"op": "status", "state": "idle", "text": "Stopped."}
    if session.overtaken(press):
        if session.idle:
            yield compact({"run": session.number(), "n": 1, "ops": [stopped]})
        return
    outbox = Outbox()
    task = asyncio.ensure_future(work(outbox))
    task.add_done_callback(lambda _: outbox.close())  # also where it was cancelled before it began
    run_number = session.begin(task, press)
    count = 0
    try:
        while ops := await outbox.collect():
            count += 1
            yield compact({"run": run_number, "n": count, "ops": ops})
            await asyncio.sleep(INTERVAL)
        if not task.cancelled():
            task.result()  # a mistake of ours is raised, not lost
        elif not count:
            yield compact({"run": run_number, "n": 1, "ops": [stopped]})
    finally:
        task.cancel()
