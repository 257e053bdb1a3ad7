"""A run at the pace of its reader: in one go, or token by token.

Token by token each is a run of its own that goes on from the ids so far, which costs no more than one pass
since their keys and values are kept. Between two of them no lane and no seat is held, so that somebody who
reads slowly, or has gone for lunch, keeps nobody waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from playground.text.stops import StopFilter
from playground.text.tokens import TextStream
from playground.trace import Event, Finished, Prompt, SamplingParams, TokenStep
from playground.ui.host import Engine, Words
from playground.ui.seats import Seats
from playground.ui.stream import Transport, events_of


@dataclass(frozen=True)
class Paused:
    """What was asked for is made, and the run waits for its visitor."""


@dataclass(frozen=True)
class Plan:
    """A run as the page wants it."""

    prompt: Prompt
    params: SamplingParams  # with a seed
    forced: tuple[int, ...] = ()
    known: int = 0
    pause_at: int | None = None  # wait when the answer has so many tokens
    watched: tuple[int, ...] = ()  # ids to be listed in every step
    owner: str = ""


class Reading:
    """Text of an answer as its tokens release it, stop strings held back, like the engine's own."""

    def __init__(self, words: Words, stops: Sequence[str]) -> None:
        self._stream, self._stops = TextStream(cast(Any, words)), StopFilter(stops)

    def push(self, token_id: int) -> str:
        return self._stops.push(self._stream.push(token_id))


def last_text(words: Words, stops: Sequence[str], ids: Sequence[int]) -> str:
    """What the last of `ids` releases when more tokens follow: nothing of it is cut short by an end."""
    reading, text = Reading(words, stops), ""
    for token_id in ids:
        text = reading.push(token_id)
    return text


async def paced(
    engine: Engine,
    seats: Seats,
    plan: Plan,
    transport: Transport,
    *,
    told: Callable[[int], None],
    seated: Callable[[], None],
) -> AsyncGenerator[Event | Paused]:
    """Events of a run, at the pace that `transport` has at every moment.

    `told` hears the place in the queue, `seated` that the wait is over.
    """
    clock = asyncio.get_running_loop().time
    params, ids, known = plan.params, list(plan.forced), plan.known
    reading, prompt_sent = None, False
    if plan.pause_at == known:  # nothing is to be made
        yield plan.prompt
        yield Paused()
        return
    while True:
        began, pace = clock(), transport.pace
        slowly = plan.pause_at is not None or pace > 0
        portion_ends = plan.pause_at or max(known + 1, len(ids))
        limit = min(portion_ends, params.max_tokens) if slowly else params.max_tokens
        portion = replace(params, max_tokens=limit, min_tokens=min(params.min_tokens, limit))
        if slowly and reading is None:
            reading = Reading(engine.vocabulary, params.stop)
            for token_id in ids[:known]:
                reading.push(token_id)
        held: TokenStep | None = None  # the last one, until it is known whether it ends the answer
        text = ""
        async with seats.seat(told):
            seated()
            stream = engine.stream(
                plan.prompt, portion, forced=tuple(ids), known=known, watched=plan.watched, owner=plan.owner
            )
            async with aclosing(events_of(stream)) as events:
                async for event in events:
                    if isinstance(event, Prompt):
                        if not prompt_sent:
                            prompt_sent = True
                            yield event
                    elif isinstance(event, TokenStep):
                        if known == len(ids):
                            ids.append(event.token_id)
                        known += 1
                        if slowly:
                            if held is not None:
                                yield held
                            held = event
                        if reading is not None:
                            text = reading.push(event.token_id)
                        if slowly:
                            continue
                        yield event
                        if transport.pace > 0:
                            break
                    else:
                        over = _over(event, limit, params)
                        if held is not None:
                            yield held if over else replace(held, text=text)
                        if over:
                            yield event
                            return
        if plan.pause_at is not None:
            yield Paused()
            return
        while slowly and transport.pace == pace and (left := began + 1 / pace - clock()) > 0:
            await asyncio.sleep(min(left, 0.05))


def _over(finished: Finished, limit: int, params: SamplingParams) -> bool:
    """Whether the answer ended, and not just this portion of it."""
    return finished.reason != "max_tokens" or limit >= params.max_tokens
