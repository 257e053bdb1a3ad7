"""How the lab kv-cache tells what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.experiments.answers import SHADE, lane
from playground.experiments.timing import left_out
from playground.findings.report import (
    Axis,
    Block,
    Chart,
    Column,
    Part,
    Say,
    Series,
    Strips,
    Table,
    say,
    strong,
)
from playground.findings.written import counted, plain, share, times, written

if TYPE_CHECKING:
    from playground.experiments.kv_cache import KvCache, Match


def report(found: KvCache) -> tuple[Block, ...]:
    blocks: list[Block] = [_pace_sentence(found)]
    blocks += [_match_sentence(match) for match in found.matches]
    if found.not_available:
        blocks.append(say(found.not_available))
    blocks += [_chart(found), _table(found)]
    if found.matches:
        blocks.append(_matches(found.matches))
    blocks += [_strips(match) for match in found.matches if match.parted is not None]
    return tuple(blocks)


def _pace_sentence(found: KvCache) -> Say:
    longest = found.paces[-1]
    parts: list[str | Part] = [
        f"After {counted(longest.length, 'token')} a step takes ",
        strong(written(longest.on_s, "seconds")),
        " with the cache and ",
        strong(written(longest.off_s, "seconds")),
        " without",
    ]
    if longest.off_s > longest.on_s:
        parts += [", ", strong(times(longest.off_s / longest.on_s)), " as long"]
    parts.append(f": it reads {longest.read_off:,} tokens again instead of one new.")
    return say(*parts)


def _match_sentence(match: Match) -> Say:
    where = f"In {match.dtype}" + ("" if match.own else ", in a copy made for this")
    differ = "their logits are no longer stored here"
    if match.logit is not None:
        differ = (
            f"no logit differs by more than {plain(match.logit, 2)}" if match.logit else "no logit differs"
        )
    if match.parted is None:
        return say(f"{where}, both answers are ", strong("the same"), f", and {differ}.")
    return say(
        f"{where}, the answers ",
        strong(f"part at token {match.parted + 1}"),
        f", though {differ}: rounding chose where the two likeliest tokens were "
        f"{'–' if match.gap is None else share(match.gap)} apart.",
    )


def _chart(found: KvCache) -> Chart:
    x = tuple(float(pace.length) for pace in found.paces)
    return Chart(
        "Time of one step",
        "lines",
        Axis("tokens before it", "count"),
        Axis("time of a step", "seconds"),
        (
            Series("cache on", x, tuple(pace.on_s for pace in found.paces), "choice"),
            Series("cache off", x, tuple(pace.off_s for pace in found.paces), "open", dashed=True),
        ),
        left_out(found.left_out, ()),
    )


def _table(found: KvCache) -> Table:
    columns = (
        Column("tokens before", "count"),
        Column("step, on", "seconds"),
        Column("step, off", "seconds"),
        Column("read, on", "count"),
        Column("read, off", "count"),
        Column("held by the cache", "bytes"),
    )
    rows = tuple(
        (pace.length, pace.on_s, pace.off_s, pace.read_on, pace.read_off, pace.held) for pace in found.paces
    )
    return Table("What a step reads and holds", columns, rows)


def _matches(matches: tuple[Match, ...]) -> Table:
    columns = (
        Column("dtype"),
        Column("same tokens", "yes"),
        Column("steps compared", "count"),
        Column("largest logit difference", "number"),
        Column("largest probability difference", "number"),
        Column("tokens read, on", "count"),
        Column("tokens read, off", "count"),
    )
    rows = tuple(
        (
            match.dtype + ("" if match.own else " (a copy)"),
            match.parted is None,
            match.compared,
            match.logit,
            match.prob,
            match.read_on,
            match.read_off,
        )
        for match in matches
    )
    note = "Without the cache every step reads the prompt and the answer so far again."
    return Table("One answer, both ways", columns, rows, note)


def _strips(match: Match) -> Strips:
    assert match.parted is not None
    lanes = tuple(
        lane(name, answer, {match.parted: "parted"})
        for name, answer in (("cache on", match.on), ("cache off", match.off))
    )
    return Strips(f"Where they part, in {match.dtype}", lanes, SHADE)
