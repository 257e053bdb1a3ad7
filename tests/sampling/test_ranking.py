from __future__ import annotations

import numpy as np
import pytest

from playground.sampling.ranking import Ranking


def rows(size: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(size)
    values = rng.normal(size=size) * 3
    return {
        "random": values,
        "ties": np.round(values),
        "all equal": np.zeros(size),
        "some excluded": np.where(values < 0, -np.inf, values),
        "one large": np.where(np.arange(size) == size // 2, 1e38, values),
        "rising": np.sort(values),
        "sampled ones small": np.where(np.arange(size) % 64 == 0, -100.0, values),
    }


@pytest.mark.parametrize("kind", rows(1))
@pytest.mark.parametrize("size", [1, 3, 64, 1023, 1024, 5000])
def test_any_head_is_that_of_the_full_sort(kind: str, size: int) -> None:
    values = rows(size)[kind]
    order = np.lexsort((np.arange(size), -values))
    place_of = np.argsort(order)
    ids = np.unique(np.random.default_rng(0).integers(0, size, 40))
    ranking = Ranking(values)
    for count in (0, 1, 20, 700, 2000, size, size + 5):
        head = ranking.head(count)
        assert len(head) >= min(count, size)
        assert (head == order[: len(head)]).all()
        assert (ranking.places(ids) == place_of[ids]).all()


@pytest.mark.parametrize("size", [1, 700, 5000])
def test_first_reaching_is_the_shortest_head_that_holds_the_mass(size: int) -> None:
    values = np.random.default_rng(size).normal(size=size)
    weights = np.exp(values)
    sums = np.cumsum(weights[np.argsort(-values)])
    for count in {1, size // 3 + 1, size // 2 + 1, size}:
        just_reached, limit = sums[count - 1] - 1e-9, size
        assert Ranking(values).first_reaching(weights, just_reached, limit) == count
        assert Ranking(values).first_reaching(weights, just_reached, max(1, count // 2)) == max(1, count // 2)
    assert Ranking(values).first_reaching(weights, sums[-1] + 1, size) == size
