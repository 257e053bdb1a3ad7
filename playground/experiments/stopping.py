"""Lab stopping: what ends an answer: the model's end token, a limit, a stop string, and none of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playground.experiments.answers import Answer, answer_of
from playground.experiments.lab import Lab, Progress, option
from playground.experiments.stopping_report import report
from playground.params import SamplingParams

if TYPE_CHECKING:
    from playground.experiments.bench import Bench
    from playground.trace import Trace


@dataclass(frozen=True)
class Options:
    question: str = option("What is the capital of France?", "question", high=400)
    tokens: int = option(64, "most tokens of an answer", low=4, high=400)
    beyond: int = option(32, "tokens past the end", low=1, high=200, hint="where it may not stop")


@dataclass(frozen=True)
class Ending:
    """An answer and, at each of its steps, the chance of all end ids together: raw, and as drawn from."""

    answer: Answer
    raw: tuple[float, ...]
    final: tuple[float, ...]


@dataclass(frozen=True)
class Held:
    """What the engine did with one token: it brought `arrived`, `shown` was let out, `held` was kept back.

    At the last token of a match `held` is what is never shown: the stop string, and what came after it.
    """

    token_id: int
    name: str
    arrived: str
    shown: str
    held: str


@dataclass(frozen=True)
class Stopped:
    """The answer with a stop string that was chosen to cross from token `first` to the next ones."""

    string: str
    answer: Answer
    steps: tuple[Held, ...]
    decided: int | None  # step at which the whole string was there


@dataclass(frozen=True)
class Stopping:
    end_ids: tuple[int, ...]
    free: Ending
    cut: Answer | None = None
    cut_at: int = 0
    stopped: Stopped | None = None
    no_string: str = ""  # why no stop string could be chosen
    ignored: Ending | None = None  # end ids may be picked, and end nothing
    banned: Ending | None = None  # end ids may not be picked


def measure(bench: Bench, options: Options) -> Iterator[Progress | Stopping]:
    prompt = bench.chat(options.question)
    room = min(bench.room - len(prompt.ids), bench.most_new)
    if room < 4:
        raise ValueError(f"the question leaves room for {max(0, room)} tokens, and this needs 4")
    tokens = min(options.tokens, room)
    ends = bench.engine.info.end_ids

    def params(most: int, **more: object) -> SamplingParams:
        return SamplingParams.from_dict({"temperature": 0, "max_tokens": most, "seed": 0, **more})

    trace = yield from bench.run(prompt, params(tokens), 0, 0.3, "The answer, free to end")
    free = _ending(bench, trace, ends)
    yield Stopping(ends, free)
    half = max(1, len(trace.steps) // 2)
    cut = answer_of(bench, (yield from bench.run(prompt, params(half), 0.3, 0.4, "The answer, cut")))
    yield Stopping(ends, free, cut, half)
    string, stopped, why = crossing(trace), None, ""
    if string is None:
        why = "Not available here: no two tokens of this answer meet in a string that is not there before."
    else:
        stop = yield from bench.run(
            prompt, params(tokens, stop=[string]), 0.4, 0.5, "The answer, with a stop string"
        )
        stopped = _stopped(bench, string, stop)
    yield Stopping(ends, free, cut, half, stopped, why)
    longer = min(len(trace.steps) + options.beyond, room)
    ignore = yield from bench.run(
        prompt, params(longer, ignore_eos=True), 0.5, 0.75, "The answer, its end ignored"
    )
    ignored = _ending(bench, ignore, ends)
    yield Stopping(ends, free, cut, half, stopped, why, ignored)
    ban = yield from bench.run(
        prompt, params(longer, banned=list(ends)), 0.75, 1, "The answer, its end banned"
    )
    yield Stopping(ends, free, cut, half, stopped, why, ignored, _ending(bench, ban, ends))


def _ending(bench: Bench, trace: Trace, ends: Sequence[int]) -> Ending:
    final = tuple(
        min(1.0, sum({c.token_id: c.final_prob for c in step.candidates if c.token_id in ends}.values()))
        for step in trace.steps
    )
    return Ending(answer_of(bench, trace), tuple(min(1.0, step.end_prob) for step in trace.steps), final)


def crossing(trace: Trace) -> str | None:
    """The end of one token's text and the start of the next one's, near the middle of the answer.

    None where every such string is in the answer before: it would stop there, and perhaps cross nothing.
    """
    pieces = [step.text for step in trace.steps]
    best = None
    for index in range(1, len(pieces)):
        one, two = pieces[index - 1], pieces[index]
        if not one.strip() or not two.strip():
            continue
        string = one[-3:] + two[:2]
        start = sum(map(len, pieces[:index])) - len(one[-3:])
        if trace.text.find(string) == start:
            best = string
            if index >= len(pieces) // 2:
                break
    return best


def _stopped(bench: Bench, string: str, trace: Trace) -> Stopped:
    """What each step of the run brought, what the engine showed of it, and what it kept back by then."""
    from playground.text.tokens import TextStream

    reader = TextStream(bench.engine.vocabulary)
    ended = trace.finished.reason
    steps: list[Held] = []
    waiting = ""
    for step in trace.steps:
        is_end = ended == "end_token" and step is trace.steps[-1]  # it is no part of the text
        arrived = reader.flush() if is_end else reader.push(step.token_id)
        waiting = (waiting + arrived)[len(step.text) :]
        steps.append(Held(step.token_id, bench.visible(step.token_id), arrived, step.text, waiting))
    decided = len(steps) - 1 if ended == "stop_string" else None
    return Stopped(string, answer_of(bench, trace), tuple(steps), decided)


STOPPING = Lab(
    "stopping",
    "Stopping",
    "What makes the model stop?",
    (
        "One greedy answer is made until the model ends it or the limit does.",
        "It is made again with half as many tokens, with a stop string that crosses a border of its tokens, "
        "with ignore_eos (an end token may come, and ends nothing), and with all end ids banned.",
    ),
    (
        "One question and one greedy answer; other questions end elsewhere.",
        "A raw chance is the model's own; a final one is what the token was picked from, at "
        "temperature 0 all or nothing.",
    ),
    Options,
    measure,
    report,
)
