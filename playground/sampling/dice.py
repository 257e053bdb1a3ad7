"""The dice: one number in [0, 1) for each step, from the seed and the step alone."""

from __future__ import annotations

import numpy as np

_COUNTERS = 2**256


def dice(seed: int, step: int) -> float:
    """The dice of a step: the top 53 bits of Philox4x64-10 at counter `step` with key `seed`, over 2**53.

    A counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): it has
    no state, so nobody's dice depend on who else is running, and a fork rolls the same dice again.
    `seed` in [0, 2**64), `step` ≥ 0.
    """
    # numpy's generator steps its counter before it makes a block, hence the one less.
    word = int(np.random.Philox(key=seed, counter=(step - 1) % _COUNTERS).random_raw())
    return (word >> 11) / 2**53
