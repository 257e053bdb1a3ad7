"""The logit lens: a snapshot, blocks from below, the chosen token's ring and rank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playground.figures.lens import lens
from playground.findings.inside import Lens, LensRow, LensToken
from tests.figures.snapshots import check
from tests.ui.fake_engine import HOSTILE


def row(layer: int, tokens: list[tuple[int, str, float]], rank: int) -> LensRow:
    listed = tuple(LensToken(*token, place + 1) for place, token in enumerate(tokens))
    return LensRow(layer, listed, LensToken(7, "␣Paris", 0.00002, rank), 2.0, 0.5)


FOUND = Lens(
    position=4,
    rows=(
        row(0, [(1, "is", 0.5), (2, "$x$", 0.25)], 4000),
        row(1, [(3, "%{z}", 0.125), (7, "␣Paris", 0.0625)], 2),
        row(2, [(7, "␣Paris", 0.9999), (5, "␣unbelievable", 0.00001)], 1),
    ),
    error=1e-6,
)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(dark: bool) -> None:
    check(lens(FOUND, dark=dark), "lens_dark" if dark else "lens_light")


def test_blocks_go_up_from_the_embedding_to_the_output() -> None:
    figure = lens(FOUND)
    heat, ranks = figure.data
    assert list(heat.y) == list(ranks.y) == [0, 1, 2]
    assert figure.layout.yaxis.range[0] < figure.layout.yaxis.range[1]
    assert list(figure.layout.yaxis.ticktext) == ["embedding", "block 1", "output"]
    assert [list(each) for each in heat.z] == [[0.5, 0.25], [0.125, 0.0625], [0.9999, 0.00001]]
    assert (heat.zmin, heat.zmax) == (0, 1)


def test_cells_are_short_and_labels_are_whole() -> None:
    heat, _ = lens(FOUND).data
    assert heat.text[2][1] == "␣unbelieva…"
    assert list(heat.customdata[2][1]) == ["output", "␣unbelievable", "&lt;0.01&#37;"]


def test_the_chosen_token_is_ringed_where_it_is_listed_and_ranked_everywhere() -> None:
    figure = lens(FOUND)
    assert [(ring.x0 + ring.x1, ring.y0 + ring.y1) for ring in figure.layout.shapes] == [(4, 2), (2, 4)]
    ranks = figure.data[1]
    assert list(ranks.x) == [4000, 2, 1]
    assert figure.layout.xaxis2.type == "log"
    low, high = figure.layout.xaxis2.range
    assert 10**low < 1 < 4000 < 10**high


def test_without_a_chosen_token_there_is_no_rank() -> None:
    figure = lens(replace(FOUND, rows=tuple(replace(each, chosen=None) for each in FOUND.rows)))
    assert list(figure.data[1].x) == [None] * 3
    assert not figure.layout.shapes


def test_many_blocks_are_named_thinned_with_both_ends() -> None:
    figure = lens(replace(FOUND, rows=tuple(row(layer, [(1, "a", 0.5)], 3) for layer in range(33))))
    assert list(figure.layout.yaxis.ticktext) == [
        "embedding", "block 5", "block 10", "block 15", "block 20", "block 25", "block 30", "output",
    ]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_b38_no_sign_with_a_meaning_to_plotly_is_left(text: str) -> None:
    heat, ranks = lens(replace(FOUND, rows=(row(0, [(1, text, 0.5)], 3),))).data
    for shown in (heat.text[0][0], *heat.customdata[0][0], *ranks.customdata[0]):
        assert not set(shown) & set("<>$%")
