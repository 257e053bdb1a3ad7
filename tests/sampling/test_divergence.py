"""Kullback-Leibler divergence of two distributions, against torch's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from playground.params import SamplingParams
from playground.sampling import distribution, kl, lost

ROWS = st.integers(0, 2**32 - 1).map(
    lambda seed: 4 * torch.randn(50, generator=torch.Generator().manual_seed(seed))
)
ALL = np.arange(50)


@given(ROWS, ROWS)
def test_raw_divergence_is_torchs(first: torch.Tensor, second: torch.Tensor) -> None:
    made = [distribution(row, SamplingParams()).logprob(ALL) for row in (first, second)]
    p, q = (row.double().log_softmax(0) for row in (first, second))
    theirs = torch.nn.functional.kl_div(q, p, log_target=True, reduction="sum")
    assert math.isclose(kl(*made), float(theirs), rel_tol=1e-9, abs_tol=1e-12)
    assert kl(made[0], made[0]) == 0


@given(ROWS, st.floats(0.05, 2), st.floats(0.05, 1), st.integers(0, 50))
def test_final_logprobs_are_the_logarithms(
    row: torch.Tensor, temperature: float, top_p: float, top_k: int
) -> None:
    made = distribution(row, SamplingParams(temperature=temperature, top_p=top_p, top_k=top_k))
    with np.errstate(divide="ignore"):
        expected = np.log(made.final)
    np.testing.assert_allclose(made.final_logprob(ALL), expected, rtol=1e-9, atol=1e-9)


def test_what_the_other_cannot_pick_is_lost() -> None:
    row = torch.tensor([2.0, 1.0, 0.0, -1.0])
    wide, narrow = (distribution(row, SamplingParams(top_k=k)).final_logprob(np.arange(4)) for k in (0, 2))
    assert kl(wide, narrow) == math.inf
    assert lost(wide, narrow) == pytest.approx(float(row.softmax(0)[2:].sum()))
    assert kl(narrow, wide) == pytest.approx(-math.log(float(row.softmax(0)[:2].sum())))
    assert lost(narrow, wide) == 0


def test_a_probability_too_small_for_a_float_is_not_a_cut() -> None:
    row = torch.tensor([1.0, 0.0])
    warm, cold = (
        distribution(row, SamplingParams(temperature=t)).final_logprob(np.arange(2)) for t in (1, 1e-4)
    )
    assert kl(warm, cold) == pytest.approx(float(row.softmax(0)[1]) * 10_000, rel=1e-3)


def test_greedy_can_pick_one_token_only() -> None:
    row = torch.tensor([1.0, 0.0, 3.0])
    greedy = distribution(row, SamplingParams(temperature=0)).final_logprob(np.arange(3))
    assert greedy.tolist() == [-math.inf, -math.inf, 0.0]
