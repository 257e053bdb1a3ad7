"""Lanes of one prompt, run side by side: from a request of the Compare tab to what was found."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from playground.trace import Event, Finished, Prompt, SamplingParams, Trace, collect
from playground.ui.compare import MOST_KEPT, Fork, read_fork, read_plan
from playground.ui.compared import findings, opening, replay
from playground.ui.host import Engine, NoEngine
from playground.ui.kept import Kept, apart, keep, opened, saved
from playground.ui.records import Op, Recorder, settings
from playground.ui.run import FAILURES, Server, sentence, status
from playground.ui.stream import Outbox, Session, events_of
from playground.ui.visitors import NOBODY, Visitor
from playground.ui.weights import weight_bytes

log = logging.getLogger(__name__)


class Bench(Session):
    """What the server keeps for one open page: the comparison that is being run, and the latest, packed."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: Kept | None = None
        self.stopper: Callable[[], None] | None = None  # ends the lanes that are being written
        self._turns = asyncio.Lock()
        self._wishes = 0

    def halt(self, press: int = 0) -> None:
        """End the run with all that it has; what waits to begin, or is on its way, never does."""
        self._wishes += 1
        self._ended = max(self._ended, press)
        (self.stopper or self.stop)()

    @asynccontextmanager
    async def turn(
        self, press: int = 0, *, instead: bool = False, after: bool = False
    ) -> AsyncIterator[bool]:
        """Wait until what goes is over, so that one thing at a time is told to the page.

        It is ended at once with `instead`, with all that it has with `after`, and otherwise waited for.
        Gives False to those whose place a newer wish took in the meantime.
        """
        late = self.overtaken(press)
        if (instead or after) and not late:
            self.halt()
        if instead and not late:
            self.stop()
        wish = self._wishes
        async with self._turns:
            self.stopper = None
            yield wish == self._wishes


# -- what the page asks for -------------------------------------------------------------------------


async def compare(server: Server, outbox: Outbox, own: Bench, asked: Any, by: Visitor = NOBODY) -> None:
    """Run the lanes of a request and post what happens. Errors become one sentence; the board stays."""
    with telling(outbox):
        plan = read_plan(asked, server)
        engine = await engine_of(server, outbox)
        prompt = await server.prompt(engine, plan.said, plan.thinking)
        run = Run(engine, prompt, plan.params, plan.names, exact=plan.exact, by=by)
        outbox.recorder = run.recorder
        run.opening = opening(run.recorder, engine.info, plan, plan.params, weight_bytes(engine))
        await run.go(server, outbox, own)
        traces = run.traces()
        found = await asyncio.to_thread(
            findings, plan.kind, plan.sweep, plan.names, traces, engine.vocabulary.visible
        )
        own.kept = await asyncio.to_thread(keep, plan, traces)
        for op in found:
            outbox.post(op)
        outbox.post(run.verdict())


async def fork(server: Server, outbox: Outbox, own: Bench, asked: Any, by: Visitor = NOBODY) -> None:
    """Write one lane more, beside those that are there. Errors become one sentence."""
    with telling(outbox):
        engine = await engine_of(server, outbox)
        wanted, kept = read_fork(asked, engine.info, server), own.kept
        if kept is None:
            raise ValueError("The server no longer has this comparison: run it again, or open its file.")
        if kept.kind != "lanes":
            raise ValueError("Another comparison was run since: run these lanes again to fork from them.")
        number = len(kept.names)
        if number >= MOST_KEPT:
            raise ValueError(f"A comparison comes to at most {MOST_KEPT} lanes, forks included: run it anew.")
        traces = await asyncio.to_thread(kept.traces)
        prompt = _prompt_of(traces, wanted)
        run = Run(
            engine,
            prompt,
            (wanted.params,),
            (wanted.name,),
            first=number,
            forced=wanted.forced,
            known=wanted.known,
            by=by,
        )
        outbox.recorder = run.recorder
        run.opening = {
            "op": "lane", "lane": number, "name": wanted.name, "params": settings(wanted.params),
            "known": wanted.known, "from": wanted.source,
        }  # fmt: skip
        await run.go(server, outbox, own)
        traces += run.traces()
        own.kept = await asyncio.to_thread(kept.with_lane, wanted.name, traces[-1])
        names = own.kept.names
        for op in await asyncio.to_thread(findings, "lanes", None, names, traces, engine.vocabulary.visible):
            outbox.post(op)
        outbox.post(run.verdict())


async def save(server: Server, outbox: Outbox, own: Bench, asked: Any, by: Visitor = NOBODY) -> None:
    """Post the latest comparison as a file. Errors become one sentence."""
    with telling(outbox), server.visitors.call(by.address):
        if own.kept is None:
            raise ValueError("There is nothing to save: run a comparison first, one that is not too large.")
        outbox.post(await asyncio.to_thread(saved, own.kept, asked))


