"""How the KV cache grows with the tokens, and which part each message takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from playground.figures.look import Palette, axis, layout, legend, palette, unit
from playground.figures.words import literal
from playground.findings.inside import CacheLook

_UNITS = ("B", "KB", "MB", "GB", "TB")


def growth(found: CacheLook, parts: Sequence[tuple[str, int]] = (), *, dark: bool = False) -> go.Figure:
    """Bytes over tokens, a straight line: each token adds as much. The messages of this sequence are
    parts of it, in order; what the server set aside for them is the dotted line.

    parts   (name, tokens) of the messages, in order; together all tokens
    """
    colours = palette(dark)
    end = max(1, found.tokens)
    power, size = _unit(max(found.held, found.reserved or 0, found.bytes_per_token))
    figure = go.Figure()
    at = 0
    shades = (colours.model, colours.open, colours.end, colours.choice)
    for place, (name, tokens) in enumerate(parts):
        if not tokens:
            continue
        figure.add_trace(
            go.Scatter(
                name=literal(name),
                x=[at, at + tokens],
                y=[at * found.bytes_per_token / size, (at + tokens) * found.bytes_per_token / size],
                mode="lines",
                fill="tozeroy",
                line={"color": shades[place % len(shades)], "width": 2},
                customdata=[literal(f"{name}: {tokens:,} tokens")] * 2,
                hovertemplate="%{customdata}<br>at token %{x:,} %{y:.3~g} "
                + _UNITS[power]
                + "<extra></extra>",
            )
        )
        at += tokens
    held = (found.reserved or 0) / size
    return go.Figure(
        figure.data,
        layout=layout(
            colours,
            height=260,
            margin={"l": 56, "r": 12, "t": 40, "b": 34},
            legend=legend(),
            showlegend=len(parts) <= 8,
            xaxis=axis(colours, range=[0, end], nticks=8, tickformat=",d", showgrid=False,
                       title={"text": "tokens", "font": {"size": 11, "color": colours.mute}, "standoff": 4}),
            yaxis=axis(colours, nticks=5, tickformat="~g", rangemode="tozero"),
            annotations=[
                unit(_UNITS[power], colours, x=0, xanchor="right", xshift=-8),
                *([_reserved(held, _UNITS[power], colours)] if found.reserved else []),
            ],
            shapes=[{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": held, "y1": held,
                     "visible": bool(found.reserved),
                     "line": {"color": colours.mute, "width": 1.25, "dash": "dot"}}],
        ),
    )  # fmt: skip


def _reserved(held: float, unit: str, colours: Palette) -> dict[str, Any]:
    """What the dotted line means."""
    return {"x": 0, "xref": "paper", "xanchor": "left", "xshift": 6, "y": held, "yanchor": "top",
            "text": f"set aside: {held:.3g} {unit}", "showarrow": False,
            "font": {"size": 11, "color": colours.mute}}  # fmt: skip


def _unit(largest: int) -> tuple[int, float]:
    """The unit that suits `largest` bytes: (power of 1024, bytes)."""
    power = 0
    while largest >= 1024 ** (power + 1) and power < len(_UNITS) - 1:
        power += 1
    return power, 1024.0**power
