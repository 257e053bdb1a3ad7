"""Answers as a lab keeps and shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from playground.findings.report import Chip, Lane
from playground.trace import Trace

if TYPE_CHECKING:
    from playground.experiments.bench import Bench

SHADE = "warmer: the model itself gave the token less"
Mark = Literal["", "forced", "parted", "end", "cut"]


@dataclass(frozen=True)
class Answer:
    """The tokens of an answer. `logprobs` are raw, in nats; None is minus infinity."""

    ids: tuple[int, ...]
    names: tuple[str, ...]  # visible forms
    logprobs: tuple[float | None, ...]
    text: str
    reason: str  # why it ended, as a trace says it


def answer_of(bench: Bench, trace: Trace) -> Answer:
    steps = trace.steps
    return Answer(
        trace.answer_ids,
        tuple(bench.visible(step.token_id) for step in steps),
        tuple(finite(step.logprob) for step in steps),
        trace.text,
        trace.finished.reason,
    )


def finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def parted(first: Sequence[int], second: Sequence[int]) -> int | None:
    """The first index at which two answers differ, be it that one has ended there; None if they are equal."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return None if len(first) == len(second) else min(len(first), len(second))


def lane(name: str, answer: Answer, marks: Mapping[int, Mark] | None = None, note: str = "") -> Lane:
    """An answer as a strip: shaded by surprise, 1 − the raw probability of each token; its end is marked."""
    ended: dict[int, Mark] = {len(answer.ids) - 1: "end"} if answer.reason == "end_token" else {}
    marks = {**ended, **(marks or {})}
    chips = tuple(
        Chip(token_id, text, surprise(logprob), marks.get(index, ""), told(index, logprob))
        for index, (token_id, text, logprob) in enumerate(
            zip(answer.ids, answer.names, answer.logprobs, strict=True)
        )
    )
    return Lane(name, chips, note)


def surprise(logprob: float | None) -> float:
    return 1.0 if logprob is None else min(1.0, max(0.0, 1.0 - math.exp(logprob)))


def told(index: int, logprob: float | None) -> str:
    chance = 0.0 if logprob is None else math.exp(logprob)
    return f"token {index + 1}: the model gave it {chance:.3%}"
