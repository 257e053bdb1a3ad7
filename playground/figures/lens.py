"""The logit lens: what the model would say after each block."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from playground.figures.look import axis, layout, palette, scale, unit
from playground.figures.words import literal, percent
from playground.findings.inside import Lens, LensRow

_ROW = 22  # pixels of a block
_LONGEST = 11  # characters of a token in its cell; the label has all of them


def lens(found: Lens, *, dark: bool = False) -> go.Figure:
    """Blocks from the embedding at the bottom to the output at the top: on the left the likeliest tokens of
    each, coloured by their probability and ringed where they are the chosen one; on the right the rank of the
    chosen token, where 1 is the likeliest.
    """
    colours = palette(dark)
    rows = found.rows
    columns = max(len(row.tokens) for row in rows)
    blocks = [_block(row.layer, len(rows)) for row in rows]
    cells = [[*row.tokens, *[None] * (columns - len(row.tokens))] for row in rows]
    figure = go.Figure(
        go.Heatmap(
            x=list(range(1, columns + 1)),
            y=list(range(len(rows))),
            z=[[None if cell is None else cell.prob for cell in row] for row in cells],
            text=[["" if cell is None else literal(_short(cell.text)) for cell in row] for row in cells],
            customdata=[
                [["", "", ""] if cell is None else
                 [block, literal(cell.text), literal(percent(cell.prob))] for cell in row]
                for block, row in zip(blocks, cells, strict=True)
            ],
            texttemplate="%{text}",
            textfont={"size": 11, "color": colours.ink},
            hovertemplate="%{customdata[0]}, likeliest no. %{x}<br><b>%{customdata[1]}</b> "
                          "%{customdata[2]}<extra></extra>",
            colorscale=scale(dark),
            zmin=0,
            zmax=1,
            xgap=2,
            ygap=2,
            showscale=False,
        )
    )  # fmt: skip
    figure.add_trace(_ranks(rows, blocks, colours.choice))
    most = max((row.chosen.rank for row in rows if row.chosen), default=1)
    every = 1 if len(rows) <= 16 else 5
    figure.update_layout(
        layout(
            colours,
            height=60 + _ROW * len(rows),
            margin={"l": 74, "r": 16, "t": 24, "b": 30},
            meta={"least_width": 640},
            xaxis=axis(colours, showgrid=False, ticks="", domain=[0, 0.66], range=[0.5, columns + 0.5],
                       tickvals=list(range(1, columns + 1))),
            xaxis2=axis(colours, type="log", domain=[0.71, 1], anchor="y", nticks=4, tickformat="~s",
                        range=[-0.08, math.log10(max(most, 10)) + 0.12]),
            yaxis=axis(colours, showgrid=False, ticks="", range=[-0.5, len(rows) - 0.5],
                       tickvals=[place for place in range(len(rows))
                                 if place in (0, len(rows) - 1) or place % every == 0],
                       ticktext=[block for place, block in enumerate(blocks)
                                 if place in (0, len(rows) - 1) or place % every == 0]),
            annotations=[unit("likeliest, by place", colours, x=0, xanchor="left", y=1, yshift=4),
                         unit("rank of the chosen token", colours, x=1, xanchor="right", y=1, yshift=4)],
            shapes=[_ring(place, column, colours.choice) for place, row in enumerate(rows)
                    for column, token in enumerate(row.tokens)
                    if row.chosen and token.token_id == row.chosen.token_id],
            showlegend=False,
        )
    )  # fmt: skip
    return figure


def _ranks(rows: tuple[LensRow, ...], blocks: list[str], colour: str) -> go.Scatter:
    return go.Scatter(
        x=[row.chosen.rank if row.chosen else None for row in rows],
        y=list(range(len(rows))),
        xaxis="x2",
        mode="lines+markers",
        line={"color": colour, "width": 1.75},
        marker={"color": colour, "size": 5},
        customdata=[
            [block, literal(percent(row.chosen.prob)) if row.chosen else ""]
            for block, row in zip(blocks, rows, strict=True)
        ],
        hovertemplate="%{customdata[0]}: rank %{x:,}, %{customdata[1]}<extra></extra>",
    )


def _block(layer: int, rows: int) -> str:
    return "embedding" if layer == 0 else "output" if layer == rows - 1 else f"block {layer}"


def _ring(place: int, column: int, colour: str) -> dict[str, object]:
    return {"type": "rect", "x0": column + 0.52, "x1": column + 1.48, "y0": place - 0.46, "y1": place + 0.46,
            "line": {"color": colour, "width": 2}}  # fmt: skip


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
