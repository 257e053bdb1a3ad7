"""Numbers as people read them."""

from __future__ import annotations

import pytest

from playground.findings.report import Cell, Unit
from playground.findings.written import plain, written


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (None, "count", "–"),
        (True, "yes", "yes"),
        ("␣sea", "token", "␣sea"),
        (1234, "count", "1,234"),
        (0.0, "share", "0.0%"),
        (1e-9, "share", "<0.01%"),
        (0.9999, "share", ">99.9%"),
        (0.0421, "seconds", "42.1 ms"),
        (3 * 2**20, "bytes", "3.0 MB"),
        (6.9e-05, "price", "0.000069"),
        (0.0005302, "price", "0.00053"),
        (1234.5, "price", "1,234.5"),
        (0.0, "price", "0"),
        (3e-8, "price", "3 × 10⁻⁸"),
        (3.109e-06, "number", "3.11 × 10⁻⁶"),
        (0.05, "number", "0.05"),
        (12345678.0, "number", "1.235 × 10⁷"),
    ],
)
def test_written(value: Cell, unit: Unit, expected: str) -> None:
    assert written(value, unit) == expected


def test_plain_rounds_to_the_digits_asked_for() -> None:
    assert plain(4.482e-05, 2) == "4.5 × 10⁻⁵"
    assert plain(-0.0123, 2) == "-0.012"
