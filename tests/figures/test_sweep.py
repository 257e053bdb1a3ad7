"""The heat map of a sweep: a snapshot, blanks after an end, marked changes, literal texts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playground.figures.sweep import sweep
from playground.findings import Sweep
from playground.findings.compare import SWEPT
from tests.figures.snapshots import check
from tests.ui.fake_engine import HOSTILE

FOUND = Sweep(
    setting="temperature",
    values=(0.0, 0.75, 1.5),
    steps=4,
    ids=((5, 6, 7, 8), (5, 6, 2), (9, 4, 4, 4)),
    texts=(
        ("The", "␣sea", "␣is", "␣vast"), ("The", "␣sea", "<|im_end|>"), ("$x$", "%{z}", "␣unbelievable", "."),
    ),
    probs=((0.9, 0.5, 1.0, 0.25), (0.9, 0.5, 1e-6), (0.1, 0.2, 0.3, 0.4)),
    entropy=((0.5, 1.5, 0.0, 2.5), (0.5, 1.5, 0.0), (0.5, 3.5, 5.25, 1.0)),
    final_entropy=((0.0, 0.0, 0.0, 0.0), (0.25, 0.75, 0.0), (1.0, 7.0, 8.5, 2.0)),
    changed=(None, 2, 0),
)  # fmt: skip


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(dark: bool) -> None:
    check(sweep(FOUND, dark=dark), "sweep_dark" if dark else "sweep_light")


def test_rows_are_values_and_columns_are_tokens() -> None:
    figure = sweep(FOUND)
    (heat,) = figure.data
    assert list(heat.x) == [1, 2, 3, 4]
    assert [list(row) for row in heat.z] == [
        [0.5, 1.5, 0.0, 2.5],
        [0.5, 1.5, 0.0, None],
        [0.5, 3.5, 5.25, 1.0],
    ]
    assert list(figure.layout.yaxis.ticktext) == ["0", "0.75", "1.5"]
    assert list(figure.layout.yaxis.tickvals) == list(heat.y) == [0, 1, 2]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first value on top
    assert (heat.zmin, heat.zmax) == (0, 6)


def test_final_entropy_on_request() -> None:
    (heat,) = sweep(FOUND, of="final").data
    assert list(heat.z[2]) == [1.0, 7.0, 8.5, 2.0]
    assert heat.zmax == 9
    assert "final entropy" in heat.hovertemplate


def test_what_comes_after_an_end_is_blank() -> None:
    (heat,) = sweep(FOUND).data
    assert (heat.z[1][3], heat.text[1][3], heat.customdata[1][3]) == (None, "", None)
    assert heat.hoverongaps is False


def test_cells_are_short_and_labels_are_whole() -> None:
    (heat,) = sweep(FOUND).data
    assert heat.text[2][2] == "␣unbeli…"
    assert list(heat.customdata[2][2]) == ["1.5", "␣unbelievable", "30.0&#37;"]
    assert list(heat.customdata[1][2]) == ["0.75", "&lt;|im_end|&gt;", "&lt;0.01&#37;"]


@pytest.mark.parametrize(("columns", "texted"), [(32, True), (33, False)])
def test_cells_too_many_for_texts_are_colours_alone(columns: int, texted: bool) -> None:
    long = Sweep(
        "top_k", (3.0,), columns, ((5,) * columns,), (("a",) * columns,), *[((0.5,) * columns,)] * 3, (None,)
    )
    figure = sweep(long)
    assert bool(figure.data[0].texttemplate) == texted
    assert figure.layout.meta["least_width"] == (96 + 32 * 56 if texted else 0)


def test_a_change_is_marked_at_the_left_of_its_cell() -> None:
    edges = [(edge.x0, edge.x1, edge.y0, edge.y1) for edge in sweep(FOUND).layout.shapes]
    assert edges == [(2.5, 2.5, 0.5, 1.5), (0.5, 0.5, 1.5, 2.5)]


def test_every_setting_that_can_be_swept_has_a_name() -> None:
    for setting in SWEPT:
        assert sweep(replace(FOUND, setting=setting)).layout.annotations[0].text


def test_without_a_token_there_is_a_sentence() -> None:
    nothing = ((), (), ())
    figure = sweep(replace(FOUND, ids=nothing, texts=nothing, probs=nothing, entropy=nothing))
    assert not figure.data
    assert figure.layout.annotations[0].text == "There is no token to show."


@pytest.mark.parametrize("text", HOSTILE)
def test_b38_no_sign_with_a_meaning_to_plotly_is_left(text: str) -> None:
    one = Sweep("top_k", (3.0,), 1, ((5,),), ((text,),), ((1.0,),), ((0.0,),), ((0.0,),), (None,))
    (heat,) = sweep(one).data
    for shown in (heat.text[0][0], *heat.customdata[0][0]):
        assert not set(shown) & set("<>$%")
