"""What lab stopping found, told."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from playground.experiments.stopping import Ending, Stopped, Stopping


def report(found: Stopping) -> tuple[Block, ...]:
    blocks: list[Block] = [_first(found)]
    if found.stopped:
        blocks.append(_matched(found.stopped))
    if found.no_string:
        blocks.append(say(found.no_string))
    blocks.append(_chart("Chance of the end, step by step", found.free))
    lanes = [lane("free to end", found.free.answer, _ends(found, found.free))]
    texts = [("free to end", found.free.answer.text)]
    if found.cut:
        lanes.append(lane(f"max_tokens {found.cut_at}", found.cut, note=found.cut.reason))
        texts.append((f"max_tokens {found.cut_at}", found.cut.text))
    if found.stopped:
        lanes.append(lane("stop string", found.stopped.answer, note=found.stopped.answer.reason))
        texts.append(("stop string", found.stopped.answer.text))
        blocks.append(_held(found.stopped))
    for name, ending in (("ignore_eos", found.ignored), ("end ids banned", found.banned)):
        if ending:
            blocks.append(_chart(f"Chance of the end with {name}", ending))
            lanes.append(lane(name, ending.answer, _ends(found, ending)))
            texts.append((name, ending.answer.text))
    blocks.append(Strips("The answers, token by token", tuple(lanes), SHADE))
    blocks.append(Quote("Word for word", tuple(texts)))
    return tuple(blocks)


def _first(found: Stopping) -> Say:
    free = found.free
    count, top = len(free.answer.ids), max(free.raw)
    where = free.raw.index(top) + 1
    if free.answer.reason == "end_token":
        return say(
            "The model ended its answer at token ", strong(f"{count}"), " with ",
            token(free.answer.names[-1]),
            "; there it gave an end ", strong(f"{free.raw[-1]:.1%}"), ", all end tokens together.",
        )  # fmt: skip
    return say(
        "The model did not end its answer within ", strong(f"{count}"), " tokens: the chance of an end was "
        "largest at token ", f"{where}, ", strong(f"{top:.1%}"), ".",
    )  # fmt: skip


def _matched(stopped: Stopped) -> Say:
    if stopped.decided is None:
        return say("The stop string ", token(stopped.string), " did not come up again.")
    kept = sum(bool(step.held) for step in stopped.steps[: stopped.decided])
    return say(
        "The stop string ", token(stopped.string), " was complete at token ",
            strong(f"{stopped.decided + 1}"),
        f"; text was held back after {kept} of the tokens before it, since it could have become the string.",
    )  # fmt: skip


def _chart(title: str, ending: Ending) -> Chart:
    steps = tuple(float(index + 1) for index in range(len(ending.raw)))
    series = (
        Series("raw", steps, ending.raw, "end"),
        Series("final", steps, ending.final, "choice", dashed=True),
    )
    return Chart(title, "lines", Axis("token", "count"), Axis("chance of an end id", "share"), series)


def _held(stopped: Stopped) -> Table:
    rows = tuple(
        (index + 1, step.name, step.shown or None, step.held or None)
        for index, step in enumerate(stopped.steps)
    )
    columns = (Column("token", "count"), Column("it", "token"), Column("shown"), Column("held back"))
    return Table("What was shown and held back", columns, rows)


def _ends(found: Stopping, ending: Ending) -> dict[int, Mark]:
    return {index: "end" for index, name in enumerate(ending.answer.names) if name in found.end_names}
