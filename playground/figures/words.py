"""Text of tokens inside plotly figures."""

from __future__ import annotations

import math

_SIGNS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "%": "&#37;"})


def literal(text: str) -> str:
    """`text` so that plotly draws it letter for letter.

    Plotly reads a few HTML tags and entities in every text, TeX between two dollar signs where MathJax is
    loaded, and `%{name}` in hover templates. Written as entities these signs are signs. A line break would
    start a new line of the label, so it becomes ⏎.
    """
    return text.translate(_SIGNS).replace("\n", "⏎")


def percent(share: float) -> str:
    """A share from 0 to 1 for people, as strip/numbers.js writes it: never blank, never a false 0 or 100."""
    if share == 0:
        return "0%"
    if share < 0.0001:
        return "<0.01%"
    if share < 0.01:
        return f"{share:.2%}"
    if 0.9999 < share < 1:
        return ">99.99%"
    if 0.999 < share < 1:
        return f"{math.floor(share * 10000) / 100:.2f}%"
    return "100%" if share == 1 else f"{share:.1%}"
