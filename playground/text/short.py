"""What a stranger sent, as a refusal names it."""

from __future__ import annotations

from typing import Any


def short(value: Any) -> str:
    """What was sent, in few characters: of what is long, only its size."""
    if isinstance(value, list | tuple | dict):
        return f"{len(value)} of them" if isinstance(value, list | tuple) else "an object"
    if type(value) is int and value.bit_length() > 100:
        return "a number of many digits"
    if isinstance(value, str) and len(value) > 60:
        return f"{value[:60]!r}…"
    return f"{value!r:.80}"
