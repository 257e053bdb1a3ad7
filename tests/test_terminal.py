"""Text for a terminal: nothing in it steers, and colours stand for probabilities."""

from __future__ import annotations

import pytest

from playground.terminal import BANDS, safe_text, style_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc é 👩‍🚀 \u0301", "a\tb\nc é 👩‍🚀 \u0301"),
        ("\x1b]0;title\x07\r\0", "␛]0;title␇␍␀"),
        ("\x7f\u009b2J", "␡‹U+009B›2J"),
        ("\u202eabc\u2066\u2028", "‹U+202E›abc‹U+2066›‹U+2028›"),
        ("\ud83d", "‹U+D83D›"),
    ],
)
def test_b38_what_could_steer_a_terminal_is_shown_as_a_sign(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@pytest.mark.parametrize(
    ("prob", "name"),
    [(1.0, "80% and up"), (0.8, "80% and up"), (0.799, "40–80%"), (0.01, "1–10%"), (0.0, "under 1%")],
)
def test_every_probability_has_its_band(prob: float, name: str) -> None:
    assert style_of(prob) == {title: style for _, title, style in BANDS}[name]
