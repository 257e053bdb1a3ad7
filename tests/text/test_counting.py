"""Words letter by letter."""

from __future__ import annotations

import pytest

from playground.text.counting import backwards, counts, letters


def test_strawberry_has_three_r() -> None:
    assert dict(counts("strawberry"))["r"] == 3
    assert counts("strawberry")[0] == ("r", 3)
    assert "".join(letters("strawberry")) == "strawberry"
    assert backwards("strawberry") == "yrrebwarts"


def test_capitals_count_as_their_letter() -> None:
    assert counts("Aardvark")[:2] == [("a", 3), ("r", 2)]


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("", []),
        ("e\u0301t\u00e9", ["e\u0301", "t", "é"]),
        ("👍🏽!", ["👍🏽", "!"]),
        ("👩\u200d🔬x", ["👩\u200d🔬", "x"]),
        ("🇫🇷🇩🇪", ["🇫🇷", "🇩🇪"]),
        ("❤\ufe0fa", ["❤\ufe0f", "a"]),
        ("\u0301a", ["\u0301", "a"]),
    ],
)
def test_what_people_see_as_one_letter_stays_one(word: str, parts: list[str]) -> None:
    assert letters(word) == parts
    assert "".join(letters(word)) == word
    assert backwards(word) == "".join(parts[::-1])
