"""Lab kv-cache: the same answer with keys and values kept, and with everything read anew at each step."""

from __future__ import annotations

import statistics
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playground.experiments.answers import Answer, answer_of, parted
from playground.experiments.dtypes import Unavailable, in_dtype, two_dtypes
from playground.experiments.kv_cache_report import report
from playground.experiments.lab import Lab, Progress, option
from playground.experiments.timing import fitting, greedy
from playground.params import SamplingParams

if TYPE_CHECKING:
    from playground.engine.local import LocalEngine
    from playground.experiments.bench import Bench
    from playground.trace import Prompt, Trace

STEPS = 5  # timed at each length, after the pass over the prompt; an odd number has a middle one


@dataclass(frozen=True)
class Options:
    question: str = option("What is the capital of France?", "question", high=400)
    tokens: int = option(24, "tokens of the answer", low=2, high=200)
    lengths: tuple[int, ...] = option(
        (32, 128, 256, 512), "lengths", low=2, high=4096, most=6, hint="tokens read before the timed steps"
    )


@dataclass(frozen=True)
class Pace:
    """What a step takes after `length` tokens. Medians."""

    length: int
    on_s: float
    off_s: float
    read_on: int  # tokens that a step reads
    read_off: int
    held: int  # bytes of keys and values, with the cache


@dataclass(frozen=True)
class Match:
    """The answer with and without the cache, in one dtype. Differences are over the steps until they part."""

    dtype: str
    own: bool  # the dtype that the model runs in here
    on: Answer
    off: Answer
    parted: int | None
    compared: int  # steps
    logit: float | None  # largest difference of a raw logit
    prob: float | None  # largest difference of a raw probability
    gap: float | None  # top-1 minus top-2 raw probability, with the cache, where they part
    read_on: int  # tokens read by all passes
    read_off: int


@dataclass(frozen=True)
class KvCache:
    paces: tuple[Pace, ...]
    left_out: tuple[int, ...]  # lengths that do not fit here
    matches: tuple[Match, ...]
    not_available: str  # why another dtype could not be tried; empty if it was


def measure(bench: Bench, options: Options) -> Iterator[Progress | KvCache]:
    fits = fitting(bench, options.lengths, STEPS + 1)
    left_out = tuple(length for length in options.lengths if length not in fits)
    yield from _pace(bench, fits[0], 0, 0)  # a first round warms the machine up
    paces: list[Pace] = []
    for number, length in enumerate(fits):
        at, to = 0.6 * number / len(fits), 0.6 * (number + 1) / len(fits)
        paces.append((yield from _pace(bench, length, at, to)))
        yield KvCache(tuple(paces), left_out, (), "")
    matches, why = [], ""
    prompt = bench.chat(options.question)
    for number, dtype in enumerate(two_dtypes(bench)):
        at = 0.6 + 0.2 * number
        yield Progress(at, f"The model in {dtype}")
        try:
            with in_dtype(bench, dtype) as engine:
                matches.append((yield from _matched(bench, engine, prompt, options.tokens, at, at + 0.2)))
        except Unavailable as error:
            why = str(error)
        yield KvCache(tuple(paces), left_out, tuple(matches), why)


def _pace(bench: Bench, length: int, at: float, to: float) -> Generator[Progress, None, Pace]:
    prompt, middle = bench.filled(length), (at + to) / 2
    params = greedy(STEPS + 1)
    told = f"Steps after {length:,} tokens"
    on = yield from bench.run(prompt, params, at, middle, f"{told}, with the cache", reuse=False)
    off = yield from bench.run(
        prompt, params, middle, to, f"{told}, without", owner=f"{bench.owner} off", cache=False, reuse=False
    )
    # The first step of each comes from the pass over the whole prompt.
    with_cache, without = ([step.forward_s for step in trace.steps[1:]] for trace in (on, off))
    return Pace(
        length, statistics.median(with_cache), statistics.median(without), 1, length + (STEPS + 1) // 2,
        on.steps[1].kv_bytes,
    )  # fmt: skip


def _matched(
    bench: Bench, engine: LocalEngine, prompt: Prompt, tokens: int, at: float, to: float
) -> Generator[Progress, None, Match]:
    params, dtype = SamplingParams(temperature=0, max_tokens=tokens, seed=0), engine.info.dtype
    traces: list[Trace] = []
    owners = [f"{bench.owner} {dtype} {kept}" for kept in ("on", "off")]
    for number, owner in enumerate(owners):
        start, told = at + (to - at) * number / 2, ("with", "without")[number]
        (trace,) = yield from bench.lanes(
            prompt, [params], start, start + (to - at) / 2, f"An answer {told} the cache, in {dtype}",
            engine=engine, owner=owner, cache=not number, reuse=False,
        )  # fmt: skip
        traces.append(trace)
    on, off = traces
    where = parted(on.answer_ids, off.answer_ids)
    most = min(len(on.steps), len(off.steps))
    compared = most if where is None else min(most, where + 1)
    logits, probs = [], []
    for index in range(compared):  # the ids before each of these steps are the same in both
        before = on.answer_ids[:index]
        first, second = (engine.logits(prompt.ids, before, owner=owner) for owner in owners)
        if first is not None and second is not None:
            logits.append(float((first - second).abs().max()))
            probs.append(float((first.softmax(-1) - second.softmax(-1)).abs().max()))
    lengths = range(len(prompt.ids), len(prompt.ids) + len(off.steps))
    return Match(
        dtype,
        dtype == bench.engine.info.dtype,
        answer_of(bench, on),
        answer_of(bench, off),
        where,
        compared,
        max(logits, default=None),
        max(probs, default=None),
        on.steps[where].gap if where is not None and where < len(on.steps) else None,
        len(prompt.ids) + len(on.steps) - 1,
        sum(lengths),
    )


KV_CACHE = Lab(
    "kv-cache",
    "The KV cache, on and off",
    "What does the KV cache save, and does it change the answer?",
    (
        f"At each length the model reads a text and makes {STEPS + 1} tokens, once with its keys and values "
        "kept and once reading everything anew; the median of the passes after the first is shown. A first "
        "round is thrown away.",
        "Then one answer is written both ways at temperature 0, and the raw logits of every step are "
        "subtracted, until the two part.",
        "The same is done in another dtype, with a copy of the model whose weights are rounded to it.",
    ),
    (
        "Times are this machine's, with whatever else it does; the difference grows with the length and with "
        "the model.",
        "Held bytes are of keys and values alone, without the weights.",
    ),
    Options,
    measure,
    report,
)
