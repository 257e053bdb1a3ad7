"""Who looks at whom: one head's attention, or the mean of several, over the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from playground.figures.look import axis, empty, layout, mixed, palette, thinned
from playground.figures.words import literal
from playground.findings.inside import AttentionMap

_SIDES = (220, 520)  # pixels of the map's side, at least and at most
_CELL = 13  # pixels that a token's name needs
_LEFT, _BELOW = 96, 88  # pixels of the names
_LONGEST = 12  # characters of a name beside the map; the label has all of them
_STOPS = 12


def head_map(found: AttentionMap, texts: Sequence[str] = (), *, dark: bool = False) -> go.Figure:
    """A row per position that looks, a column per position looked at, the first at the top left; colour is
    the square root of the weight, since most weights are small and a few are near 1.

    texts   visible forms of the tokens, by position

    Cells that a row cannot see (what comes later, or lies outside the window) are blank. The map is square;
    the width in pixels that it needs is `layout.meta["least_width"]`.
    """
    colours = palette(dark)
    length = len(found.weights)
    if not length:
        return empty("There is no token to show.", colours)
    # An axis of names lends them to the label of each cell; as a text per cell they would be megabytes.
    names = [_name(place, texts) for place in range(length)]
    side = min(_SIDES[1], max(_SIDES[0], _CELL * length))
    marks = thinned(length, side // _CELL)
    named = {"type": "category", "tickvals": marks, "ticktext": [_short(names[place]) for place in marks],
             "ticks": "", "showgrid": False, "constrain": "domain"}  # fmt: skip
    return go.Figure(
        go.Heatmap(
            z=_seen(found),
            x=names,
            y=names,
            hovertemplate="<b>%{y}</b> looks at <b>%{x}</b><br>weight %{z:.3~f}<extra></extra>",
            colorscale=_by_root(dark),
            zmin=0,
            zmax=1,
            hoverongaps=False,
            colorbar={"orientation": "h", "thickness": 8, "outlinewidth": 0, "lenmode": "pixels", "len": 180,
                      "x": 0, "xanchor": "left", "xpad": 0,
                      "y": 1, "yref": "container", "yanchor": "top", "ypad": 0,
                      "tickvals": [0, 0.1, 0.5, 1], "ticktext": ["0", "0.1", "0.5", "weight 1"],
                      "tickfont": {"size": 11, "color": colours.mute}},
        ),
        layout=layout(
            colours,
            height=side + 38 + _BELOW,
            margin={"l": _LEFT, "r": 12, "t": 38, "b": _BELOW},
            meta={"least_width": side + _LEFT + 12},
            xaxis=axis(colours, **named, range=[-0.5, length - 0.5], tickangle=-60, constraintoward="left"),
            yaxis=axis(colours, **named, range=[length - 0.5, -0.5], scaleanchor="x"),
        ),
    )  # fmt: skip


def _seen(found: AttentionMap) -> npt.NDArray[np.float32]:
    """The weights, NaN where a row cannot see. An array is told in a tenth of the time of lists."""
    places = np.arange(len(found.weights))
    back = places[:, None] - places
    seen = (back >= 0) & (back < (found.window or len(places)))
    return np.where(seen, np.array(found.weights, np.float32), np.float32("nan"))


def _by_root(dark: bool) -> list[list[Any]]:
    """From the ground to the model's blue, even in the square root of the weight."""
    ground, full = palette(dark).surface, palette(dark).model
    shares = [place / (_STOPS - 1) for place in range(_STOPS)]
    return [[share * share, mixed(ground, full, share)] for share in shares]


def _name(place: int, texts: Sequence[str]) -> str:
    return f"{literal(texts[place]) if place < len(texts) else 'token'} · {place}"


def _short(name: str) -> str:
    text, place = name.rsplit(" · ", 1)
    short = text if len(text) <= _LONGEST or "&" in text else text[: _LONGEST - 1] + "…"
    return f"{short} {place}"
