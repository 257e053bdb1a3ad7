"""Lab one-bad-token: a poor token is forced into an answer, and the model goes on from it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playground.experiments.answers import Answer, answer_of
from playground.experiments.lab import Lab, Progress, option
from playground.experiments.one_bad_token_report import report
from playground.experiments.rejoin import SHORTEST, WORDS, rejoined, same_ending
from playground.params import SamplingParams

if TYPE_CHECKING:
    from playground.experiments.bench import Bench
    from playground.trace import Prompt, Trace

FRESH = 1_000_003  # added to a seed for dice of its own


@dataclass(frozen=True)
class Options:
    question: str = option("What is the capital of France?", "question", high=400)
    step: int = option(4, "forced at token", low=1, high=200, hint="counted from 1")
    rank: int = option(100, "rank of the poor token", low=0, high=1000, hint="0: the text below instead")
    text: str = option(" banana", "or the first token of", high=40, hint="where the rank is 0")
    answers: int = option(6, "answers", low=1, high=16)
    tokens: int = option(32, "tokens of each", low=4, high=200)
    temperature: float = option(0.7, "temperature", low=0, high=2)
    seed: int = option(1, "first seed", low=0, high=10**6)


@dataclass(frozen=True)
class Going:
    """One way to go on, compared with the answer it left."""

    kind: str  # "same dice", "fresh dice", or "no bad token": fresh dice after the same start
    answer: Answer
    joined: tuple[int, int] | None  # (index here, index in the original) from which on all tokens are its own
    ending: bool  # the last words are the original's


@dataclass(frozen=True)
class Case:
    """An answer, and how it goes on after a poor token at index `step`."""

    seed: int
    step: int
    original: Answer
    bad: str  # visible form
    rank: int
    prob: float  # raw
    going: tuple[Going, ...]


@dataclass(frozen=True)
class OneBadToken:
    asked: int  # cases that were asked for
    wanted: int  # step, from 0
    temperature: float
    cases: tuple[Case, ...]


def measure(bench: Bench, options: Options) -> Iterator[Progress | OneBadToken]:
    prompt = bench.chat(options.question)
    tokens = min(options.tokens, bench.most_new, bench.room - len(prompt.ids))
    if tokens < 4:
        raise ValueError("the question leaves no room for an answer here: choose a shorter one")
    base = SamplingParams(temperature=options.temperature, max_tokens=tokens, seed=options.seed)
    seeds = [options.seed + number for number in range(options.answers)]
    originals = yield from bench.lanes(
        prompt, [_seeded(base, seed) for seed in seeds], 0.0, 0.2, "The answers as they are"
    )
    cases: list[Case] = []
    for number, (seed, trace) in enumerate(zip(seeds, originals, strict=True)):
        at, to = (0.2 + 0.8 * share / len(seeds) for share in (number, number + 1))
        cases.append((yield from _case(bench, prompt, _seeded(base, seed), trace, options, at, to)))
        yield OneBadToken(options.answers, options.step - 1, options.temperature, tuple(cases))


def _seeded(base: SamplingParams, seed: int) -> SamplingParams:
    return SamplingParams(temperature=base.temperature, max_tokens=base.max_tokens, seed=seed)


def _case(
    bench: Bench, prompt: Prompt, params: SamplingParams, trace: Trace, options: Options, at: float, to: float
) -> Generator[Progress, None, Case]:
    assert params.seed is not None
    ids = trace.answer_ids
    # some of the answer must be left to come back to
    step = max(0, min(options.step - 1, len(ids) - 1 - SHORTEST))
    poor = _poor(bench, prompt, ids, step, params, options)
    given, told = (*ids[:step], poor), f"Answer {params.seed - options.seed + 1} goes on from the poor token"
    fresh = _seeded(params, params.seed + FRESH)
    both = yield from bench.lanes(prompt, [params, fresh], at, (at + to) / 2, told, forced=given)
    told = f"Answer {params.seed - options.seed + 1} goes on without it"
    plain = yield from bench.run(prompt, fresh, (at + to) / 2, to, told, forced=given[:-1])
    kinds = ("same dice", "fresh dice", "no bad token")
    forced = both[0].steps[step]
    going = tuple(
        _going(bench, kind, trace, each, step) for kind, each in zip(kinds, [*both, plain], strict=True)
    )
    return Case(
        params.seed, step, answer_of(bench, trace), bench.visible(poor), forced.rank, forced.prob, going
    )


def _poor(
    bench: Bench, prompt: Prompt, ids: tuple[int, ...], step: int, params: SamplingParams, options: Options
) -> int:
    """The token to force: of the rank asked for or the next below it that neither ends the answer nor is what
    stood there; or the first of the text."""
    if not options.rank:
        return bench.engine.vocabulary.encode(options.text)[0]
    ends = (*bench.engine.info.end_ids, ids[step])
    most = options.rank + len(ends)
    looked = bench.engine.redistribute_ids(prompt.ids, ids, step, params, top_n=most, owner=bench.owner)
    ranked = sorted(looked.candidates, key=lambda each: each.rank)
    below = [each.token_id for each in ranked if each.token_id not in ends and each.rank >= options.rank]
    if below:
        return below[0]
    others = [each.token_id for each in ranked if each.token_id not in ends]  # a vocabulary of fewer tokens
    return others[-1]


def _going(bench: Bench, kind: str, original: Trace, trace: Trace, step: int) -> Going:
    cut = tuple(each.finished.reason in ("max_tokens", "context_full") for each in (original, trace))
    # without a bad token, the first token after the shared start counts too
    start = step - 1 if kind == "no bad token" else step
    joined = rejoined(original.answer_ids, trace.answer_ids, start, cut=(cut[0], cut[1]))
    return Going(kind, answer_of(bench, trace), joined, same_ending(original.text, trace.text))


ONE_BAD_TOKEN = Lab(
    "one-bad-token",
    "One bad token",
    "Does an answer recover from one bad token?",
    (
        "Several answers are drawn, each with its own dice. In each a poor token is put in the place of the "
        "one that stood there, and the model goes on twice: with the dice it had, and with fresh ones.",
        f"An answer has come back where, from some token on, all of it is the original's to the end: "
        f"{SHORTEST} tokens or more, or all that was left. Where one was cut, they need to agree until then.",
        f"Looser: the last {WORDS} words are the same, but for case and punctuation.",
        "For comparison each also goes on with fresh dice and no bad token.",
    ),
    (
        "A model cannot take a token back: it can only write on, so an answer that comes back still has the "
        "poor token in it.",
        "These are few answers to one question: other questions, places and models come out otherwise.",
        "The same words need not mean the same, and another wording can be as right.",
    ),
    Options,
    measure,
    report,
)
