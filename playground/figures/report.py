"""A chart of a lab's report: lines or bars, in the page's colours and units."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from playground.figures.look import Palette, axis, empty, layout, legend, mixed, palette, unit
from playground.figures.words import literal
from playground.findings.report import Axis, Chart, Series
from playground.findings.written import written

_MOST_TICKS = 10  # places named one by one
_LEAST_SHARE = 0.01  # an axis of shares goes up to this at least: below it, all is flat
_NEAR = 0.07  # of an axis: a tick closer than this to its neighbour has no room for its number
_PER_SECOND = "per second"
_LONGEST = 14  # characters of a line of a name below a bar; the label has all of it
_SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "x")


def chart(found: Chart, *, dark: bool = False) -> go.Figure:
    """The figure of a chart. Places that have names stand in a row, in the order in which they come.

    Series of one role have its colour, each paler than the one before, and marks of another shape. A value
    that is None is a gap. Labels write numbers as the report's tables do.
    """
    colours = palette(dark)
    places = list(dict.fromkeys(x for series in found.series for x in series.x))
    if not places:
        return empty("Nothing is measured yet.", colours)
    named = found.kind == "bars" or any(isinstance(place, str) for place in places)
    at = {place: float(index) for index, place in enumerate(places)} if named else None
    values = [value for series in found.series for value in series.y if value is not None]
    size, scale = _scale(found.y, values)
    traces = []
    for number, series in enumerate(found.series):
        before = [each.role for each in found.series[:number]].count(series.role)
        colour = mixed(getattr(colours, series.role), colours.surface, min(0.6, 0.3 * before))
        traces.append(_trace(found, series, colour, before, at, scale))
    drawn = [value * scale for value in values]
    if found.kind == "bars":
        return go.Figure(traces, layout=_lying(found, places, size, drawn, colours))
    x, y = _places(found.x, places, named, colours), _values(found.y, size, drawn, colours)
    return go.Figure(traces, layout=_upright(found, x, y, size, colours))


def _upright(found: Chart, x: dict[str, Any], y: dict[str, Any], size: str, colours: Palette) -> go.Layout:
    many = len(found.series) > 1
    return layout(
        colours,
        height=280,
        margin={"l": 52, "r": 16, "t": 44 if many else 26, "b": 44},
        hovermode="closest",
        showlegend=many,
        legend=legend(y=1.1),
        xaxis=x,
        yaxis=y,
        annotations=[unit(_titled(found.y.name, size), colours, x=0, xanchor="left", xshift=-46)],
    )


def _lying(
    found: Chart, places: Sequence[Any], size: str, values: Sequence[float], colours: Palette
) -> go.Layout:
    """Bars lie, so that their names can be read on a narrow screen too: the first on top."""
    names = [_short(written(place, found.x.unit)) for place in places]
    longest = max(len(line) for name in names for line in name.split("<br>"))
    many = len(found.series) > 1
    title = {"text": _titled(found.y.name, size), "font": {"size": 11}, "standoff": 6}
    return layout(
        colours,
        height=len(places) * (16 + 18 * len(found.series)) + 44 + (30 if many else 8),
        margin={"l": 14 + 7 * min(longest, _LONGEST), "r": 24, "t": 30 if many else 8, "b": 44},
        barmode="group",
        bargap=0.35,
        hovermode="closest",
        showlegend=many,
        legend=legend(traceorder="normal"),
        xaxis={**_values(found.y, size, values, colours), "title": title},
        yaxis=axis(
            colours, showgrid=False, tickvals=list(range(len(places))), ticktext=names,
            range=[len(places) - 0.5, -0.5],
        ),
    )  # fmt: skip


def _trace(
    found: Chart, series: Series, colour: str, before: int, at: dict[Any, float] | None, scale: float
) -> go.Scatter | go.Bar:
    shared: dict[str, Any] = {
        "name": literal(series.name),
        "x": [at[x] if at is not None else x for x in series.x],
        "y": [None if y is None else y * scale for y in series.y],
        "customdata": [
            [literal(written(x, found.x.unit)), literal(written(y, found.y.unit))]
            for x, y in zip(series.x, series.y, strict=True)
        ],
        "hovertemplate": f"{literal(series.name)}<br>{literal(found.x.name)} %{{customdata[0]}}: "
                         "<b>%{customdata[1]}</b><extra></extra>",
    }  # fmt: skip
    if found.kind == "bars":
        shared |= {"x": shared["y"], "y": shared["x"]}
        return go.Bar(**shared, orientation="h", marker={"color": colour, "line": {"width": 0}})
    return go.Scatter(
        **shared,
        mode="lines+markers",
        connectgaps=False,
        cliponaxis=False,
        line={"color": colour, "width": 2, "dash": "dash" if series.dashed else "solid"},
        marker={"color": colour, "size": 7, "symbol": _SHAPES[before % len(_SHAPES)]},
    )


def _places(x: Axis, places: Sequence[Any], named: bool, colours: Palette) -> dict[str, Any]:
    told: dict[str, Any] = {"title": {"text": literal(x.name), "font": {"size": 11}, "standoff": 6}}
    if named:
        texts = [_short(written(place, x.unit)) for place in places]
        step = -(-len(places) // 24)
        told |= {"tickvals": list(range(0, len(places), step)), "ticktext": texts[::step],
                 "range": [-0.5, len(places) - 0.5]}  # fmt: skip
    else:
        if len(places) <= _MOST_TICKS:
            named_ones = _apart(sorted(places), log=x.log)
            told |= {"tickvals": named_ones,
                     "ticktext": [literal(written(place, x.unit)) for place in named_ones]}  # fmt: skip
        else:
            room = 0.02 * (max(places) - min(places))
            told["nticks"] = 8
            if not x.log:
                told["range"] = [min(places) - room, max(places) + room]  # no number before the first place
        told["type"] = "log" if x.log else "linear"
    return axis(colours, showgrid=False, **told)


def _apart(places: Sequence[float], *, log: bool) -> list[float]:
    """The places whose numbers have room, from the largest down."""
    at = [math.log(place) if log and places[0] > 0 else place for place in places]
    near = _NEAR * (at[-1] - at[0])
    kept = [len(places) - 1]
    for index in range(len(places) - 2, -1, -1):
        if at[kept[-1]] - at[index] >= near:
            kept.append(index)
    return [places[index] for index in reversed(kept)]


def _values(y: Axis, size: str, values: Sequence[float], colours: Palette) -> dict[str, Any]:
    told: dict[str, Any] = {"nticks": 5, "tickformat": ",~g"}
    if y.unit == "share":
        told["tickformat"] = ",.0%" if size == "%" else ",~%"
    if y.log:
        told |= {"type": "log", "dtick": 1, "tickformat": "~s" if y.unit != "share" else "~%"}
    else:
        told["range"] = _from_zero(values, _LEAST_SHARE if y.unit == "share" else 0.0)
    return axis(colours, **told)


def _from_zero(values: Sequence[float], least: float) -> list[float]:
    """A range that holds 0 and all values, with room above them, and reaches `least` at least.

    Left to itself, plotly makes a range of rounding errors where all values are next to nothing.
    """
    low, high = min((0.0, *values)), max((least, *values))
    if low == high:
        return [0.0, 1.0]
    room = 0.06 * (high - low)
    return [low - room if low < 0 else 0.0, high + room if high > 0 else 0.0]


def _scale(y: Axis, values: Sequence[float]) -> tuple[str, float]:
    """The unit of the axis for its largest value, and what a value is multiplied by for it."""
    largest = max((abs(value) for value in values), default=0.0)
    if y.unit == "seconds":
        return ("s", 1.0) if largest >= 1 else ("ms", 1000.0)
    if y.unit == "bytes":
        sizes = ("B", "KB", "MB", "GB")
        power = 0
        while power < 3 and largest >= 1024 ** (power + 1):
            power += 1
        return sizes[power], 1 / 1024**power
    if y.unit == "share":
        return ("%" if largest >= 0.05 else "fine %"), 1.0
    return {"nats": "nats", "per_s": _PER_SECOND}.get(y.unit, ""), 1.0


def _titled(name: str, size: str) -> str:
    wanted = size.removeprefix("fine ")
    told = not wanted or wanted == "%" or wanted in name.split() or (size == _PER_SECOND and "/s" in name)
    return literal(name if told else f"{name}, {wanted}")


def _short(text: str) -> str:
    """A name in two lines at most."""
    lines = textwrap.wrap(text, _LONGEST, max_lines=2, placeholder="…")
    return "<br>".join(literal(line) for line in lines)
