"""Figures of looks inside the model: snapshots, blanks, marks, literal texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest

from playground.figures.attention import head_map
from playground.figures.cache import growth
from playground.figures.embedding import word_map
from playground.figures.influence import influence
from playground.figures.lens import lens
from playground.figures.look import thinned
from playground.figures.position import positions
from playground.findings.inside import (
    AttentionMap,
    CacheLook,
    EmbeddingMap,
    Influence,
    Lens,
    LensRow,
    LensToken,
    MapPoint,
    PositionLook,
    RotaryPair,
)
from tests.figures.snapshots import check
from tests.ui.fake_engine import HOSTILE

TEXTS = ["<|im_start|>", "␣sea", "$x$", "%{z}"]
MAP = AttentionMap(
    0, 1, None, ((1.0, 0.0, 0.0, 0.0), (0.25, 0.75, 0.0, 0.0), (0.5, 0.25, 0.25, 0.0), (0.7, 0.1, 0.1, 0.1))
)
SEA, SUN, THE = (LensToken(id_, text, prob, rank) for id_, text, prob, rank in
                 ((7, "␣sea", 0.6, 1), (8, "␣sunshine-coast", 0.3, 2), (9, "the", 0.05, 12)))  # fmt: skip
LENS = Lens(
    3,
    (
        LensRow(0, (SUN, THE), replace(SEA, prob=1e-6, rank=2000), 5.0, 3.0),
        LensRow(1, (SUN, SEA), replace(SEA, prob=0.2, rank=2), 2.0, 1.0),
        LensRow(2, (SEA, SUN), SEA, 1.0, 0.0),
    ),
    2e-5,
)
WORDS = EmbeddingMap(
    "input",
    (
        MapPoint("king", (5,), 1.0, 0.5),
        MapPoint("queen", (6,), 0.9, -0.5),
        MapPoint("<b>", (7, 8), -1.9, 0.0),
    ),
    (0.6, 0.3),
    ((1.0, 0.7, 0.1), (0.7, 1.0, 0.2), (0.1, 0.2, 1.0)),
)
PLACES = PositionLook(
    "rotary", 7, "␣sea", 0, 1, (2, 9),
    (RotaryPair(0, 1.0, (2.0, 9.0)), RotaryPair(1, 0.01, (0.02, 0.09))),
    (0.1, 0.2, 0.3, 0.4), ((0.1, 0.2, 0.3, 0.4), (-0.1, 0.2, 0.2, 0.4)), ((1.0, 0.0, 0.0, 1.0),) * 2, (),
    (0.5, 0.4, -0.2),
)  # fmt: skip
MATTERED = Influence(4, 9, "input x gradient", (0.5, -0.25, 0.0, 1.5), 1, 2.0, 0.25, "float32")
HELD = CacheLook(30, 3, 64, "float32", 46_080, 46_080 * 40, 64 * 46_080, 40, 8192)
PARTS = [("system", 12), ("you", 20), ("nothing", 0), ("model", 8)]

FIGURES: dict[str, Callable[[bool], go.Figure]] = {
    "attention": lambda dark: head_map(MAP, TEXTS, dark=dark),
    "lens": lambda dark: lens(LENS, dark=dark),
    "words": lambda dark: word_map(WORDS, dark=dark),
    "positions": lambda dark: positions(PLACES, dark=dark),
    "influence": lambda dark: influence(MATTERED, TEXTS, dark=dark),
    "cache": lambda dark: growth(HELD, PARTS, dark=dark),
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(name: str, dark: bool) -> None:
    check(FIGURES[name](dark), f"{name}_{'dark' if dark else 'light'}")


def test_what_a_row_cannot_see_is_blank() -> None:
    (heat,) = head_map(MAP, TEXTS).data
    assert [row[1] for row in heat.customdata[1]] == [0.25, 0.75, None, None]
    assert list(heat.z[1]) == [0.5, 0.75**0.5, None, None]  # shades by the root
    (heat,) = head_map(replace(MAP, window=2), TEXTS).data
    assert list(heat.z[3]) == [None, None, 0.1**0.5, 0.1**0.5]
    figure = head_map(MAP)
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # row 0 on top


def test_a_long_map_thins_its_names() -> None:
    length = 300
    rows = tuple(
        tuple(1 / (place + 1) if other <= place else 0.0 for other in range(length))
        for place in range(length)
    )
    figure = head_map(AttentionMap(None, None, None, rows), ["x"] * length)
    assert len(figure.layout.xaxis.tickvals) <= 40
    assert figure.layout.meta["least_width"] <= 560
    assert thinned(3, 40) == [0, 1, 2]
    assert thinned(100, 40) == list(range(0, 100, 3))


def test_the_lens_rings_the_chosen_token_and_tells_its_rank() -> None:
    figure = lens(LENS)
    heat, ranks = figure.data
    assert list(ranks.x) == [2000, 2, 1]
    rings = [(ring.x0, ring.y0) for ring in figure.layout.shapes]
    assert rings == [(1.52, 0.54), (0.52, 1.54)]
    assert list(figure.layout.yaxis.ticktext) == ["embedding", "block 1", "output"]
    assert heat.text[0][0] == "␣sunshine-…"
    assert heat.customdata[0][0][1] == "␣sunshine-coast"
    assert figure.layout.xaxis2.type == "log"


def test_a_lens_without_a_chosen_token() -> None:
    rows = tuple(replace(row, chosen=None) for row in LENS.rows)
    figure = lens(replace(LENS, rows=rows))
    assert list(figure.data[1].x) == [None] * 3
    assert not figure.layout.shapes


def test_words_of_several_tokens_are_hollow() -> None:
    (points,) = word_map(WORDS).data
    colours = list(points.marker.color)
    assert colours[0] == colours[1] != colours[2]
    assert points.customdata[2][1] == "2 tokens"
    assert points.customdata[0][0] == "nearest here: queen, cosine 0.70"
    assert word_map(WORDS).layout.yaxis.scaleanchor == "x"


def test_names_of_near_words_stand_apart() -> None:
    near = (
        MapPoint("France", (1,), 0.0, 0.0),
        MapPoint("England", (2,), 0.01, 0.01),
        MapPoint("far", (3,), 5.0, 2.0),
    )
    (points,) = word_map(replace(WORDS, points=near)).data
    assert points.textposition[0] != points.textposition[1]
    assert points.textposition[2] == "top center"


def test_positions_of_a_table_show_the_table_and_none_say_so() -> None:
    learned = replace(PLACES, kind="learned", pairs=(), table=((1.0, 2.0), (3.0, 4.0)), scores=())
    figure = positions(learned)
    assert [list(line.y) for line in figure.data] == [[1.0, 2.0], [3.0, 4.0]]
    assert [line.name for line in figure.data] == ["position vector at 2", "position vector at 9"]
    nothing = positions(replace(PLACES, kind="none", queries=(), keys=(), pairs=(), before=(), scores=()))
    assert not nothing.data
    assert nothing.layout.annotations[0].text


def test_bars_have_the_colour_of_their_sign_and_shares_have_none() -> None:
    (bars,) = influence(MATTERED, TEXTS).data
    up, down, *_ = bars.marker.color
    assert up != down
    assert bars.customdata[1][1] == "−0.250 nats"
    (shares,) = influence(replace(MATTERED, method="rollout", scores=(0.5, 0.25, 0.25, 0.0))).data
    assert set(shares.marker.color) == {up}
    assert shares.customdata[0][1] == "50.0&#37;"
    assert not influence(replace(MATTERED, scores=())).data


def test_the_cache_grows_by_the_same_bytes_and_parts_meet() -> None:
    figure = growth(HELD, PARTS)
    assert [line.name for line in figure.data] == ["system", "you", "model"]
    assert [list(line.x) for line in figure.data] == [[0, 12], [12, 32], [32, 40]]
    ends = [end for line in figure.data for end in line.y]
    assert ends[1:-1:2] == ends[2::2]
    assert ends[-1] == pytest.approx(HELD.held / 1024**2)
    (reserved,) = figure.layout.shapes
    assert reserved.visible
    assert reserved.y0 == pytest.approx(64 * 46_080 / 1024**2)
    assert not growth(replace(HELD, reserved=None), PARTS).layout.shapes[0].visible


@pytest.mark.parametrize("text", HOSTILE)
def test_b38_no_sign_with_a_meaning_to_plotly_is_left(text: str) -> None:
    token = LensToken(1, text, 0.5, 1)
    for figure in (
        head_map(MAP, [text] * 4),
        lens(Lens(0, (LensRow(0, (token,), token, 1.0, 0.0), LensRow(1, (token,), token, 1.0, 0.0)), 0.0)),
        word_map(replace(WORDS, points=(MapPoint(text, (1,), 0.0, 1.0),) * 3)),
        influence(MATTERED, [text] * 4),
        growth(HELD, [(text, 40)]),
    ):
        for trace in figure.data:
            for shown in _texts([trace.text, trace.customdata, trace.name]):
                assert not set(shown) & set("<>$%"), shown
        for axis in (figure.layout.xaxis, figure.layout.yaxis):
            for shown in _texts(axis.ticktext):
                assert not set(shown) & set("<>$%"), shown


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for part in value for text in _texts(part)] if hasattr(value, "__iter__") else []