async def reopen(server: Server, outbox: Outbox, own: Bench, asked: Any, by: Visitor = NOBODY) -> None:
    """Show a comparison that the page read from a file. Errors become one sentence; the board stays."""
    with telling(outbox), server.visitors.call(by.address):
        outbox.post(status("going", "Reading the file."))
        comparison = await apart(opened, asked)
        ops = await asyncio.to_thread(replay, comparison, server.host.ready)
        own.kept = await asyncio.to_thread(keep, comparison, comparison.traces)
        for op in ops:
            outbox.post(op)
        outbox.post(status("idle", ""))


# -- one run ----------------------------------------------------------------------------------------


@dataclass
class Run:
    """Lanes that are being written: what they ask for, and what came so far."""

    engine: Engine
    prompt: Prompt
    params: Sequence[SamplingParams]  # with seeds
    names: Sequence[str]
    first: int = 0  # the number of the first of them on the board
    forced: tuple[int, ...] = ()
    known: int = 0  # steps of each lane that the board has already
    exact: bool = False
    by: Visitor = NOBODY
    opening: Op = field(default_factory=dict)
    ended: dict[int, Finished] = field(default_factory=dict)

    def __post_init__(self) -> None:
        words = self.engine.vocabulary
        self.recorder = Recorder(visible=words.visible, is_special=words.is_special)
        self.events: list[list[Event]] = [[] for _ in self.params]

    async def go(self, server: Server, outbox: Outbox, own: Bench) -> None:
        """Write the lanes, and post each event. Raises what the engine raises, once each lane has an end."""
        count, total = len(self.params), server.seats.total

        def told(place: int) -> None:
            lanes = (
                f"All {total} lanes" if count == 1 else f"This needs {count} of {total} lanes and too many"
            )
            outbox.post(status("waiting", f"{lanes} are busy: you are number {place}."))

        async with server.seat(self.by, told, count):
            outbox.post(
                status("reading", f"Reading the prompt: {len(self.prompt.ids):,} tokens in one pass.")
            )
            stream = self.engine.stream(
                self.prompt, list(self.params), exact=self.exact, forced=self.forced, owner=self.by.owner
            )
            own.stopper = stream.stop
            try:
                async with aclosing(events_of(stream)) as events:
                    async for event in events:
                        self._post(outbox, own, event)
            except Exception as error:
                for number in set(range(count)) - set(self.ended):
                    outbox.post(
                        {
                            "op": "end",
                            "lane": self.first + number,
                            "reason": "error",
                            "message": sentence(error),
                        }
                    )
                raise

    def _post(self, outbox: Outbox, own: Bench, event: Event) -> None:
        if isinstance(event, Prompt):
            for events in self.events:
                events.append(event)
            outbox.post(self.opening)
            if self.opening["op"] == "reset":
                own.kept = None  # of what the board shows from now on, nothing is kept yet
                outbox.post(self.recorder.prompt(event))
            outbox.post(status("writing", "Writing."))
            return
        number = event.lane
        event = replace(event, lane=self.first + number)
        self.events[number].append(event)
        if isinstance(event, Finished):
            self.ended[number] = event
        if isinstance(event, Finished) or event.index >= self.known:
            outbox.post(event)

    def traces(self) -> list[Trace]:
        return [
            collect(self.engine.info, params, events)
            for params, events in zip(self.params, self.events, strict=True)
        ]

    def verdict(self) -> Op:
        """What is said at the end: of the first lane that failed, of a press of Stop, or nothing."""
        for number, finished in sorted(self.ended.items()):
            if finished.reason in FAILURES:
                return status("error", f"{self.names[number]}: {finished.message}")
        stopped = any(finished.reason == "stopped" for finished in self.ended.values())
        return status("idle", "Stopped." if stopped else "")


def _prompt_of(traces: Sequence[Trace], wanted: Fork) -> Prompt:
    """The prompt of the forked lane. Raises ValueError where the page has other lanes than the server."""
    fits = wanted.source < len(traces) and traces[wanted.source].prompt.ids == wanted.prompt_ids
    if not fits or traces[wanted.source].answer_ids[: wanted.known] != wanted.forced[: wanted.known]:
        raise ValueError("The server has another comparison than this page: run it again to fork from it.")
    return traces[wanted.source].prompt


async def engine_of(server: Server, outbox: Outbox) -> Engine:
    return await server.host.engine(lambda loading: outbox.post(status("loading", loading.told)))


@contextmanager
def telling(outbox: Outbox) -> Iterator[None]:
    """Whatever goes wrong inside is told in a sentence."""
    try:
        yield
    except asyncio.CancelledError:
        outbox.post(status("idle", "Stopped."))
        raise
    except Exception as error:
        if not isinstance(error, ValueError | NoEngine):  # not the visitor's doing: the log tells us where
            log.exception("a comparison failed")
        outbox.post(status("error", sentence(error)))
