"""One token at two positions: what its query and key are at both, and its score by distance."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from playground.figures.look import Palette, axis, empty, layout, legend, palette, unit
from playground.findings.inside import PositionLook, Row

_PANEL, _BETWEEN = 120, 52  # pixels of height
_ABOVE, _BELOW = 48, 26
Panel = tuple[str, tuple[Row, ...]]  # what it shows, and its numbers: one row for each position, or one alone


def positions(found: PositionLook, *, dark: bool = False) -> go.Figure:
    """Panels below one another: the numbers of the positions' own vectors, for a model with a table of them,
    those of the query and of the key at both positions, and the score of the token with itself by distance;
    what `found` lacks is left out."""
    colours = palette(dark)
    panels = _panels(found)
    if not panels:
        return empty("This model adds nothing for positions.", colours)
    height = len(panels) * _PANEL + (len(panels) - 1) * _BETWEEN
    figure = go.Figure(
        layout=layout(
            colours,
            height=height + _ABOVE + _BELOW,
            margin={"l": 44, "r": 12, "t": _ABOVE, "b": _BELOW},
            legend=legend(y=1, yref="container", yanchor="top"),
            barmode="group",
            bargap=0.25,
            bargroupgap=0,
        )
    )
    for place, (what, rows) in enumerate(panels):
        number = "" if place == 0 else str(place + 1)
        at = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        top = 1 - place * (_PANEL + _BETWEEN) / height
        bottom = max(0.0, top - _PANEL / height)
        figure.add_traces(
            _bars(found, what, rows, at, place == 0, colours)
            if len(rows) == 2
            else [_line(rows[0], at, colours)]
        )
        far = len(rows[0]) - 1
        room = 0.7 if len(rows) == 2 else 0.02 * max(1, far)
        figure.update_layout(
            {
                f"xaxis{number}": axis(colours, anchor=f"y{number}", range=[-room, far + room],
                                       tickformat=",d", nticks=9, showgrid=False),
                f"yaxis{number}": axis(colours, anchor=f"x{number}", domain=[bottom, top],
                                       nticks=4, zeroline=True, zerolinecolor=colours.line),
            }
        )  # fmt: skip
        figure.add_annotation(unit(what, colours, x=0, xanchor="left", y=top, yshift=3))
    return figure


def _panels(found: PositionLook) -> list[Panel]:
    panels: list[Panel] = [("numbers of the position’s vector", found.table)] if found.table else []
    if found.queries and found.keys:
        panels += [("numbers of the query", found.queries), ("numbers of the key", found.keys)]
    if found.scores:
        panels.append(("score q · k, scaled, by positions that the key lies back", (found.scores,)))
    return panels


def _bars(
    found: PositionLook, what: str, rows: tuple[Row, ...], at: dict[str, Any], named: bool, colours: Palette
) -> list[go.Bar]:
    """One group per number; what the position does not change stands side by side, equally high."""
    return [
        go.Bar(
            name=f"at position {place:,}",
            x=list(range(len(row))),
            y=list(row),
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"{what} at position {place:,}<br>no. %{{x}}: %{{y:.3f}}<extra></extra>",
            showlegend=named,
            **at,
        )
        for place, row, colour in zip(found.positions, rows, (colours.model, colours.choice), strict=True)
    ]


def _line(scores: Row, at: dict[str, Any], colours: Palette) -> go.Scatter:
    return go.Scatter(
        name="score by distance",
        x=list(range(len(scores))),
        y=list(scores),
        mode="lines+markers" if len(scores) <= 60 else "lines",
        line={"color": colours.end, "width": 1.5},
        marker={"color": colours.end, "size": 4},
        hovertemplate="%{x:,} positions back: score %{y:.3f}<extra></extra>",
        showlegend=False,
        **at,
    )
