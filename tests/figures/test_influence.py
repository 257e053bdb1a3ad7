"""Which tokens mattered: a snapshot, signs, the bar that dwarfs all others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playground.figures.influence import influence
from playground.findings.inside import Influence
from tests.figures.snapshots import check
from tests.ui.fake_engine import HOSTILE

FOUND = Influence(
    position=4,
    token_id=9,
    method="input x gradient",
    scores=(0.5, -0.25, 0.0, 0.125),
    steps=1,
    total=None,
    gap=None,
    dtype="float32",
)
TEXTS = ["<|im_start|>", "␣sea", "$x$", "␣unbelievable"]
ROLLOUT = replace(FOUND, method="rollout", scores=(0.97, 0.01, 0.015, 0.005), steps=0)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(dark: bool) -> None:
    check(influence(FOUND, TEXTS, dark=dark), "influence_dark" if dark else "influence_light")


def test_bars_stand_at_their_position_in_the_colour_of_their_sign() -> None:
    (bars,) = influence(FOUND, TEXTS).data
    assert (list(bars.x), list(bars.y)) == ([0, 1, 2, 3], [0.5, -0.25, 0.0, 0.125])
    assert list(bars.marker.color) == ["#2b4acb", "#a85505", "#2b4acb", "#2b4acb"]
    assert [list(told) for told in bars.customdata] == [
        ["&lt;|im_start|&gt;", "+0.500 nats"],
        ["␣sea", "−0.250 nats"],
        ["&#36;x&#36;", "+0.000 nats"],
        ["␣unbelievable", "+0.125 nats"],
    ]


def test_all_bars_are_within_the_axis_where_none_dwarfs_the_others() -> None:
    figure = influence(FOUND, TEXTS)
    low, high = figure.layout.yaxis.range
    assert low < -0.25 < 0.5 < high
    assert len(figure.layout.annotations) == 1


def test_a_bar_that_dwarfs_all_others_is_cut_and_says_so() -> None:
    figure = influence(ROLLOUT, TEXTS)
    low, high = figure.layout.yaxis.range
    assert (low, figure.data[0].y[0]) == (0, 0.97)
    assert 0.015 < high < 0.05
    assert [note.text for note in figure.layout.annotations] == ["share", "↑ 97.0&#37;, cut here"]


def test_shares_have_no_sign() -> None:
    (bars,) = influence(ROLLOUT, TEXTS).data
    assert set(bars.marker.color) == {"#2b4acb"}
    assert bars.customdata[2][1] == "1.5&#37;"


def test_a_cut_bar_may_go_down() -> None:
    figure = influence(replace(FOUND, scores=(0.1, -5.0, 0.0, 0.2)), TEXTS)
    low, high = figure.layout.yaxis.range
    assert -1 < low < 0 < 0.2 < high < 1
    assert figure.layout.annotations[1].text == "↓ −5.000 nats, cut here"


@pytest.mark.parametrize("scores", [(0.5,), (0.0, 0.0), (-1.0,), (1.0, 0.0)])
def test_few_or_no_scores_have_an_axis(scores: tuple[float, ...]) -> None:
    low, high = influence(replace(FOUND, scores=scores)).layout.yaxis.range
    assert low <= min(0, *scores, 0) <= max(0, *scores, 0) <= high
    assert low < high


def test_names_are_thinned() -> None:
    axis = influence(replace(FOUND, scores=(0.1,) * 500), ["a"] * 500).layout.xaxis
    assert 20 < len(axis.tickvals) == len(axis.ticktext) <= 48


def test_without_a_token_there_is_a_sentence() -> None:
    figure = influence(replace(FOUND, scores=()))
    assert not figure.data
    assert figure.layout.annotations[0].text == "No token stands before it."


@pytest.mark.parametrize("text", HOSTILE)
def test_b38_no_sign_with_a_meaning_to_plotly_is_left(text: str) -> None:
    for found in (FOUND, ROLLOUT):
        figure = influence(found, [text] * 4)
        shown = [
            *figure.layout.xaxis.ticktext,
            *[each for told in figure.data[0].customdata for each in told],
        ]
        for words in shown:
            assert not set(words) & set("<>$%")
