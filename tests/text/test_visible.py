from __future__ import annotations

import unicodedata

import pytest

from playground.text.visible import visible_bytes, visible_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("   ", "␣␣␣"),
        ("\t", "⇥"),
        ("\n\n", "⏎⏎"),
        ("\r", "␍"),
        ("\0", "␀"),
        ("\x1b", "␛"),
        ("\x7f", "␡"),
        ("\x85", "‹U+0085›"),
        ("\u00a0", "⍽"),
        ("\u2009", "‹U+2009›"),
        ("\u200b", "‹U+200B›"),
        ("\u200d", "‹U+200D›"),
        ("\u202e", "‹U+202E›"),
        ("\ufeff", "‹U+FEFF›"),
        ("\ufe0f", "‹U+FE0F›"),
        ("\U000e0041", "‹U+E0041›"),
        ("\ud800", "‹U+D800›"),
        (" there", "␣there"),
        ('"', '"'),
        ("'s", "'s"),
        ("a\u0301", "a\u0301"),
        ("\u0301", "◌\u0301"),
        ("你好 👍🏽", "你好␣👍🏽"),
        ("<b>", "<b>"),
        ("", ""),
    ],
)
def test_b06_each_unseen_character_has_a_form(text: str, shown: str) -> None:
    assert visible_text(text) == shown


def test_b06_forms_differ_and_leave_nothing_unseen() -> None:
    unseen = [
        chr(code)
        for code in range(0x3100)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zs", "Zl", "Zp")
    ]
    forms = [visible_text(character) for character in unseen]
    assert len(set(forms)) == len(unseen)
    for form in forms:
        assert all(
            unicodedata.category(character) not in ("Cc", "Cf", "Zs", "Zl", "Zp") for character in form
        )


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xf0\x9f", "‹F0 9F›"),
        (b"\xa1", "‹A1›"),
        (b"a\xf0\x9f b", "a‹F0 9F›␣b"),
        (" é".encode(), "␣é"),
        (b"\xed\xa0\x80", "‹ED A0 80›"),
        (b"", ""),
    ],
)
def test_bytes_that_are_no_character_show_in_hex(data: bytes, shown: str) -> None:
    assert visible_bytes(data) == shown
