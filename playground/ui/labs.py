"""Labs on the page: what they are, and a run of one from its form to its result."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playground.experiments import Lab
from playground.experiments.lab import Progress, described, read_options, record, run_lab
from playground.findings.report import Block, LabResult
from playground.ui.asked import read_object
from playground.ui.host import Engine
from playground.ui.lab_blocks import shown
from playground.ui.lanes import Bench, engine_of, telling
from playground.ui.records import Op, compact
from playground.ui.run import Server, sentence, status
from playground.ui.seats import Seats
from playground.ui.stream import Outbox
from playground.ui.visitors import NOBODY, Visitor

if TYPE_CHECKING:  # it needs torch, which is imported behind the page
    from playground.engine.local import LocalEngine

TELL_EVERY_S = 0.25  # seconds between two updates of the page: a report is long
_BUSY = "Another lab is being measured, and two at once would disturb each other: you are number {}."


def labs_json(labs: Mapping[str, Lab], server: Server) -> str:
    """The board's first value: every lab with its question, its form, and how it measures."""
    listed = [
        {"name": lab.name, "title": lab.title, "question": lab.question, "method": list(lab.method),
         "bounds": list(lab.bounds), "options": described(lab)}
        for lab in labs.values()
    ]  # fmt: skip
    named = {"device": server.settings.device, "dtype": server.settings.dtype}
    flags = [[f"--{name}", value] for name, value in named.items() if value != "auto"]
    if server.settings.model and not server.settings.closed:
        flags.insert(0, ["--model", server.settings.model])
    return compact({"run": 1, "n": 1, "ops": [{"op": "labs", "labs": listed, "flags": flags}]})


class Refused(ValueError):
    """An option that a lab does not take: its name, and one sentence."""

    def __init__(self, option: str, why: str) -> None:
        super().__init__(why)
        self.option = option


def read_run(labs: Mapping[str, Lab], asked: Any) -> tuple[Lab, Any]:
    """The lab and its options. Raises ValueError, or Refused for one option."""
    asked = read_object(asked, "a run of a lab")
    lab = labs.get(asked["lab"]) if isinstance(asked.get("lab"), str) else None
    if lab is None:
        raise ValueError("There is no such lab on this server.")
    given = read_object(asked.get("options", {}), "options")
    for name, value in given.items():
        try:
            read_options(lab, {name: value})
        except ValueError as error:
            raise Refused(name, str(error)) from None
    return lab, read_options(lab, given)


class Labs:
    """The labs of one server. They are measured one at a time, whoever asks."""

    def __init__(self, labs: Mapping[str, Lab]) -> None:
        self._labs = labs
        self._turns = Seats(1)

    async def measure(
        self, server: Server, outbox: Outbox, own: Bench, asked: Any, by: Visitor = NOBODY
    ) -> None:
        """Run a lab and post what it finds as it comes. Errors become one sentence; results stay."""
        with telling(outbox):
            try:
                lab, options = read_run(self._labs, asked)
            except Refused as error:
                outbox.post({"op": "refused", "option": error.option, "why": sentence(error)})
                return
            engine = _measurable(await engine_of(server, outbox))

            def lab_waits(place: int) -> None:
                outbox.post(status("waiting", _BUSY.format(place)))

            def seat_waits(place: int) -> None:
                seats = f"All {server.seats.total} lanes are busy"
                outbox.post(status("waiting", f"{seats}: you are number {place}."))

            with server.visitors.run(by.address):
                async with self._turns.seat(lab_waits), server.seats.seat(seat_waits):
                    run = _Run(lab, options, engine, server)
                    own.stopper = run.stop
                    await run.go(outbox)


def _measurable(engine: Engine) -> LocalEngine:
    """The engine, if a lab can measure it. Raises ValueError, in a sentence, if not."""
    from playground.engine.inline import InlineEngine
    from playground.engine.local import LocalEngine

    if isinstance(engine, LocalEngine) and not isinstance(engine, InlineEngine):
        return engine
    raise ValueError(
        "Not available here: labs measure a model that runs in this server, and this one does not."
    )


@dataclass
class _Run:
    """One run of a lab: a thread measures, and the page is told the newest of it, a few times a second."""

    lab: Lab
    options: Any
    engine: LocalEngine
    server: Server

    def __post_init__(self) -> None:
        self._stopping = threading.Event()
        self._progress: Progress | None = None
        self._result: LabResult | None = None
        self._told: tuple[Progress | None, LabResult | None] = (None, None)
        self._blocks: Sequence[Block] = ()

    def stop(self) -> None:
        """End it within one pass of the model, with all that was measured."""
        self._stopping.set()

    async def go(self, outbox: Outbox) -> None:
        """Measure and post. Raises what the lab raises, once all that it found was posted."""
        outbox.post({"op": "begin", "lab": self.lab.name})
        outbox.post(status("measuring", ""))
        measuring = asyncio.ensure_future(asyncio.to_thread(self._measure))
        try:
            while not measuring.done():
                await asyncio.wait({measuring}, timeout=TELL_EVERY_S)
                await self._tell(outbox)
        finally:
            self.stop()
            await asyncio.wait({measuring})  # no seat is free before the model is
        await self._tell(outbox)  # what came while the page was told of what came before
        if self._result is not None:
            text = json.dumps(record(self.lab, self._result), allow_nan=False)
            outbox.post({"op": "record", "lab": self.lab.name, "text": text})
        measuring.result()
        complete = self._result is not None and self._result.complete
        outbox.post(status("idle", "" if complete else "Stopped."))

    def _measure(self) -> None:
        from playground.experiments.bench import Bench as Measuring

        limits = self.server.settings
        bench = Measuring(self.engine, most_prompt=limits.max_prompt_tokens, most_new=limits.max_new_tokens)
        events = run_lab(self.lab, bench, self.options)
        try:
            for event in events:
                if isinstance(event, Progress):
                    self._progress = event
                else:
                    self._result = event
                if self._stopping.is_set():
                    break
        finally:
            _close(events)

    async def _tell(self, outbox: Outbox) -> None:
        progress, result = now = self._progress, self._result
        old_progress, old_result = self._told
        self._told = now
        if progress is not None and progress is not old_progress:
            outbox.post(
                {"op": "progress", "lab": self.lab.name, "share": progress.share, "text": progress.text}
            )
        if result is not None and result is not old_result:
            outbox.post(await asyncio.to_thread(self._written, result))

    def _written(self, result: LabResult) -> Op:
        """The result for the page: of its blocks those that are new or have changed, by their place."""
        blocks = self.lab.report(result.found)
        before, self._blocks = self._blocks, blocks
        changed = [
            [place, shown(block)]
            for place, block in enumerate(blocks)
            if place >= len(before) or before[place] != block
        ]
        model = result.model
        return {
            "op": "result", "lab": self.lab.name, "complete": result.complete, "size": len(blocks),
            "blocks": changed, "model": model.name, "dtype": model.dtype, "device": model.device,
            "seconds": result.seconds, "others": result.others, "created": result.created,
        }  # fmt: skip


def _close(events: Iterator[Any]) -> None:
    close = getattr(events, "close", None)
    if close is not None:
        close()
