"""One head's map: a snapshot, blanks, names of tokens, size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from playground.figures.attention import head_map
from playground.findings.inside import AttentionMap
from tests.figures.snapshots import check
from tests.ui.fake_engine import HOSTILE

FOUND = AttentionMap(
    layer=2,
    head=1,
    window=None,
    weights=((1.0, 0.0, 0.0), (0.75, 0.25, 0.0), (0.5, 0.0, 0.5)),
)
TEXTS = ["<|im_start|>", "␣sea", "␣unbelievable"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(dark: bool) -> None:
    check(head_map(FOUND, TEXTS, dark=dark), "attention_dark" if dark else "attention_light")


def test_rows_look_at_columns_and_not_ahead() -> None:
    (heat,) = head_map(FOUND, TEXTS).data
    blank = float("nan")
    np.testing.assert_array_equal(heat.z, [[1, blank, blank], [0.75, 0.25, blank], [0.5, 0, 0.5]])
    assert list(heat.x) == list(heat.y) == ["&lt;|im_start|&gt; · 0", "␣sea · 1", "␣unbelievable · 2"]
    assert heat.hoverongaps is False
    figure = head_map(FOUND, TEXTS)
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first row on top
    assert figure.layout.yaxis.scaleanchor == "x"


def test_what_lies_outside_the_window_is_blank() -> None:
    (heat,) = head_map(replace(FOUND, window=2)).data
    assert np.isnan(heat.z).tolist() == [[False, True, True], [False, False, True], [True, False, False]]


def test_colour_grows_with_the_root_of_the_weight() -> None:
    (heat,) = head_map(FOUND).data
    assert (heat.zmin, heat.zmax) == (0, 1)
    places = [place for place, _ in heat.colorscale]
    steps = np.diff(np.sqrt(places))
    assert np.allclose(steps, steps[0])
    assert (heat.colorscale[0][1], heat.colorscale[-1][1]) == ("#ffffff", "#2b4acb")


def test_equal_tokens_are_told_apart_by_their_position() -> None:
    (heat,) = head_map(FOUND, ["the", "the", "the"]).data
    assert len(set(heat.x)) == 3


@pytest.mark.parametrize(("length", "marks"), [(3, 3), (40, 40), (41, 21), (512, 40)])
def test_names_are_thinned_where_they_would_overlap(length: int, marks: int) -> None:
    rows = tuple((1 / length,) * length for _ in range(length))
    figure = head_map(AttentionMap(0, 0, None, rows), ["a"] * length)
    for side in (figure.layout.xaxis, figure.layout.yaxis):
        assert len(side.tickvals) == len(side.ticktext) <= marks
        assert side.ticktext[1] == f"a {side.tickvals[1]}"
    plot = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    assert plot / len(figure.layout.yaxis.tickvals) >= 13
    assert figure.layout.meta["least_width"] == plot + figure.layout.margin.l + figure.layout.margin.r


def test_a_map_of_512_positions_is_small() -> None:
    rows = tuple((1 / 512,) * 512 for _ in range(512))
    assert len(head_map(AttentionMap(0, 0, None, rows), ["␣token"] * 512).to_json()) < 2_000_000


def test_without_a_token_there_is_a_sentence() -> None:
    figure = head_map(replace(FOUND, weights=()))
    assert not figure.data
    assert figure.layout.annotations[0].text == "There is no token to show."


@pytest.mark.parametrize("text", HOSTILE)
def test_b38_no_sign_with_a_meaning_to_plotly_is_left(text: str) -> None:
    figure = head_map(FOUND, [text] * 3)
    (heat,) = figure.data
    for shown in (*heat.x, *heat.y, *figure.layout.xaxis.ticktext, *figure.layout.yaxis.ticktext):
        assert not set(shown) & set("<>$%")
