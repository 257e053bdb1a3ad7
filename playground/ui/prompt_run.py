"""The same messages under two templates, run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from playground.comparing.prompts import aligned
from playground.trace import Finished, Prompt, SamplingParams, TokenStep
from playground.ui.asked import read_object, read_params, read_whole
from playground.ui.host import Engine, EventStream
from playground.ui.lanes import Bench, engine_of, telling
from playground.ui.prompts import Choice, prompt_by, read_messages, read_template, read_thinking
from playground.ui.records import Op, Recorder
from playground.ui.run import FAILURES, Server, sentence, status
from playground.ui.stream import Outbox, events_of
from playground.ui.visitors import NOBODY, Visitor
from playground.ui.weights import weight_bytes

MOST_LISTED = 12  # of the likeliest first tokens of one side, looked up in the other

# Edited templates may use up their time: what else the server does in threads goes on meanwhile.
_rendering = ThreadPoolExecutor(2, thread_name_prefix="render")


@dataclass(frozen=True)
class Pair:
    """One conversation, and the two templates that are to make prompts of it."""

    messages: list[dict[str, str]]
    choices: tuple[Choice, Choice]
    thinking: bool | None
    params: SamplingParams  # with a seed: both sides roll the same dice


def read_pair(asked: Any, server: Server) -> Pair:
    """Checks what came from the page. Raises ValueError in a sentence."""
    asked = read_object(asked, "a run")
    most = read_whole(asked.get("max_tokens"), "max_tokens", 1, server.settings.max_new_tokens)
    params = read_params({**read_object(asked.get("params"), "settings"), "max_tokens": most})
    return Pair(
        read_messages(asked.get("messages")),
        (read_template(asked.get("first")), read_template(asked.get("second"))),
        read_thinking(asked),
        params.seeded(),
    )


async def run_both(server: Server, outbox: Outbox, own: Bench, asked: Any, by: Visitor = NOBODY) -> None:
    """Run both sides of a request and post what happens. Errors become one sentence; the board stays."""
    with telling(outbox):
        pair = read_pair(asked, server)
        engine = await engine_of(server, outbox)
        places = min(2, server.seats.total)
        with server.visitors.run(by.address, places):
            prompts = [await _prompt(server, engine, pair, choice) for choice in pair.choices]
            sides = Sides(engine, prompts, pair.params, by)
            outbox.recorder = sides.recorder

            def told(place: int) -> None:
                outbox.post(
                    status("waiting", f"All {server.seats.total} lanes are busy: you are number {place}.")
                )

            async with server.seats.seat(told, places):
                await sides.go(outbox, own, places)
        outbox.post(sides.verdict(pair))


async def _prompt(server: Server, engine: Engine, pair: Pair, choice: Choice) -> Prompt:
    made = asyncio.get_running_loop().run_in_executor(
        _rendering if choice.name == "edited" else None,
        prompt_by,
        engine,
        choice,
        pair.messages,
        pair.thinking,
    )
    return server.check_prompt(await made)


@dataclass
class Sides:
    """Two prompts that are being answered, and what came so far. A side is a lane on the board."""

    engine: Engine
    prompts: Sequence[Prompt]
    params: SamplingParams
    by: Visitor
    firsts: dict[int, TokenStep] = field(default_factory=dict)
    ended: dict[int, Finished] = field(default_factory=dict)
    streams: list[EventStream] = field(default_factory=list)
    halted: bool = False

    def __post_init__(self) -> None:
        words = self.engine.vocabulary
        self.recorder = Recorder(visible=words.visible, is_special=words.is_special)

    async def go(self, outbox: Outbox, own: Bench, places: int) -> None:
        """Write both sides, so many at once, and post each event. Raises what the engine raises, once each
        side has an end."""
        rows, whole = await asyncio.to_thread(aligned, self.prompts[0].ids, self.prompts[1].ids)
        tokens = " and ".join(f"{len(prompt.ids):,}" for prompt in self.prompts)
        outbox.post(status("reading", f"Reading both prompts: {tokens} tokens."))
        turns = asyncio.Semaphore(places)
        opening = self.recorder.reset(
            self.engine.info, lanes=2, weights=weight_bytes(self.engine), params=self.params
        )
        self._opening: list[Op] = [opening, {"op": "aligned", "rows": rows, "whole": whole}]
        own.stopper = self.stop
        tasks = [asyncio.ensure_future(self._write(side, outbox, turns)) for side in (0, 1)]
        try:
            await asyncio.gather(*tasks)
        except Exception as error:
            for side in {0, 1} - set(self.ended) if not self._opening else ():
                outbox.post(_ended(side, "error", sentence(error)))
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def stop(self) -> None:
        """End both with all that they have. The stream of each still tells why it ended."""
        self.halted = True
        for stream in self.streams:
            stream.stop()

    async def _write(self, side: int, outbox: Outbox, turns: asyncio.Semaphore) -> None:
        async with turns:
            if self.halted:
                outbox.post(_ended(side, "stopped", "You stopped it."))
                return
            stream = self.engine.stream(self.prompts[side], self.params, owner=self.by.owner)
            self.streams.append(stream)
            async with aclosing(events_of(stream)) as events:
                async for event in events:
                    if isinstance(event, Prompt):
                        while self._opening:
                            outbox.post(self._opening.pop(0))
                        prompt = self.recorder.prompt(event)
                        outbox.post({**prompt, "side": side, "template": event.template})
                        outbox.post(status("writing", "Writing."))
                        continue
                    event = replace(event, lane=side)
                    outbox.post(event)
                    if isinstance(event, Finished):
                        self.ended[side] = event
                    elif event.index == 0:
                        self.firsts[side] = event
                        if len(self.firsts) == 2:
                            for op in await asyncio.to_thread(self._compared):
                                outbox.post(op)

    def _compared(self) -> list[Op]:
        """The first step of each side, with what is likeliest on the other."""
        ops = []
        for side, first in sorted(self.firsts.items()):
            other = self.firsts[1 - side]
            likeliest = sorted(other.candidates, key=lambda each: each.rank)[:MOST_LISTED]
            watched = dict.fromkeys([*(each.token_id for each in likeliest), other.token_id])
            step, looked = first, True
            try:
                step = self.engine.redistribute_ids(
                    self.prompts[side].ids, (), 0, self.params, watched=tuple(watched), owner=self.by.owner
                )
            except ValueError:  # an engine that keeps no logits: the step lists what it lists
                looked = False
            words = self.engine.vocabulary
            recorder = Recorder(visible=words.visible, is_special=words.is_special)
            told = recorder.tokens(side, [step])
            ops.append(
                {"op": "side", "side": side, "first": told, "end_prob": step.end_prob, "watched": looked}
            )
        return ops

    def verdict(self, pair: Pair) -> Op:
        """What is said at the end: of the first side that failed, of a press of Stop, or nothing."""
        for side, finished in sorted(self.ended.items()):
            if finished.reason in FAILURES:
                return status("error", f"Under the template {pair.choices[side].name}: {finished.message}")
        return status("idle", "Stopped." if self.halted else "")


def _ended(side: int, reason: str, message: str) -> Op:
    return {"op": "end", "lane": side, "reason": reason, "message": message}
