"""A heat map of a sweep: how open the model was at each token, and where the text changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from playground.comparing.partings import SETTINGS
from playground.figures.look import Palette, axis, empty, layout, palette, ramp, ticks, unit
from playground.figures.words import literal, percent
from playground.findings import Sweep

_CELL = 56  # pixels that a cell needs for its text
_MOST_TEXTS = 32  # columns; the cells of more are colours alone
_LONGEST = 8  # characters of a token in its cell; the label has all of them


def sweep(found: Sweep, *, of: Literal["raw", "final"] = "raw", dark: bool = False) -> go.Figure:
    """A row per value of the setting, a column per token; colour is the entropy in nats, raw or final.

    A cell shows its token, if there are not too many; what comes after the end of an answer is blank. An
    amber edge stands where a row's text first differs from that of the row above. The width in pixels under
    which the texts would overlap is `layout.meta["least_width"]`.
    """
    colours = palette(dark)
    columns = max(map(len, found.ids), default=0)
    if not columns:
        return empty("There is no token to show.", colours)
    texted = columns <= _MOST_TEXTS
    heat = found.entropy if of == "raw" else found.final_entropy
    name = SETTINGS[found.setting]
    values = [f"{value:g}" for value in found.values]
    figure = go.Figure(
        go.Heatmap(
            x=list(range(1, columns + 1)),
            y=list(range(len(values))),
            z=[_padded(row, columns) for row in heat],
            text=[_padded([literal(_short(text)) for text in row], columns, "") for row in found.texts],
            customdata=[
                _padded([[value, literal(text), literal(percent(prob))] for text, prob in
                         zip(texts, probs, strict=True)], columns)
                for value, texts, probs in zip(values, found.texts, found.probs, strict=True)
            ],
            texttemplate="%{text}" if texted else "",
            textfont={"size": 11, "color": colours.ink},
            hovertemplate=f"{name} %{{customdata[0]}}, token %{{x}}<br><b>%{{customdata[1]}}</b> raw "
                          f"%{{customdata[2]}}<br>{of} entropy %{{z:.2f}} nats<extra></extra>",
            colorscale=ramp(dark),
            zmin=0,
            zmax=_most_nats(heat),
            xgap=1 if texted else 0,
            ygap=1,
            hoverongaps=False,
            colorbar={"thickness": 8, "outlinewidth": 0, "len": 1, "x": 1.01, "xpad": 4, "ypad": 0,
                      "nticks": 3, "tickfont": {"size": 11, "color": colours.mute}},
        ),
        layout=layout(
            colours,
            margin={"l": 52, "r": 44, "t": 24, "b": 22},
            height=46 + 28 * len(values),
            meta={"least_width": 96 + _CELL * columns if texted else 0},
            xaxis=axis(colours, showgrid=False, ticks="", **ticks(columns),
                       range=[0.46, columns + 0.5]),
            yaxis=axis(colours, showgrid=False, ticks="", tickvals=list(range(len(values))),
                       ticktext=values, range=[len(values) - 0.5, -0.5]),
            annotations=[unit(name, colours, x=0, xanchor="left", xshift=-48),
                         unit(f"{of} entropy, nats", colours, x=1, xanchor="right", xshift=42)],
            shapes=list(_edges(found, colours)),
        ),
    )  # fmt: skip
    return figure


def _padded(row: Sequence[Any], columns: int, blank: Any = None) -> list[Any]:
    return [*row, *[blank] * (columns - len(row))]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _most_nats(heat: tuple[tuple[float, ...], ...]) -> int:
    """Where the colours end: the same in most sweeps, so that two of them can be compared."""
    return max(4, math.ceil(max(max(row, default=0.0) for row in heat)))


def _edges(found: Sweep, colours: Palette) -> Iterator[dict[str, Any]]:
    """The left edge of the cell in which a row first differs from the row above."""
    for row, index in enumerate(found.changed):
        if index is not None:
            yield {"type": "line", "x0": index + 0.5, "x1": index + 0.5, "y0": row - 0.5, "y1": row + 0.5,
                   "line": {"color": colours.choice, "width": 3}}  # fmt: skip
