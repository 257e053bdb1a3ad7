"""Lab speed: what a step of writing takes, by prompt, answer, answers at once, and size of the model."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from playground.experiments.lab import Lab, Progress, option
from playground.experiments.speed_report import report
from playground.experiments.timing import fitting, greedy, step_s
from playground.findings.written import counted

if TYPE_CHECKING:
    from playground.engine.local import LocalEngine
    from playground.experiments.bench import Bench
    from playground.trace import TokenStep

WRITTEN = 9  # tokens of the answers but for the long one; eight of them are timed
STRETCHES, SHORTEST = 8, 4  # parts of the long answer, and steps of each


@dataclass(frozen=True)
class Options:
    lengths: tuple[int, ...] = option(
        (16, 128, 512), "prompt lengths", low=2, high=8192, most=6, hint="in tokens"
    )
    answer: int = option(32, "tokens of the long answer", low=5, high=500)
    lanes: tuple[int, ...] = option((1, 2, 4, 8), "answers at once", low=1, high=8, most=8)
    sizes: tuple[int, ...] = option(
        (50,),
        "layers of other sizes",
        low=5,
        high=200,
        most=3,
        hint="in % of the model's own; random weights",
    )
    repeats: int = option(3, "rounds", low=1, high=9, hint="the median of all their steps counts")


@dataclass(frozen=True)
class Pace:
    """Medians over `steps` steps, each from one token of an answer to the next."""

    before: int  # tokens that the model holds when the first of them is made
    steps: int
    step_s: float
    pass_s: float  # of it, in the model; the rest is choosing, noting down, and waiting for other lanes
    quarter_s: float  # a quarter of the steps took at most this,
    three_quarters_s: float  # and three quarters at most this

    @property
    def rate(self) -> float:
        """Tokens per second of one answer."""
        return 1 / self.step_s


@dataclass(frozen=True)
class Stretch:
    """A part of the long answer: its tokens from `first` to `last`, counted from 1."""

    first: int
    last: int
    pace: Pace


@dataclass(frozen=True)
class Busy:
    """Several answers at once; the steps that all of them shared count."""

    lanes: int
    together: int  # most lanes that a pass held
    same: bool  # whether each wrote what the first answer here did
    pace: Pace  # of each

    @property
    def total(self) -> float:
        """Tokens per second of all; lanes that wait for room write nothing meanwhile."""
        return min(self.lanes, self.together) * self.pace.rate


@dataclass(frozen=True)
class Size:
    layers: int
    parameters: int
    weights: int  # bytes
    random: bool  # nobody trained it: only its pace means anything
    pace: Pace


@dataclass(frozen=True)
class Speed:
    prompts: tuple[Pace, ...]  # by prompt length
    answer: tuple[Stretch, ...]
    busy: tuple[Busy, ...]  # by number of answers
    sizes: tuple[Size, ...]  # the model at hand first
    prompts_left_out: tuple[int, ...]
    lanes_left_out: tuple[int, ...]
    shortened: int | None  # tokens of the long answer where those asked for do not fit
    not_available: str  # why another size could not be tried; empty if it was


@dataclass
class _Case:
    """Something to be timed, and what was heard of it."""

    told: str
    prompt: int  # tokens
    tokens: int = WRITTEN
    lanes: int = 1
    engine: LocalEngine | None = None  # another one than the bench's own
    shape: tuple[int, int, int] = (0, 0, 0)  # layers, parameters, bytes of the weights
    steps: list[TokenStep] = field(default_factory=list)  # those after the first of each answer
    answers: list[tuple[int, ...]] = field(default_factory=list)


def measure(bench: Bench, options: Options) -> Iterator[Progress | Speed]:
    fits = fitting(bench, options.lengths, WRITTEN)
    short, model = fits[0], bench.engine.model
    tokens = min(options.answer, bench.room - short, bench.most_new)
    lanes = tuple(number for number in options.lanes if number <= bench.engine.status()["free"])
    prompts = [_Case(f"After a prompt of {length:,} tokens", length) for length in fits]
    answer = _Case(f"An answer of {tokens:,} tokens", short, tokens)
    busy = [_Case(f"{counted(number, 'answer')} at once", short, lanes=number) for number in lanes]
    sizes = [_Case("The model itself", short, shape=_shape(model))]
    why: list[str] = []

    def found() -> Speed:
        first = next((ids for case in busy for ids in case.answers), ())
        return Speed(
            tuple(_pace(case.steps) for case in prompts),
            _stretches(answer),
            tuple(_busy(case, first) for case in busy if case.steps),
            tuple(
                Size(*case.shape, random=case is not sizes[0], pace=_pace(case.steps))
                for case in sizes
                if case.steps
            ),
            tuple(length for length in options.lengths if length not in fits),
            tuple(number for number in options.lanes if number not in lanes),
            tokens if tokens < options.answer else None,
            " ".join(why),
        )

    yield from _warm(bench, prompts, 0.0, 0.1)
    yield from _rounds(bench, prompts, options.repeats, 0.1, 0.3, found)
    yield from _rounds(bench, [answer], options.repeats, 0.3, 0.5, found)
    yield from _rounds(bench, busy, options.repeats, 0.5, 0.8, found)
    own = sizes[0].shape[0]
    wanted = sorted({max(1, round(own * share / 100)) for share in options.sizes})
    for number, layers in enumerate(wanted):
        at, to = (0.8 + 0.2 * (number + part) / len(wanted) for part in (0, 1))
        yield from _resized(bench, layers, sizes, options.repeats, at, to, found, why)


def _resized(
    bench: Bench,
    layers: int,
    sizes: list[_Case],
    repeats: int,
    at: float,
    to: float,
    found: Callable[[], Speed],
    why: list[str],
) -> Generator[Progress | Speed, None, None]:
    """A model of `layers` layers in turn with the bench's own, the first of `sizes`; it joins them, or `why`
    gets a sentence."""
    from playground.engine.resized import resized

    yield Progress(at, f"Building a model of {counted(layers, 'layer')} with random weights")
    try:
        engine = resized(bench.engine, layers)
    except ValueError as error:
        why.append(f"Not available here with {counted(layers, 'layer')}: {error}.")
        yield found()
        return
    own = sizes[0]
    case = _Case(
        f"{counted(layers, 'layer')} and random weights",
        own.prompt,
        engine=engine,
        shape=_shape(engine.model),
    )
    sizes.append(case)
    try:
        yield from _warm(bench, [own, case], at, at)
        yield from _rounds(bench, [own, case], repeats, at, to, found)
    finally:
        case.engine = None
        engine.close()


def _warm(bench: Bench, cases: Sequence[_Case], at: float, to: float) -> Generator[Progress, None, None]:
    """A run of each that does not count. It reads the prompts, which the engine then has at hand."""
    for number, case in enumerate(cases):
        start, stop = (at + (to - at) * (number + part) / len(cases) for part in (0, 1))
        yield from bench.lanes(
            bench.filled(case.prompt),
            [greedy(2)],
            start,
            stop,
            f"Warming up: {case.told}",
            engine=case.engine,
        )


def _rounds(
    bench: Bench, cases: Sequence[_Case], repeats: int, at: float, to: float, found: Callable[[], Speed]
) -> Generator[Progress | Speed, None, None]:
    """All cases in turn, `repeats` times over: what else the machine does meets all of them alike."""
    turns = repeats * len(cases)
    for number in range(turns):
        case = cases[number % len(cases)]
        start, stop = (at + (to - at) * (number + part) / turns for part in (0, 1))
        traces = yield from bench.lanes(
            bench.filled(case.prompt), [greedy(case.tokens)] * case.lanes, start, stop, case.told,
            engine=case.engine,
        )  # fmt: skip
        for trace in traces:
            case.steps.extend(trace.steps[1:])
            case.answers.append(trace.answer_ids)
        if number >= len(cases) - 1:
            yield found()


def _pace(steps: Sequence[TokenStep]) -> Pace:
    took = [step_s(step) for step in steps]
    quarter, middle, most = statistics.quantiles(took, n=4, method="inclusive") if took[1:] else took * 3
    return Pace(
        min(step.position for step in steps),
        len(steps),
        middle,
        statistics.median(step.forward_s for step in steps),
        quarter,
        most,
    )


def _stretches(case: _Case) -> tuple[Stretch, ...]:
    count = case.tokens - 1
    parts = min(STRETCHES, max(1, count // SHORTEST)) if case.steps else 0
    bounds = [1 + count * part // parts for part in range(parts + 1)] if parts else []
    return tuple(
        Stretch(start + 1, stop, _pace([step for step in case.steps if start <= step.index < stop]))
        for start, stop in pairwise(bounds)
    )


def _busy(case: _Case, first: Sequence[int]) -> Busy:
    """The steps that fewer lanes share than could, at the start and the end, are left out."""
    together = max(step.batch_lanes for step in case.steps)
    shared = [step for step in case.steps if step.batch_lanes >= min(case.lanes, together)]
    same = all(ids == tuple(first) for ids in case.answers)
    return Busy(case.lanes, together, same, _pace(shared))


def _shape(model: Any) -> tuple[int, int, int]:
    """Layers, parameters, and bytes of the weights."""
    weights = list(model.parameters())
    return (
        int(model.config.get_text_config().num_hidden_layers),
        sum(each.numel() for each in weights),
        sum(each.numel() * each.element_size() for each in weights),
    )


SPEED = Lab(
    "speed",
    "What the pace depends on",
    "What does the speed of writing depend on: prompt, answer, answers at once, size of the model?",
    (
        "A step is the time from one token of an answer to the next. After plain English that was read "
        f"before and is held in the KV cache, {WRITTEN} tokens are written, past end tokens.",
        "The cases take turns, several rounds long, after a run of each that does not count; medians of all "
        "their steps are taken.",
        "The long answer and the answers at once follow the shortest prompt. Answers at once are decoded in "
        "one batch, all with the same words.",
        "Another size is the same architecture with another number of layers and random weights, timed in "
        "turn with the model itself: only its pace means anything, its words mean nothing.",
    ),
    (
        "Times are this machine's, with whatever else it does. Lengths are told apart only where the middle "
        "halves of their steps do not overlap.",
        "A step includes choosing the token and noting down all of its numbers; serving alone needs less.",
        "Another size here has the same width; trained models of other sizes differ in width as well.",
    ),
    Options,
    measure,
    report,
)
