"""The end of the context, really tried: a prompt as long as it, shorter ones, and answers that meet it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from playground.experiments.lab import Progress
from playground.experiments.timing import greedy

if TYPE_CHECKING:
    from playground.experiments.bench import Bench
    from playground.trace import Prompt

NO_BOUND = 10**6  # what a bench has where its server sets no bound
MARGIN = 8  # tokens that the last try leaves for an answer
STEP = 1024  # tokens read between two chances to stop
PACED = 256  # tokens whose reading tells the pace


@dataclass(frozen=True)
class Try:
    """A prompt of `prompt` tokens, and an answer of up to `asked` that no end token ends."""

    prompt: int
    asked: int
    answer: int | None  # tokens; None if the prompt was refused
    reason: str  # why the answer ended, as a trace says it; "refused"
    told: str  # the engine's or the server's sentence


@dataclass(frozen=True)
class Limit:
    """Bounds are in tokens; None where there is none."""

    context: int | None  # of the model
    most_prompt: int | None  # of the server
    most_new: int | None
    tries: tuple[Try, ...] = ()
    not_filled: str = ""  # a sentence: why the context was not filled


def refused(bench: Bench) -> Generator[Progress, None, Limit]:
    """The bounds, and what becomes of a prompt that is as long as the context."""
    context = bench.engine.info.context
    most_prompt, most_new = (
        None if bound >= NO_BOUND else bound for bound in (bench.most_prompt, bench.most_new)
    )
    limit = Limit(context, most_prompt, most_new)
    if context is None:
        return limit
    tried = yield from _try(bench, context, 1, 0, 0)
    return replace(limit, tries=(tried,))


def filled(
    bench: Bench, limit: Limit, seconds: float, at: float, to: float
) -> Generator[Progress, None, Limit]:
    """`limit` with two tries more, of prompts that leave room for one token and for MARGIN, if reading them
    takes no more than `seconds` at the pace measured here."""
    context = limit.context
    if context is None:
        return limit
    if context - 1 > bench.most_prompt or bench.most_new < 2:
        why = "this server's own limits come before the model's, so its context cannot be filled"
        return replace(limit, not_filled=f"Not available here: {why}.")
    try:
        pace, reused = yield from _read(bench, min(PACED, context - 1), at)
        needed = (context - 1) / pace
        if needed > seconds:
            why = (
                f"at the pace of its first {PACED} tokens it takes {needed:,.0f} s, and more as later "
                f"ones look back further; {seconds:g} s are allowed"
            )
            return replace(limit, not_filled=f"The context was not filled: {why}.")
        for length in range(STEP, context - 1, STEP):
            if length > STEP and not reused:
                break  # this model's cache cannot be taken up again, so reading in steps would save nothing
            _, reused = yield from _read(bench, length, at + (to - at) * length / context)
        room = min(MARGIN, context - 1, bench.most_new // 2)
        last = yield from _try(bench, context - 1, min(MARGIN, bench.most_new), to, to)
        cut = yield from _try(bench, context - room, 2 * room, to, to)
    except ValueError as error:  # no memory for so long a row, as a rule
        return replace(limit, not_filled=f"Not available here: {error}.")
    return replace(limit, tries=(*limit.tries, last, cut))


def _read(bench: Bench, length: int, at: float) -> Generator[Progress, None, tuple[float, int]]:
    """Read a prompt of `length` tokens. Returns tokens read per second, and tokens taken over from before."""
    trace = yield from bench.run(_long(bench, length), greedy(1), at, at, f"Filling: {length:,} tokens")
    ended = trace.finished
    return max(1, length - ended.reused_tokens) / max(ended.prefill_s, 1e-9), ended.reused_tokens


def _long(bench: Bench, length: int) -> Prompt:
    """A prompt of `length` tokens, however many: the same ones over and over."""
    ids = bench.filled(min(length, STEP)).ids
    return bench.of_ids((ids * (length // len(ids) + 1))[:length])


def _try(bench: Bench, prompt: int, asked: int, at: float, to: float) -> Generator[Progress, None, Try]:
    text = f"A prompt of {prompt:,} tokens"
    try:
        trace = yield from bench.run(_long(bench, prompt), greedy(asked), at, to, text)
    except ValueError as error:
        return Try(prompt, asked, None, "refused", str(error))
    ended = trace.finished
    return Try(prompt, asked, len(trace.steps), ended.reason, ended.message)
