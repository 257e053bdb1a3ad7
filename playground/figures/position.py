"""One token at two positions: what its query looks like at both, and its score by distance."""

from __future__ import annotations

import plotly.graph_objects as go

from playground.figures.look import Palette, axis, empty, layout, legend, palette, unit
from playground.findings.inside import PositionLook


def positions(found: PositionLook, *, dark: bool = False) -> go.Figure:
    """Above, the numbers of the query at both positions (of the positions' own vectors, for a model with a
    table of them); below, for rotary models, the score of the token with itself by distance."""
    colours = palette(dark)
    rows = found.table if found.kind == "learned" and found.table else found.queries
    if not rows:
        return empty("This model adds nothing for positions.", colours)
    what = "position vector" if rows is found.table else "query"
    names = [f"{what} at {place:,}" for place in found.positions]
    figure = go.Figure()
    for row, name, colour in zip(rows, names, (colours.model, colours.choice), strict=False):
        figure.add_trace(
            go.Scatter(
                name=name,
                x=list(range(len(row))),
                y=list(row),
                mode="lines",
                line={"color": colour, "width": 1.5},
                hovertemplate=f"{name}, number %{{x}}: %{{y:.3f}}<extra></extra>",
            )
        )
    both = bool(found.scores)
    figure.update_layout(_layout(found, colours, both, what))
    if both:
        figure.add_trace(
            go.Scatter(
                name="score by distance",
                x=list(range(len(found.scores))),
                y=list(found.scores),
                xaxis="x2",
                yaxis="y2",
                mode="lines+markers" if len(found.scores) <= 60 else "lines",
                line={"color": colours.end, "width": 1.5},
                marker={"color": colours.end, "size": 4},
                hovertemplate="%{x:,} positions apart: score %{y:.3f}<extra></extra>",
                showlegend=False,
            )
        )
    return figure


def _layout(found: PositionLook, colours: Palette, both: bool, what: str) -> go.Layout:
    more = {}
    notes = [unit(f"numbers of the {what}", colours, x=1, xanchor="right")]
    if both:
        far = max(1, len(found.scores) - 1)
        more = {
            "xaxis2": axis(colours, anchor="y2", range=[-0.02 * far, 1.02 * far], tickformat=",d",
                           nticks=8, showgrid=False),
            "yaxis2": axis(colours, domain=[0, 0.36], anchor="x2", nticks=4),
        }  # fmt: skip
        notes.append(
            unit(
                "q · k ÷ √"
                + f"{len(found.queries[0])} with the same token, by how many positions it lies back",
                colours,
                x=0,
                xanchor="left",
            )
            | {"y": 0.38}
        )
    width = len(found.queries[0]) if found.queries else len(found.table[0])
    return layout(
        colours,
        height=420 if both else 260,
        margin={"l": 44, "r": 12, "t": 28, "b": 26},
        legend=legend(),
        xaxis=axis(colours, range=[-0.5, width - 0.5], nticks=9, showgrid=False, anchor="y"),
        yaxis=axis(colours, domain=[0.54, 1] if both else [0, 1], nticks=5, zeroline=True,
                   zerolinecolor=colours.line),
        annotations=notes,
        **more,
    )  # fmt: skip
