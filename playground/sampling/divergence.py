"""How far apart two distributions over the same vocabulary are."""

from __future__ import annotations

import math

import numpy as np

from playground.sampling.ranking import Floats


def kl(first: Floats, second: Floats) -> float:
    """Kullback-Leibler divergence D(first ‖ second) = Σ p (log p − log q), in nats; at least 0.

    Both are (vocab,) log-probabilities in nats, minus infinity where a token cannot be picked. Infinite where
    `first` can pick a token that `second` cannot. (Kullback & Leibler 1951; Cover & Thomas, chapter 2.3)
    """
    possible = first > -np.inf
    lowest = first[possible], second[possible]
    if bool((lowest[1] == -np.inf).any()):
        return math.inf
    return max(0.0, float(np.exp(lowest[0]) @ (lowest[0] - lowest[1])))


def lost(first: Floats, second: Floats) -> float:
    """The share of `first` that lies on tokens that `second` cannot pick. Arguments as for `kl`."""
    return float(np.exp(first[second == -np.inf]).sum())
