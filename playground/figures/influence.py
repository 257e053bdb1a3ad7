"""Which tokens mattered for a choice: a bar per token before it."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from playground.figures.look import axis, empty, layout, palette, thinned, unit
from playground.figures.words import literal, percent
from playground.findings.inside import Influence


def influence(found: Influence, texts: Sequence[str] = (), *, dark: bool = False) -> go.Figure:
    """Scores by position: above zero (blue) they made the token likelier, below (amber) less likely. The
    shares of a rollout have no sign.

    texts   visible forms of the tokens, by position
    """
    colours = palette(dark)
    if not found.scores:
        return empty("No token stands before it.", colours)
    signed = found.method != "rollout"
    places = list(range(len(found.scores)))
    names = [literal(texts[place]) if place < len(texts) else "" for place in places]
    marks = thinned(len(places), 48)
    told = [f"{score:+.3f} nats".replace("-", "−") if signed else percent(score) for score in found.scores]
    return go.Figure(
        go.Bar(
            x=places,
            y=list(found.scores),
            width=0.8,
            marker={"color": [colours.model if score >= 0 else colours.choice for score in found.scores],
                    "line": {"width": 0}},
            text=[""] * len(places),
            customdata=[[name, literal(words)] for name, words in zip(names, told, strict=True)],
            hovertemplate="position %{x} <b>%{customdata[0]}</b><br>%{customdata[1]}<extra></extra>",
        ),
        layout=layout(
            colours,
            height=280,
            margin={"l": 48, "r": 12, "t": 24, "b": 84},
            meta={"least_width": min(900, 60 + 13 * len(marks))},
            xaxis=axis(colours, showgrid=False, ticks="", range=[-0.6, len(places) - 0.4], tickangle=-60,
                       tickvals=marks, ticktext=[_short(names[place]) or str(place) for place in marks]),
            yaxis=axis(colours, nticks=5, zeroline=True, zerolinecolor=colours.line,
                       tickformat="~g" if signed else ".0%"),
            annotations=[unit("nats of the raw logprob" if signed else "share", colours, x=0, xanchor="left",
                              xshift=-44)],
            showlegend=False,
        ),
    )  # fmt: skip


def _short(name: str) -> str:
    return name if len(name) <= 12 or "&" in name else name[:11] + "…"
