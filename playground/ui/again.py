"""A run that the server no longer has, made again by its model from what the board tells of it.

Each stretch of the answer is run as the press that made it was: the ids before it are given, its own are
rolled under its settings, or forced where they were. What comes out must be what the board shows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from playground.trace import Finished, Prompt, SamplingParams, TokenStep
from playground.ui.asked import read_ids, read_list, read_object, read_params, read_switch, read_whole
from playground.ui.branch import prompt_of_ids, read_parts
from playground.ui.host import Engine
from playground.ui.recent import Made, Recent, made_by
from playground.ui.records import SHORT_SHA
from playground.ui.run import Server
from playground.ui.stream import events_of
from playground.ui.visitors import Visitor

ANOTHER = "The server no longer has this run, and another model runs now: make it anew, then save it."
OTHERWISE = "The server no longer has this run, and it came out otherwise when made again: make it anew."
_MOST_STRETCHES = 1000
_SAME_PROB = 1e-3  # passes of another width differ in the last digits
_SAME_DICE = 1e-6  # the board has fewer digits

Shown = Sequence[tuple[float, float | None]]  # final probability and dice of each step


@dataclass(frozen=True)
class Stretch:
    """Tokens of an answer that were made in the same way."""

    until: int  # of the answer's tokens
    forced: bool
    params: SamplingParams


@dataclass(frozen=True)
class Lost:
    """What the board tells of a run."""

    prompt: Prompt
    ids: tuple[int, ...]
    stretches: tuple[Stretch, ...]
    watched: tuple[int, ...]


async def make_again(server: Server, recent: Recent, asked: Any, shown: Shown, by: Visitor) -> None:
    """Run it under the limits of any run, and note in `recent` what was made.

    Raises ValueError in a sentence.
    """
    engine = server.host.ready
    if engine is None or asked.get("model") != engine.info.sha256[:SHORT_SHA]:
        raise ValueError(ANOTHER)
    lost = read_lost(asked, engine, server)
    async with server.seat(by):
        made = [each async for each in _made(engine, lost, by.owner)]
    for step, (final, u) in zip([step for each in made for step in each.steps], shown, strict=False):
        rolled = step.draw.u
        same_dice = rolled is u if rolled is None or u is None else abs(rolled - u) <= _SAME_DICE
        if not same_dice or abs(step.final_prob - final) > _SAME_PROB:
            raise ValueError(OTHERWISE)
    for each in made:
        recent.note(each)


def read_lost(asked: Any, engine: Engine, server: Server) -> Lost:
    """Checks what came from the page. Raises ValueError in a sentence."""
    again = read_object(asked.get("again"), "how it was made")
    size, most = engine.vocabulary.size, server.settings.max_new_tokens
    prompt_ids = read_ids(asked.get("prompt_ids"), "prompt_ids", 1, server.settings.max_prompt_tokens, size)
    ids = read_ids(asked.get("ids"), "ids", 1, most, size)
    stretches: list[Stretch] = []
    for said in read_list(again.get("stretches"), "stretches", 1, _MOST_STRETCHES):
        until, forced, params = read_list(said, "a stretch", 3, 3)
        least = stretches[-1].until + 1 if stretches else 1
        until = read_whole(until, "the end of a stretch", least, len(ids))
        stretches.append(Stretch(until, read_switch(forced, "forced"), server.check(read_params(params))))
    if stretches[-1].until != len(ids):
        raise ValueError("the stretches must come to all tokens of the answer")
    prompt = prompt_of_ids(engine, prompt_ids, "", read_parts(again.get("parts") or [], len(prompt_ids)))
    watched = read_ids(again.get("watched") or [], "watched", 0, 100, size)
    return Lost(prompt, tuple(ids), tuple(stretches), tuple(watched))


async def _made(engine: Engine, lost: Lost, owner: str) -> AsyncIterator[Made]:
    """What the press behind each stretch made. Raises ValueError where other ids come out."""
    start = 0
    prompt = lost.prompt
    for stretch in lost.stretches:
        last = stretch is lost.stretches[-1]
        limit = max(stretch.params.max_tokens, stretch.until) if last else stretch.until
        params = replace(stretch.params, max_tokens=limit, min_tokens=min(stretch.params.min_tokens, limit))
        given = lost.ids[: stretch.until if stretch.forced else start]
        stream = engine.stream(
            lost.prompt, params, forced=given, known=start, watched=lost.watched, owner=owner
        )
        steps: list[TokenStep] = []
        finished: Finished | None = None
        async with aclosing(events_of(stream)) as events:
            async for event in events:
                if isinstance(event, Prompt):
                    prompt = event if start == 0 else prompt
                elif isinstance(event, Finished):
                    finished = event
                elif start + len(steps) == stretch.until:
                    break  # it was stopped here
                else:
                    steps.append(event)
        before = lost.ids[:start]
        if (*before, *(step.token_id for step in steps)) != lost.ids[: stretch.until]:
            raise ValueError(OTHERWISE)
        yield made_by(
            engine.info, engine.vocabulary, prompt, stretch.params, before, steps, finished if last else None
        )
        start = stretch.until
