"""Lab determinism: what can change an answer, and what cannot: seeds, the cache, the batch, the dtype."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from playground.experiments.answers import Answer, answer_of, parted
from playground.experiments.determinism_report import report
from playground.experiments.dtypes import Unavailable, in_dtype, two_dtypes
from playground.experiments.lab import Lab, Progress, option
from playground.params import SamplingParams

if TYPE_CHECKING:
    from playground.engine.local import LocalEngine
    from playground.experiments.bench import Bench
    from playground.trace import Prompt, Trace

BATCH = 8
Kind = Literal["again", "off", "batch", "same_seed", "other_seed", "dtype"]


@dataclass(frozen=True)
class Options:
    question: str = option("Write two sentences about the sea.", "question", high=400)
    tokens: int = option(8, "tokens of each answer", low=2, high=100)
    runs: int = option(2, "runs", low=2, high=8, hint="of one setting, and how many seeds")
    temperature: float = option(1.0, "temperature", low=0.05, high=2, hint="where seeds are compared")


@dataclass(frozen=True)
class Trial:
    """Runs that differ from the first one in one thing, compared with it."""

    dtype: str
    own: bool  # the dtype that the model runs in here
    kind: Kind
    runs: int  # compared with the first
    same: int  # of them: those with the very same tokens
    drift: float  # largest difference of a token's raw logprob, nats, over the tokens they share
    lanes: int  # most lanes in a pass, as measured
    parted: int | None  # the earliest token that differs, from 0
    gap: float | None  # top-1 minus top-2 raw probability in the first run, there
    first: Answer
    other: Answer | None  # the run that parted earliest


@dataclass(frozen=True)
class Closest:
    """The token of the greedy answer that rounding could change most easily."""

    dtype: str
    index: int
    gap: float  # top-1 minus top-2 raw probability


@dataclass(frozen=True)
class Determinism:
    temperature: float  # of the runs that compare seeds
    trials: tuple[Trial, ...]
    closest: tuple[Closest, ...]
    not_available: str  # why another dtype could not be tried; empty if it was


def measure(bench: Bench, options: Options) -> Iterator[Progress | Determinism]:
    prompt = bench.chat(options.question)
    trials: list[Trial] = []
    closest: list[Closest] = []
    greedy: list[Trace] = []  # the first run in each dtype
    why = ""
    for number, dtype in enumerate(two_dtypes(bench)):
        at = 0.6 * number
        yield Progress(at, f"The model in {dtype}")
        try:
            with in_dtype(bench, dtype) as engine:
                first = yield from _alone(bench, engine, prompt, options, 0, at)
                greedy.append(first)
                closest.append(_closest(first))
                for found in _greedy(bench, engine, prompt, options, first, at):
                    if isinstance(found, Trial):
                        trials.append(found)
                        yield Determinism(options.temperature, tuple(trials), tuple(closest), why)
                    else:
                        yield found
        except Unavailable as error:
            why = str(error)
        if not number:
            trials += yield from _seeds(bench, prompt, options, 0.4, 0.6)
        elif len(greedy) == 2:
            trials.append(_trial(bench, "dtype", greedy[0], greedy[1:]))
        yield Determinism(options.temperature, tuple(trials), tuple(closest), why)


def _params(options: Options, seed: int, temperature: float = 0.0) -> SamplingParams:
    return SamplingParams(temperature=temperature, max_tokens=options.tokens, seed=seed)


def _alone(
    bench: Bench, engine: LocalEngine, prompt: Prompt, options: Options, seed: int, at: float
) -> Generator[Progress, None, Trace]:
    text = f"Alone at temperature 0, in {engine.info.dtype}"
    (trace,) = yield from bench.lanes(
        prompt, [_params(options, seed)], at, at, text, engine=engine, exact=True, reuse=False
    )
    return trace


def _greedy(
    bench: Bench, engine: LocalEngine, prompt: Prompt, options: Options, first: Trace, at: float
) -> Iterator[Progress | Trial]:
    """At temperature 0 against the `first` run: again with other seeds, without the cache, in a batch."""
    again = []
    for seed in range(1, options.runs):
        again.append((yield from _alone(bench, engine, prompt, options, seed, at + 0.1)))
    yield _trial(bench, "again", first, again)
    off = yield from bench.lanes(
        prompt, [_params(options, 0)], at + 0.2, at + 0.3, f"Without the cache, in {engine.info.dtype}",
        engine=engine, cache=False, reuse=False,
    )  # fmt: skip
    yield _trial(bench, "off", first, off)
    batch = yield from bench.lanes(
        prompt, [_params(options, 0)] * BATCH, at + 0.3, at + 0.4,
        f"{BATCH} lanes at once, in {engine.info.dtype}", engine=engine, reuse=False,
    )  # fmt: skip
    yield _trial(bench, "batch", first, batch)


def _seeds(
    bench: Bench, prompt: Prompt, options: Options, at: float, to: float
) -> Generator[Progress, None, list[Trial]]:
    """Every seed twice, with dice: each against itself, and the others against the first."""
    params = [_params(options, seed, options.temperature) for seed in range(1, options.runs + 1)]
    middle, text = (at + to) / 2, f"{len(params)} seeds at temperature {options.temperature:g}"
    once = yield from bench.lanes(prompt, params, at, middle, text, reuse=False)
    twice = yield from bench.lanes(prompt, params, middle, to, f"{text}, again", reuse=False)
    pairs = [_trial(bench, "same_seed", one, [other]) for one, other in zip(once, twice, strict=True)]
    earliest = min(pairs, key=lambda trial: options.tokens if trial.parted is None else trial.parted)
    same = Trial(
        earliest.dtype, earliest.own, "same_seed", len(pairs), sum(pair.same for pair in pairs),
        max(pair.drift for pair in pairs), max(pair.lanes for pair in pairs),
        earliest.parted, earliest.gap, earliest.first, earliest.other,
    )  # fmt: skip
    return [same, _trial(bench, "other_seed", once[0], once[1:])]


def _trial(bench: Bench, kind: Kind, first: Trace, others: Sequence[Trace]) -> Trial:
    places = [parted(first.answer_ids, other.answer_ids) for other in others]
    found = [place for place in places if place is not None]
    where = min(found, default=None)
    drifts = [
        abs(one.logprob - other.logprob)
        for trace, place in zip(others, places, strict=True)
        for one, other in zip(first.steps[:place], trace.steps[:place], strict=place is None)
    ]
    own = bench.engine.info.dtype
    dtype = others[0].model.dtype
    return Trial(
        dtype,
        dtype == own,
        kind,
        len(others),
        places.count(None),
        max(drifts, default=0.0),
        max(step.batch_lanes for trace in others for step in trace.steps),
        where,
        first.steps[where].gap if where is not None and where < len(first.steps) else None,
        answer_of(bench, first),
        None if where is None else answer_of(bench, others[places.index(where)]),
    )


def _closest(trace: Trace) -> Closest:
    step = min(trace.steps, key=lambda step: step.gap)
    return Closest(trace.model.dtype, step.index, step.gap)


DETERMINISM = Lab(
    "determinism",
    "The same answer twice",
    "What makes two runs of one prompt differ?",
    (
        "At temperature 0 the prompt is run alone, then again alone with other seeds, without the cache, and "
        f"in {BATCH} lanes of one batch; all in the model's dtype and in another one, with a copy of the "
        "model whose weights are rounded to it.",
        "Then, at a temperature, several seeds are run side by side, twice.",
        "Runs are compared token by token with the first of their kind. Where they part, the gap is how far "
        "the first run's two likeliest tokens are apart, in raw probability.",
    ),
    (
        "One prompt on one machine: that runs were the same here does not prove that they always are.",
        "A longer answer has more places where two tokens are close, so it parts more easily.",
    ),
    Options,
    measure,
    report,
)
