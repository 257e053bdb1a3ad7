"""How far a lane's distribution lies from the reference's, token by token."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from playground.figures.look import Palette, axis, empty, layout, legend, palette, ticks, unit
from playground.figures.words import literal, percent
from playground.findings import Divergence

_LEAST = 0.1  # nats that the axis shows at least, so that rounding does not look like a difference
_MANY = 80  # tokens; the dots of more would run into each other


def divergence(
    rows: Sequence[Divergence],
    texts: Sequence[str] = (),
    parts: int | None = None,
    *,
    dark: bool = False,
) -> go.Figure:
    """Kullback-Leibler divergence KL(reference ‖ lane) in nats, raw and final, over the shared tokens.

    rows   one per index that both lanes have
    texts  visible forms of the lane's tokens, by index; for labels alone
    parts  index of the first token that differs, marked by a line

    Where the lane cannot pick what the reference can, the final divergence is infinite: the line breaks, and
    a mark at the top stands instead, over a hatched bar for the share of the reference that the lane cut.
    """
    colours = palette(dark)
    if not rows:
        return empty("There is no token that both lanes have.", colours)
    places = [row.index + 1 for row in rows]
    names = [literal(texts[row.index]) if row.index < len(texts) else "" for row in rows]
    infinite = [1.0 if row.final is None else None for row in rows]
    lost = [row.lost or None for row in rows]
    cut = any(infinite) or any(lost)
    most = max(_LEAST, *(value or 0.0 for row in rows for value in (row.raw, row.final)))

    def line(name: str, values: list[float | None], colour: str, width: float, label: str) -> go.Scatter:
        return go.Scatter(
            name=name, x=places, y=values, text=names, mode="lines+markers", connectgaps=False,
            line={"color": colour, "width": width},
            marker={"color": colour, "size": width * (2 if len(rows) < _MANY else 1)},
            customdata=[literal(_nats(value)) for value in values],
            hovertemplate=f"{label}{name} %{{customdata}}<extra></extra>",
        )  # fmt: skip

    return go.Figure(
        [
            go.Bar(
                name="cut by the lane", x=places, y=lost, yaxis="y2", width=0.8, visible=cut,
                marker={"color": "rgba(0,0,0,0)", "line": {"width": 0},
                        "pattern": {"shape": "/", "fgcolor": colours.cut, "size": 6, "solidity": 0.3}},
                customdata=[literal(percent(row.lost)) for row in rows],
                hovertemplate="%{customdata} of the reference is cut here<extra></extra>",
            ),
            # The token is named once, with the line that always has a value.
            line("raw", [row.raw for row in rows], colours.open, 1.5, "<b>%{text}</b><br>"),
            line("final", [row.final for row in rows], colours.model, 1.75, ""),
            go.Scatter(
                name="final, infinite", x=places, y=infinite, yaxis="y2", mode="markers", visible=cut,
                marker={"color": colours.model, "symbol": "triangle-up", "size": 7},
                hovertemplate="final infinite<extra></extra>",
            ),
        ],
        layout=_layout(colours, parts, most, rows[-1].index + 1, cut),
    )  # fmt: skip


def _nats(value: float | None) -> str:
    if value is None:
        return "infinite"
    if 0 < value < 0.001:
        return "<0.001 nats"
    return f"{value:.3f} nats"


def _layout(colours: Palette, parts: int | None, most: float, last: int, cut: bool) -> go.Layout:
    place = 0 if parts is None else parts + 1
    return layout(
        colours,
        margin={"l": 40, "r": 40, "t": 24, "b": 22},
        legend=legend(),
        hovermode="x unified",
        xaxis=axis(colours, showgrid=False, **ticks(last),
                   range=[0.5, last + 0.5], unifiedhovertitle={"text": "token %{x}"}),
        yaxis=axis(colours, range=[-0.03 * most, 1.08 * most], nticks=4, tickformat="~g"),
        yaxis2=axis(colours, overlaying="y", side="right", showgrid=False, range=[-0.03, 1.08],
                    tickvals=[0, 0.5, 1], tickformat=".0%", visible=cut),
        annotations=[unit("nats", colours, x=0, xanchor="right"),
                     unit("cut", colours, x=1, xanchor="left", visible=cut)],
        shapes=[{"type": "line", "x0": place, "x1": place, "yref": "paper", "y0": 0, "y1": 1,
                 "visible": parts is not None,
                 "line": {"color": colours.choice, "width": 1.5, "dash": "dot"}}],
        showlegend=True,
    )  # fmt: skip
