"""The map of words: a snapshot, one scale for both axes, names that stand apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playground.figures.embedding import word_map
from playground.findings.inside import EmbeddingMap, MapPoint
from tests.figures.snapshots import check
from tests.ui.fake_engine import HOSTILE

FOUND = EmbeddingMap(
    side="input",
    points=(
        MapPoint("king", (5,), 1.0, 0.5),
        MapPoint("queen", (6,), 1.0, 0.49),
        MapPoint("<b>", (7, 8, 9), -2.0, -0.99),
    ),
    explained=(0.75, 0.25),
    cosines=((1.0, 0.9, -0.25), (0.9, 1.0, -0.125), (-0.25, -0.125, 1.0)),
)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(dark: bool) -> None:
    check(word_map(FOUND, dark=dark), "embedding_dark" if dark else "embedding_light")


def test_points_stand_where_they_are_by_one_scale() -> None:
    figure = word_map(FOUND)
    (points,) = figure.data
    assert (list(points.x), list(points.y)) == ([1.0, 1.0, -2.0], [0.5, 0.49, -0.99])
    assert (figure.layout.yaxis.scaleanchor, figure.layout.yaxis.scaleratio) == ("x", 1)
    assert figure.layout.xaxis.title.text == "first component, 75.0&#37; of the spread"
    assert figure.layout.annotations[0].text == "second component, 25.0&#37;"


def test_words_of_several_tokens_are_hollow() -> None:
    (points,) = word_map(FOUND).data
    assert list(points.marker.color) == ["#2b4acb", "#2b4acb", "#ffffff"]
    assert [told[1] for told in points.customdata] == ["1 token", "1 token", "3 tokens"]


def test_labels_name_the_nearest_word_by_the_whole_vectors() -> None:
    (points,) = word_map(FOUND).data
    assert [told[0] for told in points.customdata] == [
        "nearest here: queen, cosine 0.90",
        "nearest here: king, cosine 0.90",
        "nearest here: queen, cosine -0.12",
    ]


def test_names_of_near_points_stand_on_different_sides() -> None:
    (points,) = word_map(FOUND).data
    assert points.textposition[0] != points.textposition[1]
    crowd = tuple(MapPoint(f"word{n}", (n,), 0.001 * n, 0.0) for n in range(4))
    far = (MapPoint("far", (9,), 100.0, 50.0),)
    many = replace(FOUND, points=crowd + far, cosines=((0.0,) * 5,) * 5)
    assert len(set(word_map(many).data[0].textposition[:4])) == 4


def test_words_at_one_point_are_drawn() -> None:
    same = tuple(MapPoint(word, (1,), 0.0, 0.0) for word in ("a", "b"))
    figure = word_map(EmbeddingMap("output", same, (0.0, 0.0), ((1.0, 1.0), (1.0, 1.0))))
    assert len(figure.data[0].x) == 2


@pytest.mark.parametrize("text", HOSTILE)
def test_b38_no_sign_with_a_meaning_to_plotly_is_left(text: str) -> None:
    points = tuple(replace(point, word=text) for point in FOUND.points)
    (drawn,) = word_map(replace(FOUND, points=points)).data
    for shown in (*drawn.text, *[each for told in drawn.customdata for each in told]):
        assert not set(shown) & set("<>$%")
