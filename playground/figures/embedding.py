"""Words on a map, by the first two principal components of their embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from playground.figures.look import axis, layout, palette, unit
from playground.figures.words import literal, percent
from playground.findings.inside import EmbeddingMap, MapPoint

_PLOT = (760, 340)  # about as many pixels as the points have, to judge where names would meet
_LETTER, _LINE = 7, 15  # pixels of a name
_SIDES = {"top center": (0, -1), "bottom center": (0, 1), "middle right": (1, 0), "middle left": (-1, 0)}
Box = tuple[float, float, float, float]  # left, top, right, bottom


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
        textposition=_sides(found.points),
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


def _sides(points: Sequence[MapPoint]) -> list[str]:
    """Where the name of each point stands: where it meets least of the names before it and of all points."""
    xs, ys = [point.x for point in points], [point.y for point in points]
    pixels = min(_PLOT[0] / (max(xs) - min(xs) or 1), _PLOT[1] / (max(ys) - min(ys) or 1))
    dots = [(point.x * pixels, -point.y * pixels) for point in points]
    taken: list[Box] = [(x - 4, y - 4, x + 4, y + 4) for x, y in dots]
    chosen = []
    for point, (x, y) in zip(points, dots, strict=True):
        boxes = dict(_boxes(point.word, x, y))
        best = min(boxes, key=lambda side: sum(_overlap(boxes[side], other) for other in taken))
        taken.append(boxes[best])
        chosen.append(best)
    return chosen


def _boxes(word: str, x: float, y: float) -> Iterator[tuple[str, Box]]:
    width = _LETTER * len(word)
    for side, (right, down) in _SIDES.items():
        middle, line = x + right * (width / 2 + 7), y + down * (_LINE / 2 + 5)
        yield side, (middle - width / 2, line - _LINE / 2, middle + width / 2, line + _LINE / 2)


def _overlap(one: Box, other: Box) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, across) * max(0.0, down)
