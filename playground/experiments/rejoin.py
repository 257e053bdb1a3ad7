"""Whether one answer comes back to another after a change."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHORTEST = 4  # tokens in a row that count as having come back
WORDS = 3  # at the end of both texts


def rejoined(
    first: Sequence[int], second: Sequence[int], start: int, *, cut: tuple[bool, bool] = (False, False)
) -> tuple[int, int] | None:
    """Where `second` goes on as `first` does, to the end: (index in second, index in first), or None.

    Only what comes after index `start`, the changed token, counts; the two may be shifted against each other.
    `cut` says which of them ended at a limit: what came then is unknown, so they need to agree only until
    the limit. A shorter run than `SHORTEST` counts only where `first` has no longer one left.
    """
    need = max(1, min(SHORTEST, len(first) - start - 1))
    best: tuple[int, int] | None = None
    for shift in range(start + 1 - len(first), len(second) - start):  # index in second less index in first
        end = min(len(second), len(first) + shift)
        if (end < len(second) and not cut[0]) or (end < len(first) + shift and not cut[1]):
            continue  # one has ended by itself where the other goes on
        place = end
        while place - 1 > start and place - 1 - shift >= start:
            if second[place - 1] != first[place - 1 - shift]:
                break
            place -= 1
        if end - place >= need and (best is None or place < best[0]):
            best = place, place - shift
    return best


def same_ending(first: str, second: str) -> bool:
    """Whether the last words of two texts are the same, but for case and punctuation."""
    ends = [re.findall(r"\w+", text.casefold())[-WORDS:] for text in (first, second)]
    return bool(ends[0]) and ends[0] == ends[1]
