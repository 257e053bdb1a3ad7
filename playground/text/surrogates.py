"""Lone surrogates: half characters that a Python string can hold and no UTF-8 can carry."""

from __future__ import annotations

import re

_SURROGATES = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """`text` with each lone surrogate as U+FFFD; the length stays."""
    return _SURROGATES.sub("\ufffd", text)


def count_surrogates(text: str) -> int:
    """How many lone surrogates `text` holds."""
    return 0 if text.isascii() else len(_SURROGATES.findall(text))
