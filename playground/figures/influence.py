"""Which tokens mattered for a choice: a bar per token before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from playground.figures.look import Palette, axis, empty, layout, palette, thinned, unit
from playground.figures.words import literal, percent
from playground.findings.inside import Influence

_DWARFS = 5  # times the second: so much longer is a bar that goes on past the axis


def influence(found: Influence, texts: Sequence[str] = (), *, dark: bool = False) -> go.Figure:
    """Scores by position: above zero (blue) they made the token likelier, below (amber) less likely. The
    shares of a rollout have no sign. One bar that would dwarf all others is cut, and says what it comes to.

    texts   visible forms of the tokens, by position
    """
    colours = palette(dark)
    if not found.scores:
        return empty("No token stands before it.", colours)
    signed = found.method != "rollout"
    places = list(range(len(found.scores)))
    names = [literal(texts[place]) if place < len(texts) else "" for place in places]
    marks = thinned(len(places), 48)
    cut = _dwarfing(found.scores)
    told = [f"{score:+.3f} nats".replace("-", "−") if signed else percent(score) for score in found.scores]
    return go.Figure(
        go.Bar(
            x=places,
            y=list(found.scores),
            width=0.8,
            marker={"color": [colours.model if score >= 0 else colours.choice for score in found.scores],
                    "line": {"width": 0}},
            customdata=[[name, literal(words)] for name, words in zip(names, told, strict=True)],
            hovertemplate="position %{x} <b>%{customdata[0]}</b><br>%{customdata[1]}<extra></extra>",
        ),
        layout=layout(
            colours,
            height=280,
            margin={"l": 48 if signed else 64, "r": 12, "t": 24, "b": 84},
            meta={"least_width": min(900, 60 + 13 * len(marks))},
            xaxis=axis(colours, showgrid=False, ticks="", range=[-0.6, len(places) - 0.4], tickangle=-60,
                       tickvals=marks, ticktext=[_short(names[place]) or str(place) for place in marks]),
            yaxis=axis(colours, nticks=8, zeroline=True, zerolinecolor=colours.line,
                       range=_span(found.scores, cut), tickformat="~g" if signed else "~p"),
            annotations=[
                unit("nats of the raw logprob" if signed else "share", colours, x=0, xanchor="left",
                     xshift=-44 if signed else -58),
                *([] if cut is None else [_beyond(found.scores, cut, literal(told[cut]), colours)]),
            ],
            showlegend=False,
        ),
    )  # fmt: skip


def _dwarfing(scores: Sequence[float]) -> int | None:
    """The place of the one score beside which no other could be seen. Position 0 often is it."""
    by_size = sorted(range(len(scores)), key=lambda place: -abs(scores[place]))
    sizes = [abs(scores[place]) for place in by_size[:2]]
    return by_size[0] if len(sizes) == 2 and 0 < _DWARFS * sizes[1] < sizes[0] else None


def _span(scores: Sequence[float], cut: int | None) -> list[float]:
    """Both ends of the axis: zero, all scores but the cut one, and some room."""
    shown = [score for place, score in enumerate(scores) if place != cut]
    least, most = min(0.0, *shown, 0.0), max(0.0, *shown, 0.0)
    if cut is not None and scores[cut] > 0:
        most += 0.5 * (most - least)
    elif cut is not None:
        least -= 0.5 * (most - least)
    room = 0.08 * (most - least) or 1.0
    return [least - room * (least < 0), most + room * (most > 0 or least == 0)]


def _beyond(scores: Sequence[float], cut: int, told: str, colours: Palette) -> dict[str, Any]:
    """What the cut bar comes to, beside its end."""
    up, left = scores[cut] > 0, cut < len(scores) / 2
    return {"x": cut, "xanchor": "left" if left else "right", "xshift": 12 if left else -12,
            "yref": "paper", "y": 1 if up else 0, "yanchor": "top" if up else "bottom",
            "text": f"{'↑' if up else '↓'} {told}, cut here", "showarrow": False,
            "font": {"size": 11, "color": colours.ink}}  # fmt: skip


def _short(name: str) -> str:
    return name if len(name) <= 12 or "&" in name else name[:11] + "…"
