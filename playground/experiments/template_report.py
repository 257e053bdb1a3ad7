"""What lab template found, told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.experiments.answers import SHADE, lane
from playground.findings.report import (
    Axis,
    Block,
    Chart,
    Column,
    Quote,
    Say,
    Series,
    Strips,
    Table,
    say,
    strong,
    token,
)

if TYPE_CHECKING:
    from playground.experiments.template import Case, Template


def report(found: Template) -> tuple[Block, ...]:
    cases = found.cases
    ended = [case.name for case in cases if case.answer.reason == "end_token"]
    tops = tuple((case.name, first.name, first.prob) for case in cases for first in case.top)
    steps = tuple(
        Series(case.name, tuple(float(i + 1) for i in range(len(case.ends))), case.ends, "end")
        for case in cases
    )
    return (
        _first(found),
        say(
            strong(f"{len(ended)} of {len(cases)}"), " answers ended by an end token",
            f": {', '.join(ended)}." if ended else "; the others ran into the limit.",
        ),
        *(say(text) for text in found.left_out),
        _table(cases),
        Table("First tokens", (Column("prompt"), Column("token", "token"), Column("chance", "share")), tops),
        Chart(
            "Chance of the end, step by step", "lines", Axis("token", "count"),
            Axis("raw chance of an end id", "share"), steps,
        ),
        Strips("The answers, token by token", tuple(lane(c.name, c.answer) for c in cases), SHADE),
        Quote("Prompts, word for word", tuple((case.name, case.text) for case in cases)),
        Quote("Answers, word for word", tuple((case.name, case.answer.text) for case in cases)),
    )  # fmt: skip


def _first(found: Template) -> Say:
    right, *others = found.cases
    told = [case for case in others if case.variation is not None]
    if not told:
        return say(f"With {right.name} the likeliest first token is ", token(right.top[0].name), ".")
    far = max(told, key=lambda case: case.variation or 0)
    near = min(told, key=lambda case: case.variation or 0)
    return say(
        f"The first token's distribution moves least from {right.name}'s with {near.name}, total variation ",
        strong(f"{near.variation:.1%}"), f", and most with {far.name}, ", strong(f"{far.variation:.1%}"), ".",
    )  # fmt: skip


def _table(cases: tuple[Case, ...]) -> Table:
    columns = (
        Column("prompt"), Column("tokens", "count"), Column("entropy", "nats"),
        Column("total variation", "share"), Column("KL from the first", "nats"),
        Column("end at the start", "share"), Column("largest end", "share"), Column("ended at", "count"),
        Column("answer ended by"), Column("note"),
    )  # fmt: skip
    rows = tuple(
        (
            case.name, case.prompt_tokens, case.entropy, case.variation, case.divergence, case.ends[0],
            max(case.ends), len(case.answer.ids) if case.answer.reason == "end_token" else None,
            case.answer.reason.replace("_", " "), "; ".join(case.notes) or None,
        )
        for case in cases
    )  # fmt: skip
    return Table("How the question was put", columns, rows)
