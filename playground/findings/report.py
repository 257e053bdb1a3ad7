"""What a lab measured, and how it is told: sentences, tables, charts and strips of tokens, as frozen data.

A report is made from the findings alone, so whatever shows one (the page, the terminal) shows the same
numbers. Text of a model is marked as such, to reach a page as text and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from playground.trace import ModelInfo

VERSION = 1

# How a number is written. Shares are in [0, 1], times in seconds, sizes in bytes, nats as they are.
Unit = Literal[
    "text", "token", "count", "number", "share", "seconds", "bytes", "nats", "per_s", "price", "yes"
]
Cell = str | int | float | bool | None  # None: there is no value, and a dash stands for it


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a sentence."""

    text: str
    kind: Literal["plain", "strong", "token"] = "plain"  # token: text of a model, in its visible form


@dataclass(frozen=True, slots=True)
class Say:
    """A sentence that the numbers make true."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    unit: Unit = "text"


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]  # as many cells as columns
    note: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    name: str
    unit: Unit = "number"
    log: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart, or one colour of bars."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]  # None: a gap
    role: Literal["model", "choice", "open", "end"] = "model"  # its colour, with the page's meaning
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    kind: Literal["lines", "bars"]
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chip:
    """A token in a strip."""

    token_id: int
    text: str  # visible form
    shade: float = 0.0  # in [0, 1]: how warm it is coloured
    mark: Literal["", "forced", "parted", "end", "cut"] = ""
    told: str = ""  # what a pointer on it says


@dataclass(frozen=True, slots=True)
class Lane:
    name: str
    chips: tuple[Chip, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Strips:
    """Runs of tokens below each other."""

    title: str
    lanes: tuple[Lane, ...]
    shade: str = ""  # what the colour means, from calm to warm
    note: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """Text word for word: a prompt or an answer."""

    title: str
    texts: tuple[tuple[str, str], ...]  # (name, text)


Block = Say | Table | Chart | Strips | Quote


@dataclass(frozen=True, slots=True)
class LabResult:
    """One run of a lab: what was asked, what was found, and what to know about the measuring."""

    version: int
    lab: str  # its name
    model: ModelInfo
    options: Any  # the lab's own, a frozen dataclass
    found: Any  # the lab's own findings, a frozen dataclass
    complete: bool  # False: it was stopped, and `found` is what was measured until then
    seconds: float  # that all of it took
    others: int  # most lanes of other people in a pass with ours: above 0, times are not the machine's alone
    created: str  # UTC, ISO 8601


def say(*parts: str | Part) -> Say:
    """A sentence of plain text and of `strong(…)` or `token(…)` parts."""
    return Say(tuple(Part(part) if isinstance(part, str) else part for part in parts))


def strong(text: str) -> Part:
    return Part(text, "strong")


def token(text: str) -> Part:
    """A token's visible form."""
    return Part(text, "token")


def table_of(chart: Chart) -> Table:
    """The points of a chart, a row for each place on its x axis; a series that has none there has a gap."""
    places = list(dict.fromkeys(x for series in chart.series for x in series.x))
    lines = [dict(zip(series.x, series.y, strict=True)) for series in chart.series]
    return Table(
        f"{chart.title} ({chart.y.name})",
        (Column(chart.x.name, chart.x.unit), *(Column(series.name, chart.y.unit) for series in chart.series)),
        tuple((x, *(line.get(x) for line in lines)) for x in places),
        chart.note,
    )
