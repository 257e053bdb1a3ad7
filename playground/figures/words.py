"""Text of tokens inside plotly figures."""

from __future__ import annotations

_SIGNS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "%": "&#37;"})


def literal(text: str) -> str:
    """`text` so that plotly draws it letter for letter.

    Plotly reads a few HTML tags and entities in every text, TeX between two dollar signs where MathJax is
    loaded, and `%{name}` in hover templates. Written as entities these signs are signs. A line break would
    start a new line of the label, so it becomes ⏎.
    """
    return text.translate(_SIGNS).replace("\n", "⏎")
