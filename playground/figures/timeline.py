"""The timeline: what the model thought at each token of an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from playground.figures.look import Palette, axis, layout, legend, palette, unit
from playground.figures.words import literal, percent
from playground.trace import Candidate, TokenStep


def timeline(steps: Sequence[TokenStep], *, selected: int | None = None, dark: bool = False) -> go.Figure:
    """Probability of the chosen token, chance to end and entropy, over the answer.

    The probabilities (raw, 0 to 1) share the left axis, the entropy (raw, nats) has the right one. Tokens
    stand at their index, counted from 1, and are labelled by text, since two of them can look the same.
    `selected` is the index of the step that a line marks. Without steps it is the empty figure that a page
    fills by itself (ui/strip/timeline.js does there what stands here).
    """
    colours = palette(dark)
    places = [step.index + 1 for step in steps]
    names = [literal(_name(step)) for step in steps]

    def line(name: str, values: list[float], colour: str, says: str, **more: Any) -> go.Scatter:
        style = {"color": colour, "width": more.pop("width", 1.75), "dash": more.pop("dash", "solid")}
        return go.Scatter(
            name=name, x=places, y=values, text=names, mode="lines", line=style,
            hovertemplate=says + "<extra></extra>", **more,
        )  # fmt: skip

    figure = go.Figure(
        [
            line("entropy", [step.entropy for step in steps], colours.open, "entropy %{y:.2f} nats",
                 yaxis="y2", width=1.5),
            line("end here", [step.end_prob for step in steps], colours.end,
                 "chance to end here %{customdata}", dash="dot",
                 customdata=[literal(percent(step.end_prob)) for step in steps]),
            line("chosen token", [step.prob for step in steps], colours.model,
                 "<b>%{text}</b> raw %{customdata}",
                 customdata=[literal(percent(step.prob)) for step in steps]),
        ],
        layout=_layout(colours, selected, _most_nats(steps)),
    )  # fmt: skip
    if len(steps) == 1:  # a line of one point would be invisible
        figure.update_traces(mode="markers")
    return figure


def _most_nats(steps: Sequence[TokenStep]) -> int:
    """Where the entropy's axis ends: an even number, so that its middle is a whole one."""
    return max(4, 2 * math.ceil(max((step.entropy for step in steps), default=0.0) / 2))


def _name(step: TokenStep) -> str:
    chosen: Candidate | None = next(
        (each for each in step.candidates if each.token_id == step.token_id), None
    )
    return chosen.text if chosen is not None else step.text


def _layout(colours: Palette, selected: int | None, nats: int) -> go.Layout:
    place = 0 if selected is None else selected + 1
    return layout(
        colours,
        margin={"l": 40, "r": 34, "t": 24, "b": 22},
        legend=legend(traceorder="reversed"),
        hovermode="x unified",
        xaxis=axis(colours, showgrid=False, rangemode="normal", tickformat=",d", nticks=8,
                   unifiedhovertitle={"text": "token %{x}"}),
        yaxis=axis(colours, range=[-0.02, 1.04], tickvals=[0, 0.5, 1], tickformat=".0%"),
        yaxis2=axis(colours, overlaying="y", side="right", showgrid=False,
                    range=[-0.02 * nats, 1.04 * nats], tickvals=[0, nats // 2, nats]),
        annotations=[unit("nats", colours, x=1, xanchor="left")],
        shapes=[{"type": "line", "x0": place, "x1": place, "yref": "paper", "y0": 0, "y1": 1,
                 "visible": selected is not None,
                 "line": {"color": colours.ink, "width": 1.25, "dash": "dot"}}],
        showlegend=True,
    )  # fmt: skip
