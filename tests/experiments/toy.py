"""A lab that measures little: one answer, token by token, with every kind of block in its report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from playground.experiments.lab import Lab, Progress, option
from playground.findings.report import (
    Axis,
    Block,
    Chart,
    Chip,
    Column,
    Lane,
    Quote,
    Series,
    Strips,
    Table,
    say,
    strong,
    token,
)
from playground.params import SamplingParams


@dataclass(frozen=True)
class Options:
    tokens: int = option(3, "tokens of each answer", low=1, high=50)
    warmth: float = option(0.0, "temperature", low=0, high=2)
    question: str = option("abc", "question", high=20)
    seeds: tuple[int, ...] = option((1, 2), "seeds", low=0, high=99, most=4, hint="one answer each")
    raw: bool = option(True, "without the template")


@dataclass(frozen=True)
class Answer:
    seed: int
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    names: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Toy:
    answers: tuple[Answer, ...]


def measure(bench: Any, options: Options) -> Iterator[Progress | Toy]:
    if options.tokens == 49:
        raise ValueError("forty-nine tokens are not for toys")
    prompt = bench.engine.raw(options.question) if options.raw else bench.chat(options.question)
    answers: list[Answer] = []
    for number, seed in enumerate(options.seeds):
        params = SamplingParams(temperature=options.warmth, seed=seed, max_tokens=options.tokens)
        at, to = number / len(options.seeds), (number + 1) / len(options.seeds)
        trace = yield from bench.run(prompt, params, at, to, f"Answer {number + 1}")
        names = tuple(bench.visible(step.token_id) for step in trace.steps)
        logprobs = tuple(step.logprob for step in trace.steps)
        answers.append(Answer(seed, trace.answer_ids, logprobs, names, trace.text))
        yield Toy(tuple(answers))


def report(found: Toy) -> tuple[Block, ...]:
    first = found.answers[0]
    lines = tuple(
        Series(f"seed {each.seed}", tuple(float(place) for place in range(len(each.ids))), each.logprobs)
        for each in found.answers
    )
    lanes = tuple(
        Lane(
            f"seed {each.seed}",
            tuple(
                Chip(one, name, 0.5, told="a token") for one, name in zip(each.ids, each.names, strict=True)
            ),
        )
        for each in found.answers
    )
    rows = tuple((each.seed, each.text) for each in found.answers)
    surprise = Axis("raw logprob", "nats")
    return (
        say("The first token was ", token(first.names[0]), " of ", strong(f"{len(first.ids)}"), "."),
        Table("Answers", (Column("seed", "count"), Column("text")), rows),
        Chart("Surprise", "lines", Axis("step", "count"), surprise, lines, "a note"),
        Strips("Tokens", lanes, "warmer is odder"),
        Quote("Word for word", tuple((f"seed {each.seed}", each.text) for each in found.answers)),
    )


TOY = Lab("toy", "A toy", "Does it work?", ("It runs.",), ("It is a toy.",), Options, measure, report)
