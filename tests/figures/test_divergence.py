"""The divergence of two lanes: a snapshot, infinite places, literal texts."""

from __future__ import annotations

import pytest

from playground.figures.divergence import divergence
from playground.findings import Divergence
from tests.figures.snapshots import check
from tests.ui.fake_engine import HOSTILE

ROWS = [
    Divergence(0, 0.0, 0.02, 0.0),
    Divergence(1, 1e-9, 0.31, 0.0),
    Divergence(2, 0.0, None, 0.18),
    Divergence(3, 4.5, None, 0.99995),
    Divergence(4, 2.25, 6.0, 0.0),
]
TEXTS = ["The", "␣sea", "␣<b>", "%{y}", "."]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(dark: bool) -> None:
    check(divergence(ROWS, TEXTS, 2, dark=dark), "divergence_dark" if dark else "divergence_light")


def test_values_stand_at_the_index_of_their_token() -> None:
    cut, raw, final, infinite = divergence(ROWS, TEXTS, 2).data
    for line in (cut, raw, final, infinite):
        assert list(line.x) == [1, 2, 3, 4, 5]
    assert list(raw.y) == [row.raw for row in ROWS]
    assert list(final.y) == [0.02, 0.31, None, None, 6.0]
    assert list(infinite.y) == [None, None, 1.0, 1.0, None]
    assert list(cut.y) == [None, None, 0.18, 0.99995, None]
    assert cut.marker.pattern.shape == "/"
    assert final.connectgaps is False


def test_labels_have_numbers_as_people_read_them() -> None:
    cut, raw, final, _ = divergence(ROWS, TEXTS, 2).data
    assert list(raw.customdata) == ["0.000 nats", "&lt;0.001 nats", "0.000 nats", "4.500 nats", "2.250 nats"]
    assert final.customdata[3] == "infinite"
    assert cut.customdata[3] == "&gt;99.99&#37;"


def test_the_parting_is_marked_at_its_token() -> None:
    (line,) = divergence(ROWS, TEXTS, 2).layout.shapes
    assert (line.visible, line.x0, line.x1, line.line.dash) == (True, 3, 3, "dot")
    (line,) = divergence(ROWS, TEXTS).layout.shapes
    assert line.visible is False


def test_nothing_speaks_of_cuts_where_there_are_none() -> None:
    figure = divergence([ROWS[0], ROWS[4]], TEXTS)
    assert [line.visible for line in figure.data] == [False, None, None, False]
    assert figure.layout.yaxis2.visible is False


def test_rounding_does_not_look_like_a_difference() -> None:
    figure = divergence([Divergence(n, 1e-9, 2e-9, 0.0) for n in range(4)])
    assert figure.layout.yaxis.range[1] >= 0.1


def test_lanes_that_share_no_token_get_a_sentence() -> None:
    figure = divergence(())
    assert not figure.data
    assert [note.text for note in figure.layout.annotations] == ["There is no token that both lanes have."]


@pytest.mark.parametrize("text", HOSTILE)
def test_b38_no_sign_with_a_meaning_to_plotly_is_left(text: str) -> None:
    _, raw, final, _ = divergence([Divergence(0, 0.0, 0.0, 0.0)], [text]).data
    assert not set(raw.text[0]) & set("<>$%")
    assert not set(final.text[0]) & set("<>$%")


def test_raw_may_be_infinite_too() -> None:
    _, raw, final, _ = divergence([Divergence(0, None, None, 0.0)]).data
    assert (list(raw.y), list(final.y)) == ([None], [None])
    assert raw.customdata[0] == "infinite"
