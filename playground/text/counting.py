"""A word letter by letter, which is what a person sees of it and a model does not."""

from __future__ import annotations

import unicodedata
from collections import Counter

_JOINER = "\u200d"
_TONES = range(0x1F3FB, 0x1F400)  # of the skin, in an emoji
_FLAGS = range(0x1F1E6, 0x1F200)  # two of them are one flag


def letters(word: str) -> list[str]:
    """What people count as the letters of a word: a sign with its marks is one, and so is an emoji.

    A simple form of the grapheme clusters of Unicode (UAX #29), enough for words: no Hangul from single
    jamo, no Indic conjuncts.
    """
    found: list[str] = []
    for sign in word:
        if found and _continues(found[-1], sign):
            found[-1] += sign
        else:
            found.append(sign)
    return found


def _continues(letter: str, sign: str) -> bool:
    if unicodedata.category(sign).startswith("M") or sign == _JOINER or ord(sign) in _TONES:
        return True
    pair = len(letter) == 1 and ord(letter) in _FLAGS and ord(sign) in _FLAGS
    return pair or letter.endswith(_JOINER)


def backwards(word: str) -> str:
    """The word from its last letter to its first."""
    return "".join(reversed(letters(word)))


def counts(word: str) -> list[tuple[str, int]]:
    """How often each letter is there, capital or not: the most frequent first, then as the word has them."""
    return Counter(letters(word.lower())).most_common()
