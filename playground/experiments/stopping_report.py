"""What lab stopping found, told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from playground.experiments.answers import SHADE, Mark, lane
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
from playground.findings.written import counted, share
from playground.text.visible import visible_text

if TYPE_CHECKING:
    from playground.experiments.answers import Answer
    from playground.experiments.stopping import Ending, Stopped, Stopping

FREE, IGNORED, BANNED = "free to end", "end ignored", "end banned"
_ROLES: dict[str, Literal["end", "choice", "open"]] = {FREE: "end", IGNORED: "choice", BANNED: "open"}


def report(found: Stopping) -> tuple[Block, ...]:
    blocks: list[Block] = [_first(found)]
    if found.ignored and found.banned:
        blocks.append(_past(found, found.ignored, found.banned))
    if found.stopped:
        blocks.append(_matched(found.stopped))
    if found.no_string:
        blocks.append(say(found.no_string))
    blocks += [_chart(found), _likeliest(found), _table(found)]
    if found.stopped:
        blocks.append(_held(found.stopped))
    answers = _answers(found)
    lanes = tuple(lane(name, answer, _ends(found, answer)) for name, answer in answers)
    blocks.append(Strips("The answers, token by token", lanes, SHADE))
    blocks.append(Quote("Word for word", tuple((name, answer.text) for name, answer in answers)))
    return tuple(blocks)


def _answers(found: Stopping) -> list[tuple[str, Answer]]:
    every = (
        (FREE, found.free.answer),
        (f"cut at {counted(found.cut_at, 'token')}", found.cut),
        ("stop string", found.stopped.answer if found.stopped else None),
        (IGNORED, found.ignored.answer if found.ignored else None),
        (BANNED, found.banned.answer if found.banned else None),
    )
    return [(name, answer) for name, answer in every if answer is not None]


def _endings(found: Stopping) -> list[tuple[str, Ending]]:
    every = ((FREE, found.free), (IGNORED, found.ignored), (BANNED, found.banned))
    return [(name, ending) for name, ending in every if ending is not None]


def _first(found: Stopping) -> Say:
    free = found.free
    count, top = len(free.answer.ids), max(free.raw)
    if free.answer.reason == "end_token":
        before = f"; before, {share(max(free.raw[:-1]))} at most." if count > 1 else "."
        return say(
            "The model ended its answer at token ", strong(f"{count}"), " with ",
            token(free.answer.names[-1]), ". There it gave an end ", strong(share(free.raw[-1])), before,
        )  # fmt: skip
    return say(
        "The model did not end its answer within ", strong(counted(count, "token")),
        f": the chance of an end was largest at token {free.raw.index(top) + 1}, ", strong(share(top)), ".",
    )  # fmt: skip


def _past(found: Stopping, ignored: Ending, banned: Ending) -> Say:
    """What an answer does that is not allowed to end."""
    picked = len(_ends(found, ignored.answer))
    return say(
        f"Where an end token ends nothing, the model picked one {_often(picked)} and wrote ",
        strong(counted(len(ignored.answer.ids), "token")), "; where it is banned, ",
        strong(counted(len(banned.answer.ids), "token")), ". The limit stopped both."
        if {ignored.answer.reason, banned.answer.reason} == {"max_tokens"} else ".",
    )  # fmt: skip


def _often(number: int) -> str:
    return {0: "not once", 1: "once", 2: "twice"}.get(number, f"{number} times")


def _matched(stopped: Stopped) -> Say:
    if stopped.decided is None:
        return say("The stop string ", token(visible_text(stopped.string)), " did not come up again.")
    kept = sum(bool(step.held) for step in stopped.steps[: stopped.decided])
    told = "no text had to wait before that" if not kept else (
        f"after {kept} of the {stopped.decided} tokens before, text was held back that could have become it"
    )  # fmt: skip
    return say(
        "The stop string ", token(visible_text(stopped.string)), ", across a border of tokens, was ",
        "complete at token ", strong(f"{stopped.decided + 1}"), f"; {told}.",
    )  # fmt: skip


def _chart(found: Stopping) -> Chart:
    series = tuple(
        Series(name, _places(ending), ending.raw, _ROLES[name], dashed=name == IGNORED)
        for name, ending in reversed(_endings(found))  # the first lies on top, where they agree
    )
    note = "Raw, all end tokens together. The three are one until the first end." if len(series) > 1 else ""
    x, y = Axis("token", "count"), Axis("chance of an end token", "share")
    return Chart("Chance of the end, step by step", "lines", x, y, series, note)


def _places(ending: Ending) -> tuple[float, ...]:
    return tuple(float(index + 1) for index in range(len(ending.raw)))


def _table(found: Stopping) -> Table:
    columns = (
        Column("answer"), Column("tokens", "count"), Column("ended by"), Column("end tokens picked", "count"),
    )  # fmt: skip
    rows = tuple(
        (name, len(answer.ids), answer.reason.replace("_", " "), len(_ends(found, answer)))
        for name, answer in _answers(found)
    )
    return Table("What ended each", columns, rows)


def _likeliest(found: Stopping) -> Table:
    columns = (
        Column("answer"), Column("at token", "count"), Column("raw", "share"), Column("final", "share"),
    )  # fmt: skip
    rows = []
    for name, ending in _endings(found):
        top = max(ending.raw)
        where = ending.raw.index(top)
        rows.append((name, where + 1, top, ending.final[where]))
    note = (
        "The chance of all end tokens together. Raw: the model's own; final: in the distribution that the "
        "token was picked from, at temperature 0 all or nothing."
    )
    return Table("Where an end was likeliest", columns, tuple(rows), note)


def _held(stopped: Stopped) -> Table:
    rows = tuple(
        (index + 1, step.name, visible_text(step.shown) or None, visible_text(step.held) or None)
        for index, step in enumerate(stopped.steps)
    )
    columns = (
        Column("place", "count"), Column("token", "token"), Column("shown", "token"),
        Column("held back", "token"),
    )  # fmt: skip
    note = "As the engine let its text out."
    if stopped.decided is not None:
        note += " What is held back at the last token is never shown: the stop string, and what follows it."
    return Table("What was shown and held back", columns, rows, note)


def _ends(found: Stopping, answer: Answer) -> dict[int, Mark]:
    return {index: "end" for index, token_id in enumerate(answer.ids) if token_id in found.end_ids}
