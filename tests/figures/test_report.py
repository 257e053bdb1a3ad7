"""Charts of a lab's report: snapshots, gaps, units, names that look alike, literal texts."""

from __future__ import annotations

import pytest

from playground.figures.report import chart
from playground.findings.report import Axis, Chart, Series
from tests.figures.snapshots import check

HOSTILE = "<img src=x onerror=alert(1)> %{y} $x$"

LINES = Chart(
    "Time of a step",
    "lines",
    Axis("tokens before it", "count", log=True),
    Axis("time", "seconds"),
    (
        Series("with the cache", (32.0, 128.0, 512.0), (0.02, 0.021, 0.024)),
        Series("without", (32.0, 128.0, 512.0), (0.03, None, 0.4), "choice", True),
        Series("copied", (32.0,), (0.025,)),
    ),
)
BARS = Chart(
    "How it ended",
    "bars",
    Axis("answer"),
    Axis("share", "share"),
    (Series("ended", ("␣sea", HOSTILE), (0.5, 0.00002), "end"),),
)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("found", [LINES, BARS], ids=["lines", "bars"])
def test_snapshot(found: Chart, dark: bool) -> None:
    check(chart(found, dark=dark), f"report_{found.kind}_{'dark' if dark else 'light'}")


def test_values_are_drawn_in_the_unit_that_the_axis_names() -> None:
    figure = chart(LINES)
    assert list(figure.data[0].y) == pytest.approx([20, 21, 24])
    assert figure.layout.annotations[0].text == "time, ms"
    assert figure.data[1].y[1] is None
    assert not figure.data[1].connectgaps
    assert list(figure.data[0].customdata[0]) == ["32", "20.0 ms"]


@pytest.mark.parametrize(
    ("unit", "values", "drawn", "title"),
    [
        ("seconds", (0.5, 2.0), [0.5, 2.0], "y, s"),
        ("bytes", (1024.0, 3 * 2**20), [1 / 1024, 3.0], "y, MB"),
        ("nats", (1.0, 2.0), [1.0, 2.0], "y, nats"),
        ("count", (1.0, 2.0), [1.0, 2.0], "y"),
    ],
)
def test_units(unit: str, values: tuple[float, ...], drawn: list[float], title: str) -> None:
    figure = chart(Chart("t", "lines", Axis("x"), Axis("y", unit), (Series("s", (0.0, 1.0), values),)))  # type: ignore[arg-type]
    assert list(figure.data[0].y) == pytest.approx(drawn)
    assert figure.layout.annotations[0].text == title


@pytest.mark.parametrize(
    ("name", "unit", "title"),
    [
        ("time of a step", "seconds", "time of a step, ms"),
        ("tokens/s", "per_s", "tokens/s"),
        ("passes", "per_s", "passes, per second"),
        ("nats of surprise", "nats", "nats of surprise"),
    ],
)
def test_a_unit_is_named_once(name: str, unit: str, title: str) -> None:
    found = Chart("t", "lines", Axis("x"), Axis(name, unit), (Series("s", (0.0,), (0.1,)),))  # type: ignore[arg-type]
    assert chart(found).layout.annotations[0].text == title


def test_named_places_stand_in_their_order_and_text_is_literal() -> None:
    figure = chart(BARS)
    assert list(figure.data[0].y) == [0, 1]
    assert list(figure.data[0].x) == [0.5, 0.00002]
    assert figure.layout.yaxis.range == (1.5, -0.5)  # the first on top
    assert figure.layout.yaxis.ticktext[1] == "&lt;img src=x one<br>…"
    assert "<img" not in figure.data[0].customdata[1][0]
    assert figure.data[0].customdata[1][1] == "&lt;0.01&#37;"


def test_series_of_one_role_can_be_told_apart() -> None:
    first, _, third = chart(LINES).data
    assert first.line.color != third.line.color
    assert first.marker.symbol != third.marker.symbol


def test_nothing_measured_yet_is_said() -> None:
    figure = chart(Chart("t", "lines", Axis("x"), Axis("y"), (Series("s", (), ()),)))
    assert figure.layout.annotations[0].text == "Nothing is measured yet."


@pytest.mark.parametrize(
    ("unit", "values", "expected"),
    [
        ("share", (0.0, 3e-12), [0.0, 0.0106]),  # no axis of rounding errors
        ("share", (0.0, 1.0), [0.0, 1.06]),
        ("number", (0.0, 0.0), [0.0, 1.0]),
        ("nats", (-2.0, 0.0), [-2.12, 0.0]),
        ("nats", (-1.0, 1.0), [-1.12, 1.12]),
        ("count", (5.0, 10.0), [0.0, 10.6]),
    ],
)
def test_an_axis_begins_at_zero_and_holds_all_values(
    unit: str, values: tuple[float, ...], expected: list[float]
) -> None:
    found = Chart("t", "lines", Axis("x"), Axis("y", unit), (Series("s", (0.0, 1.0), values),))  # type: ignore[arg-type]
    assert list(chart(found).layout.yaxis.range) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("places", "log", "named"),
    [
        ((8.0, 32.0, 128.0, 4096.0), False, [128.0, 4096.0]),
        ((32.0, 128.0, 512.0), False, [32.0, 128.0, 512.0]),
        ((8.0, 32.0, 128.0, 4096.0), True, [8.0, 32.0, 128.0, 4096.0]),
        ((1.0, 2.0, 100.0), False, [2.0, 100.0]),
        ((3.0,), False, [3.0]),
    ],
)
def test_places_too_near_each_other_are_not_all_numbered(
    places: tuple[float, ...], log: bool, named: list[float]
) -> None:
    found = Chart("t", "lines", Axis("x", log=log), Axis("y"), (Series("s", places, (1.0,) * len(places)),))
    assert list(chart(found).layout.xaxis.tickvals) == named
