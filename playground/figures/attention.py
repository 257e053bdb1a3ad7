"""Who looks at whom: one head's attention, or the mean of several, over the tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from playground.figures.look import axis, empty, layout, palette, scale, thinned, unit
from playground.figures.words import literal
from playground.findings.inside import AttentionMap

_LEAST = 360  # pixels of a side
_MARKS = (0, 0.05, 0.25, 0.5, 1)  # weights on the colour bar
_CELL = 13  # pixels that a token's name needs


def head_map(found: AttentionMap, texts: Sequence[str] = (), *, dark: bool = False) -> go.Figure:
    """A row per position that looks, a column per position looked at; colour is the weight from 0 to 1,
    by its square root, so that faint weights are seen beside a strong one. Row and column 0 are at
    the top left.

    texts   visible forms of the tokens, by position

    Cells that a row cannot see (what comes later, or lies outside the window) are blank. The width in pixels
    under which the names would overlap is `layout.meta["least_width"]`.
    """
    colours = palette(dark)
    length = len(found.weights)
    if not length:
        return empty("There is no token to show.", colours)
    names = [_name(place, texts) for place in range(length)]
    seen = [_seen(row, place, found.window) for place, row in enumerate(found.weights)]
    marks = thinned(length, 40)
    named = {"tickvals": marks, "ticktext": [names[place] for place in marks], "ticks": "", "showgrid": False}
    side = max(_LEAST, min(720, 90 + _CELL * length))
    return go.Figure(
        go.Heatmap(
            z=[[None if weight is None else math.sqrt(weight) for weight in row] for row in seen],
            x=list(range(length)),
            y=list(range(length)),
            customdata=[[[name, weight] for name, weight in zip(names, row, strict=True)] for row in seen],
            text=[[name] * length for name in names],
            hovertemplate="<b>%{text}</b> looks at <b>%{customdata[0]}</b><br>weight %{customdata[1]:.3~f}"
                          "<extra></extra>",
            colorscale=scale(dark, texts=False),
            zmin=0,
            zmax=1,
            hoverongaps=False,
            colorbar={"thickness": 8, "outlinewidth": 0, "len": 1, "x": 1.01, "xpad": 4, "ypad": 0,
                      "tickvals": [math.sqrt(mark) for mark in _MARKS],
                      "ticktext": [f"{mark:g}" for mark in _MARKS],
                      "tickfont": {"size": 11, "color": colours.mute}},
        ),
        layout=layout(
            colours,
            height=side,
            margin={"l": 96, "r": 44, "t": 24, "b": 84},
            meta={"least_width": min(560, 140 + _CELL * len(marks))},
            xaxis=axis(colours, **named, range=[-0.5, length - 0.5], tickangle=-60),
            yaxis=axis(colours, **named, range=[length - 0.5, -0.5]),
            annotations=[unit("weight", colours, x=1, xanchor="right", xshift=42, y=1, yshift=4)],
        ),
    )  # fmt: skip


def _seen(row: Sequence[float], place: int, window: int | None) -> list[float | None]:
    first = 0 if window is None else max(0, place - window + 1)
    return [weight if first <= other <= place else None for other, weight in enumerate(row)]


def _name(place: int, texts: Sequence[str]) -> str:
    text = literal(texts[place]) if place < len(texts) else ""
    short = text if len(text) <= 12 or "&" in text else text[:11] + "…"
    return f"{short} {place}".strip()
