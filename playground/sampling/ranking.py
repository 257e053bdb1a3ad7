"""The order of the tokens, sorted only as far as somebody looks.

A full sort of a vocabulary costs more than all other arithmetic of a step together, while a step nearly
always needs the first few hundred places. A `Ranking` sorts a head of that size and grows it when asked for
more; what it answers never depends on how much is sorted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

_FIRST = 512  # places sorted at first: more than most nuclei need
_STRIDE = 64  # every 64th value is a sample good enough to guess where a head of the wanted size ends


class Ranking:
    """Ids 0 … n−1 by falling value, equal values by rising id. Minus infinity comes last.

    values  (n,) float64 without NaN and plus infinity; must not change while the ranking lives.
    """

    def __init__(self, values: Floats) -> None:
        self._values = values
        self._head: Ids = np.empty(0, dtype=np.int64)
        self._floor = np.inf  # exactly the ids with a value of at least this are sorted
        self._sample = np.sort(values[::_STRIDE])
        self._depth = _FIRST // _STRIDE  # place in the sample, from its top, of the next floor

    def __len__(self) -> int:
        return len(self._values)

    def head(self, count: int) -> Ids:
        """The first ids in order, at least `count` of them (or all there are), perhaps more."""
        wanted = min(count, len(self))
        while len(self._head) < wanted:
            self._depth = max(self._depth, wanted // _STRIDE)
            self._grow()
        return self._head

    def first_reaching(self, weights: Floats, target: float, limit: int) -> int:
        """How many of the first `limit` ids, summed in order, it takes to hold `target` of `weights` (n,).

        `limit` if all of them together hold less. At least one.
        """
        count = min(limit, _FIRST)
        while True:
            head = self.head(count)[:limit]
            reached = int(np.searchsorted(np.cumsum(weights[head]), target)) + 1
            if reached <= len(head):
                return reached
            if len(head) == limit:
                return limit
            count = 4 * len(head)

    def places(self, ids: Ids) -> Ids:
        """The place in the order, from 0, of each of `ids`."""
        found = ids[:, None] == self.head(1)[: 4 * _FIRST]
        places = found.argmax(axis=1)
        for index in np.flatnonzero(~found.any(axis=1)):
            token_id, value = ids[index], self._values[ids[index]]
            ahead = np.count_nonzero(self._values > value)
            places[index] = ahead + np.count_nonzero(self._values[:token_id] == value)
        return places

    def _grow(self) -> None:
        """Sort the next band of values below the head. An empty band is possible; the one after is wider."""
        in_reach = self._depth < len(self._sample) // 2
        floor = self._sample[-self._depth] if in_reach else -np.inf
        band = np.flatnonzero((self._values >= floor) & (self._values < self._floor))
        order = np.argsort(-self._values[band], kind="stable")  # band has rising ids, and so have its ties
        self._head = np.concatenate((self._head, band[order]))
        self._floor = min(floor, self._floor)
        self._depth *= 4
