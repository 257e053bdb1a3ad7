"""What lab template found, told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.experiments.answers import SHADE, lane
from playground.findings.report import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Part,
    Quote,
    Say,
    Series,
    Strips,
    Table,
    say,
    strong,
    token,
)
from playground.findings.written import share

if TYPE_CHECKING:
    from playground.experiments.template import Case, Template


def report(found: Template) -> tuple[Block, ...]:
    cases = found.cases
    return (
        _first(found),
        _ended(cases),
        *(say(text) for text in found.left_out),
        *(() if found.right else (_reference(cases[0]),)),
        *((_moved(cases),) if len(cases) > 1 else ()),
        _ends(cases),
        _starts(cases),
        _answers(cases),
        Strips("The answers, token by token", tuple(lane(case.name, case.answer) for case in cases), SHADE),
        Quote("Prompts, word for word", tuple((_noted(case), case.text) for case in cases)),
        Quote("Answers, word for word", tuple((case.name, case.answer.text) for case in cases)),
    )


def _first(found: Template) -> Say:
    right, *others = found.cases
    told = [case for case in others if case.variation is not None]
    if not told:
        return say(f"With {_called(right)} the likeliest first token is ", token(right.top[0].name), ".")
    far = max(told, key=lambda case: case.variation or 0)
    near = min(told, key=lambda case: case.variation or 0)
    least = () if near is far else (
        f", the most of all; {_called(near)} moves ", strong(share(near.variation or 0)), ", the least",
    )  # fmt: skip
    return say(
        f"Against {_called(right)}, {_called(far)} moves ", strong(share(far.variation or 0)),
        " of the first token's probability to other tokens", *least, ".",
    )  # fmt: skip


def _called(case: Case) -> str:
    """The name of a case in a sentence."""
    names = {"own template": "the model's own template", "no template": "raw text",
             "start token twice": "a doubled start token"}  # fmt: skip
    return names.get(case.name, case.name)


def _reference(first: Case) -> Say:
    """What distances are from where that is not the model's own template."""
    return say(
        "The model's own template is not among these prompts: distances are from that of ",
        strong(_called(first)), ", which need not be the best for it.",
    )  # fmt: skip


def _ended(cases: tuple[Case, ...]) -> Say:
    """Which answers the model ended by itself, and which of those at once."""
    empty = [_called(case) for case in cases if _by_itself(case) and len(case.answer.ids) == 1]
    ended = [_called(case) for case in cases if _by_itself(case) and len(case.answer.ids) > 1]
    ran = [_called(case) for case in cases if not _by_itself(case)]
    told = [
        (ended, "it ended its answer by itself"),
        (empty, "it ended before a word"),
        (ran, "it had not ended at the limit"),
    ]
    parts: list[str | Part] = []
    for names, what in told:
        if names:
            parts += ["; with " if parts else "With ", strong(_listed(names)), f" {what}"]
    return say(*parts, ".")


def _by_itself(case: Case) -> bool:
    return case.answer.reason == "end_token"


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _moved(cases: tuple[Case, ...]) -> Chart:
    first, others = cases[0], cases[1:]
    bars = Series("moved", tuple(c.name for c in others), tuple(c.variation for c in others))
    note = f"Total variation, raw, from {_called(first)}: the probability that moved to other tokens."
    x, y = Axis("prompt", "text"), Axis("probability moved", "share")
    return Chart("How far the first token's distribution moves", "bars", x, y, (bars,), note)


def _ends(cases: tuple[Case, ...]) -> Chart:
    names = tuple(case.name for case in cases)
    series = (
        Series("as first token", names, tuple(case.ends[0] for case in cases), "open"),
        Series("largest in the answer", names, tuple(max(case.ends) for case in cases), "end"),
    )
    x, y = Axis("prompt", "text"), Axis("chance of an end token", "share")
    return Chart("Whether the answer can end", "bars", x, y, series, "Raw, all end tokens together.")


def _starts(cases: tuple[Case, ...]) -> Table:
    columns = [Column("prompt"), Column("entropy", "nats"), Column("KL", "nats")]
    for place in ("first", "second", "third")[: max(len(case.top) for case in cases)]:
        columns += [Column(place, "token"), Column("chance", "share")]
    rows = tuple(
        (case.name, case.entropy, case.divergence, *_likeliest(case, (len(columns) - 3) // 2))
        for case in cases
    )
    note = (
        "The likeliest first tokens, raw; entropy and KL in nats. KL: from the distribution of "
        f"{_called(cases[0])} to this one."
    )
    return Table("The first token", tuple(columns), rows, note)


def _likeliest(case: Case, count: int) -> list[Cell]:
    cells: list[Cell] = [cell for first in case.top[:count] for cell in (first.name, first.prob)]
    return cells + [None] * (2 * count - len(cells))


def _answers(cases: tuple[Case, ...]) -> Table:
    columns = (
        Column("prompt"), Column("prompt tokens", "count"), Column("answer tokens", "count"),
        Column("ended by"),
    )  # fmt: skip
    rows = tuple(
        (case.name, case.prompt_tokens, len(case.answer.ids), case.answer.reason.replace("_", " "))
        for case in cases
    )
    return Table("Prompts and answers", columns, rows)


def _noted(case: Case) -> str:
    return f"{case.name} ({'; '.join(case.notes)})" if case.notes else case.name
