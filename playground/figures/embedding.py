"""Words on a map, by the first two principal components of their embeddings."""

from __future__ import annotations

import plotly.graph_objects as go

from playground.figures.look import axis, layout, palette, unit
from playground.figures.words import literal, percent
from playground.findings.inside import EmbeddingMap


def word_map(found: EmbeddingMap, *, dark: bool = False) -> go.Figure:
    """A point and a name per word; hollow where the word is several tokens and their mean is drawn. Both axes
    have the same scale, so that distances on the map can be compared."""
    colours = palette(dark)
    single = [len(point.ids) == 1 for point in found.points]
    points = go.Scatter(
        x=[point.x for point in found.points],
        y=[point.y for point in found.points],
        text=[literal(point.word) for point in found.points],
        customdata=[
            [literal(_nearest(found, place)), "1 token" if single[place] else f"{len(point.ids)} tokens"]
            for place, point in enumerate(found.points)
        ],
        mode="markers+text",
        textposition="top center",
        textfont={"size": 12, "color": colours.ink},
        marker={
            "size": 8,
            "color": [colours.model if one else colours.surface for one in single],
            "line": {"color": colours.model, "width": 1.5},
        },
        cliponaxis=False,
        hovertemplate="<b>%{text}</b>, %{customdata[1]}<br>%{customdata[0]}<extra></extra>",
    )
    first, second = found.explained
    below = {"text": literal(f"first component, {percent(first)} of the spread"),
             "font": {"size": 11, "color": colours.mute}, "standoff": 6}  # fmt: skip
    return go.Figure(
        points,
        layout=layout(
            colours,
            height=440,
            margin={"l": 40, "r": 40, "t": 34, "b": 34},
            xaxis=axis(colours, nticks=6, title=below),
            yaxis=axis(colours, nticks=6, scaleanchor="x", scaleratio=1),
            annotations=[unit(literal(f"second component, {percent(second)}"), colours, x=0, xanchor="left")],
            showlegend=False,
        ),
    )  # fmt: skip


def _nearest(found: EmbeddingMap, place: int) -> str:
    """The word that points most the same way in the full space."""
    others = [other for other in range(len(found.points)) if other != place]
    if not others:
        return ""
    best = max(others, key=lambda other: found.cosines[place][other])
    return f"nearest here: {found.points[best].word}, cosine {found.cosines[place][best]:.2f}"
