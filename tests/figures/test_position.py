"""One token at two positions: a snapshot, panels by kind of model."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from playground.figures.position import positions
from playground.findings.inside import PositionLook, RotaryPair
from tests.figures.snapshots import check

FOUND = PositionLook(
    kind="rotary",
    token_id=5,
    text="␣sea",
    layer=1,
    head=0,
    positions=(3, 1200),
    pairs=(RotaryPair(0, 1.0, (3.0, 1200.0)), RotaryPair(1, 0.01, (0.03, 12.0))),
    before=(1.0, 2.0, 3.0, 4.0),
    queries=((1.0, -2.0, 3.0, 4.0), (0.5, 2.0, -3.0, 4.0)),
    keys=((0.25, 0.5, 0.75, 1.0), (-0.25, 0.5, 0.75, 1.0)),
    table=(),
    scores=(2.5, 1.5, -0.5),
)
LEARNED = replace(
    FOUND, kind="learned", pairs=(), before=(), scores=(), table=((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(dark: bool) -> None:
    check(positions(FOUND, dark=dark), "position_dark" if dark else "position_light")


def test_query_and_key_stand_at_both_positions_and_scores_by_distance() -> None:
    *bars, line = positions(FOUND).data
    assert [(list(bar.y), bar.xaxis) for bar in bars] == [
        ([1.0, -2.0, 3.0, 4.0], "x"),
        ([0.5, 2.0, -3.0, 4.0], "x"),
        ([0.25, 0.5, 0.75, 1.0], "x2"),
        ([-0.25, 0.5, 0.75, 1.0], "x2"),
    ]
    assert (list(line.x), list(line.y), line.xaxis) == ([0, 1, 2], [2.5, 1.5, -0.5], "x3")
    assert [bar.name for bar in bars if bar.showlegend] == ["at position 3", "at position 1,200"]
    assert positions(FOUND).layout.annotations[2].text.startswith("score q · k, scaled")


def test_panels_lie_below_one_another() -> None:
    layout = positions(FOUND).layout
    domains = [axis.domain for axis in (layout.yaxis, layout.yaxis2, layout.yaxis3)]
    assert domains[0][1] == 1
    assert domains[2][0] == pytest.approx(0)
    for above, below in pairwise(domains):
        assert below[1] < above[0]


def test_a_table_of_positions_is_shown_by_its_rows() -> None:
    figure = positions(LEARNED)
    assert [list(bar.y) for bar in figure.data[:2]] == [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    assert [note.text for note in figure.layout.annotations] == [
        "numbers of the position’s vector", "numbers of the query", "numbers of the key"
    ]  # fmt: skip
    assert len([bar for bar in figure.data if bar.showlegend]) == 2


def test_without_positions_there_is_a_sentence() -> None:
    figure = positions(replace(LEARNED, kind="none", table=(), queries=(), keys=()))
    assert not figure.data
    assert figure.layout.annotations[0].text == "This model adds nothing for positions."
