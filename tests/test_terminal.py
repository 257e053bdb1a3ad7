"""Text for a terminal: nothing in it steers, and colours stand for probabilities."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from playground.terminal import BANDS, Terminal, safe_text, style_of
from playground.trace import Finished


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


@pytest.mark.parametrize(
    ("finished", "shown"),
    [("say STO", "say STO\n"), ("say ", "say \n"), ("something else", "say \n"), ("sa", "say \n")],
)
def test_s10_the_end_adds_only_what_goes_on_from_the_steps(finished: str, shown: str) -> None:
    out = io.StringIO()
    terminal = Terminal(out, io.StringIO())
    for text in ("sa", "y "):
        step: Any = SimpleNamespace(text=text, prob=0.5)
        terminal.show(step)
    end: Any = Mock(Finished, text=finished)
    terminal.show(end)
    assert out.getvalue() == shown


def test_s6_notes_that_cannot_be_written_are_lost() -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    out = io.StringIO()
    Terminal(out, Full()).note("a note")
    assert out.getvalue() == ""
