"""Growth of the KV cache: a snapshot, parts that follow one another, what was set aside."""

from __future__ import annotations

from dataclasses import replace

import pytest

from playground.figures.cache import growth
from playground.findings.inside import CacheLook
from tests.figures.snapshots import check
from tests.ui.fake_engine import HOSTILE

FOUND = CacheLook(
    layers=30,
    kv_heads=3,
    head_size=64,
    dtype="float32",
    bytes_per_token=46080,
    held=46080 * 50,
    reserved=46080 * 64,
    tokens=50,
    limit=8192,
)
PARTS = [("system message", 20), ("you", 30), ("nothing", 0)]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(dark: bool) -> None:
    check(growth(FOUND, PARTS, dark=dark), "cache_dark" if dark else "cache_light")


def test_parts_follow_one_another_up_to_what_is_held() -> None:
    lines = growth(FOUND, PARTS).data
    assert [(line.name, list(line.x)) for line in lines] == [
        ("system message", [0, 20]), ("you", [20, 50])
    ]  # fmt: skip
    assert list(lines[1].y) == [46080 * 20 / 2**20, 46080 * 50 / 2**20]
    assert lines[0].customdata[0] == "system message: 20 tokens"
    assert list(growth(FOUND, PARTS).layout.xaxis.range) == [0, 50]


def test_what_is_set_aside_is_a_line_with_its_name() -> None:
    layout = growth(FOUND, PARTS).layout
    assert layout.shapes[0].visible is True
    assert layout.shapes[0].y0 == 46080 * 64 / 2**20
    assert layout.annotations[1].text == "set aside: 2.81 MB"
    without = growth(replace(FOUND, reserved=None), PARTS).layout
    assert without.shapes[0].visible is False
    assert len(without.annotations) == 1


@pytest.mark.parametrize(
    ("per_token", "unit"), [(2, "B"), (1024, "KB"), (2**20, "MB"), (2**30, "GB"), (2**50, "TB")]
)
def test_the_unit_suits_the_bytes(per_token: int, unit: str) -> None:
    found = replace(FOUND, bytes_per_token=per_token, held=50 * per_token, reserved=None)
    assert growth(found, PARTS).layout.annotations[0].text == unit


@pytest.mark.parametrize("text", HOSTILE)
def test_b38_no_sign_with_a_meaning_to_plotly_is_left(text: str) -> None:
    (line,) = growth(FOUND, [(text, 50)]).data
    for shown in (line.name, *line.customdata):
        assert not set(shown) & set("<>$%")
