"""Visible forms: what people see in place of white space, control characters and broken bytes.

Every character that leaves no ink, or that would reorder or join its surroundings, gets a sign of its own.
Nothing is quoted and nothing is escaped for HTML here: that is done where the page is written.
"""

from __future__ import annotations

import re
import unicodedata

_SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\x7f": "␡", "\u00a0": "⍽"}
_SIGNS |= {chr(code): chr(0x2400 + code) for code in range(32) if chr(code) not in _SIGNS}  # ␀ ␁ ␂ …

# Letters and marks to Unicode, yet drawn as nothing: joiner, fillers, selectors, the blank of braille.
_INKLESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Cn", "Co", "Zl", "Zp", "Zs"}
_BROKEN_BYTES = re.compile("([\udc80-\udcff]+)")
_PLAIN = re.compile(r"[!-~]*")  # printable ASCII, the usual case


def visible_text(text: str) -> str:
    """`text` with each character that one could not see as a sign (␣ ⏎ ⇥ ⍽ ␀) or its number (‹U+200B›)."""
    if _PLAIN.fullmatch(text):
        return text
    shown = "".join(map(_visible_character, text))
    # A mark that would sit on whatever stands before the text gets the customary circle to sit on.
    return "◌" + shown if unicodedata.category(shown[0]).startswith("M") else shown


def visible_bytes(data: bytes) -> str:
    """`data` as visible text; bytes that are not UTF-8, or only a part of a character, in hex: ‹F0 9F›."""
    parts = _BROKEN_BYTES.split(data.decode("utf-8", "surrogateescape"))
    return "".join(_hex(part) if index % 2 else visible_text(part) for index, part in enumerate(parts))


def _visible_character(character: str) -> str:
    sign = _SIGNS.get(character)
    if sign is not None:
        return sign
    category = unicodedata.category(character)
    if category in _UNSEEN_CATEGORIES or category == "Cs" or _INKLESS.match(character):
        return f"‹U+{ord(character):04X}›"
    return character


def _hex(escaped: str) -> str:
    return "‹" + escaped.encode("utf-8", "surrogateescape").hex(" ").upper() + "›"
