"""Two prompts held against each other: their tokens aligned by ids, their texts by words."""

from __future__ import annotations

import re
from array import array
from collections.abc import Hashable, Sequence

# A marker, a word, a line break, a run of blanks or a single sign.
_PIECES = re.compile(r"</?\|?[^<>\s]{1,40}?>|\[/?[A-Z_]{2,20}\]|\w+|\n|[^\S\n]+|[^\w\s]", re.DOTALL)
MOST_CHANGES = 1000  # tokens taken away and added that are told apart; what comes after more stays unaligned

Row = tuple[int | None, int | None]
Change = tuple[str, str]  # " " kept, "-" taken away or "+" added, and the text


def aligned(
    first: Sequence[Hashable], second: Sequence[Hashable], most: int = MOST_CHANGES
) -> tuple[list[Row], bool]:
    """Rows of indices into both, None where one has nothing; and whether the whole was aligned.

    Two indices stand in one row where the entries are equal, as many as can be in order. At a change comes
    first what only `first` has. Beyond `most` changes the rest is taken for different, so that two long
    prompts without anything in common cost no more than that.
    """
    start = _common(first, second)
    tail = _common(first[start:][::-1], second[start:][::-1])
    one, two = first[start : len(first) - tail], second[start : len(second) - tail]
    pairs, whole = _matches(one, two, most)
    rows: list[Row] = [(index, index) for index in range(start)]
    at, to = start, start
    ends = [(len(first) - tail + index, len(second) - tail + index) for index in range(tail)]
    for left, right in [*((start + i, start + j) for i, j in pairs), *ends, (len(first), len(second))]:
        rows += [(index, None) for index in range(at, left)]
        rows += [(None, index) for index in range(to, right)]
        rows.append((left, right))
        at, to = left + 1, right + 1
    return rows[:-1], whole


def text_changes(before: str, after: str, most: int = MOST_CHANGES) -> list[Change]:
    """What turns `before` into `after`, by words and markers; the texts of equal kinds are joined."""
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    changes: list[Change] = []
    for left, right in aligned(old, new, most)[0]:
        sign = "-" if right is None else "+" if left is None else " "
        piece = new[right] if right is not None else old[left] if left is not None else ""
        if changes and changes[-1][0] == sign:
            changes[-1] = (sign, changes[-1][1] + piece)
        else:
            changes.append((sign, piece))
    return changes


def _common(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Entries at the start that are alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (one, other) in pairs if one != other), min(len(first), len(second)))


def _matches(
    first: Sequence[Hashable], second: Sequence[Hashable], most: int
) -> tuple[list[tuple[int, int]], bool]:
    """The pairs of a longest common subsequence, by the greedy search for the shortest script of changes.

    E. Myers, An O(ND) difference algorithm and its variations, 1986. With d changes spent, `reach[k]` is how
    far into `first` one gets on the diagonal k = (index in first) - (index in second).
    """
    n, m = len(first), len(second)
    if not n or not m:
        return [], True
    offset = most + 1
    reach = array("q", [0]) * (2 * offset + 1)
    history: list[array[int]] = []
    for spent in range(min(n + m, most) + 1):
        for k in range(-spent, spent + 1, 2):
            down = k == -spent or (k != spent and reach[offset + k - 1] < reach[offset + k + 1])
            x = reach[offset + k + 1] if down else reach[offset + k - 1] + 1
            while x < n and 0 <= x - k < m and first[x] == second[x - k]:
                x += 1
            reach[offset + k] = x
            if x >= n and x - k >= m:
                history.append(reach[offset - spent : offset + spent + 1])
                return _path(history, first, second, n, m), True
        history.append(reach[offset - spent : offset + spent + 1])
    last = len(history) - 1
    fits = (k for k in range(-last, last + 1, 2) if reach[offset + k] <= n and reach[offset + k] - k <= m)
    best = max(fits, key=lambda k: 2 * reach[offset + k] - k)
    x = reach[offset + best]
    return _path(history, first, second, x, x - best), False


def _path(
    history: list[array[int]], first: Sequence[Hashable], second: Sequence[Hashable], x: int, y: int
) -> list[tuple[int, int]]:
    """The pairs on the way to (x, y), which is reached with the last of `history`."""
    pairs: list[tuple[int, int]] = []
    for spent in range(len(history) - 1, 0, -1):
        before = history[spent - 1]  # diagonals -(spent - 1) to spent - 1
        k = x - y

        def had(k: int, before: array[int] = before, spent: int = spent) -> int:
            return before[k + spent - 1] if -spent < k < spent else -1

        down = k == -spent or (k != spent and had(k - 1) < had(k + 1))
        from_x = had(k + 1) if down else had(k - 1)
        from_y = from_x - (k + 1 if down else k - 1)
        least = from_x if down else from_x + 1
        while x > least:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = from_x, from_y
    while x > 0:
        x, y = x - 1, y - 1
        pairs.append((x, y))
    return pairs[::-1]
