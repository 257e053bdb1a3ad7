"""The draw: dice on the bar of final probabilities; and raw against final numbers."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.params import SamplingParams
from playground.sampling import Distribution, NanLogits, decide, dice, distribution, forced, row_scores

FOUR = torch.tensor([2.0, 1.0, 0.0, -1.0])
SETTINGS: list[dict[str, Any]] = [
    {},
    {"temperature": 0},
    {"temperature": 1e-3},
    {"temperature": 1e6},
    {"top_k": 3},
    {"top_p": 0.9},
    {"min_p": 0.1},
    {"typical_p": 0.5},
    {"temperature": 1.5, "top_k": 40, "top_p": 0.9, "min_p": 0.01, "typical_p": 0.7},
    {"logit_bias": {0: -math.inf, 1: 3}, "banned": (2,), "repetition_penalty": 1.3},
]


def long_row(seed: int = 0, size: int = 5000, spread: float = 3) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)) * spread


def check_invariants(row: Distribution, u: float) -> None:
    """What data-model promises of every step."""
    final, (order, highs) = row.final, row.bar(row.kept)
    lows = np.concatenate(([0.0], highs[:-1]))
    assert final.sum() == pytest.approx(1, abs=1e-9)
    assert len(order) == row.kept
    assert highs[-1] == 1
    assert np.abs(highs - lows - final[order]).max() <= 1e-12
    assert (final[order[:-1]] >= final[order[1:]]).all()
    assert np.delete(final, order).sum() == 0
    decision = decide(row, u)
    assert final[decision.token_id] > 0
    assert row.removed(decision.token_id) == (None, None)
    assert (forced(row, decision.token_id).low, forced(row, decision.token_id).high) == (
        decision.low,
        decision.high,
    )
    if decision.method == "sampled":
        assert decision.low <= u < decision.high
    else:
        assert (decision.low, decision.high, decision.u) == (0, 1, None)


@pytest.mark.parametrize("chosen", SETTINGS)
@pytest.mark.parametrize("logits", [FOUR, long_row(), long_row(size=3000, spread=0.01), torch.zeros(2000)])
def test_invariants(chosen: dict[str, Any], logits: torch.Tensor) -> None:
    row = distribution(logits, SamplingParams(**chosen), prompt_ids=[0, 3], answer_ids=[1], end_ids=[2])
    for u in (0.0, 0.3, 0.9, 0.99999, 1 - 2**-53):
        check_invariants(row, u)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-40, 40, width=32) | st.integers(-3, 3).map(float), min_size=1, max_size=8),
    st.sampled_from(SETTINGS[:9]),
    st.floats(0, 1, exclude_max=True),
)
def test_invariants_of_any_row(logits: list[float], chosen: dict[str, Any], u: float) -> None:
    check_invariants(distribution(torch.tensor(logits), SamplingParams(**chosen)), u)


def test_the_last_interval_of_many_equal_tokens_is_as_exact_as_the_first() -> None:
    """49,152 small equal weights beside a large one: summed plainly their rounding errors add up."""
    row = distribution(torch.tensor([13.1] + [0.0] * 49151), SamplingParams())
    _, highs = row.bar(row.kept)
    assert np.abs(np.diff(highs) - row.final[1:]).max() <= 1e-12


def test_the_bar_does_not_depend_on_how_much_of_it_is_laid_out() -> None:
    row, other = (distribution(long_row(), SamplingParams(temperature=2)) for _ in range(2))
    order, highs = row.bar(row.kept)
    short_order, short_highs = other.bar(10)
    assert 10 <= len(short_order) < row.kept
    assert (order[: len(short_order)] == short_order).all()
    assert (highs[: len(short_order)] == short_highs).all()


@pytest.mark.parametrize("chosen", [item for item in SETTINGS if item.get("temperature") != 0])
@pytest.mark.parametrize("logits", [FOUR, long_row(size=2000)])
def test_dice_on_the_edge_of_an_interval_belong_to_the_token_that_begins_there(
    chosen: dict[str, Any], logits: torch.Tensor
) -> None:
    """So the measure of the dice that give a token is exactly its interval: draws follow the bar."""
    row = distribution(logits, SamplingParams(**chosen))
    order, highs = row.bar(row.kept)
    lows = np.concatenate(([0.0], highs[:-1]))
    wide = np.flatnonzero(highs > lows)
    for index in wide[:: max(1, len(wide) // 50)]:
        assert decide(row, lows[index]).token_id == order[index]
        assert decide(row, np.nextafter(highs[index], 0)).token_id == order[index]


def test_sampled_tokens_follow_the_dice() -> None:
    row = distribution(torch.tensor([0.5, 0.25, 0.25]).log(), SamplingParams())
    assert [decide(row, u).token_id for u in (0.0, 0.49, 0.51, 0.74, 0.76, 0.99)] == [0, 0, 1, 1, 2, 2]
    assert decide(row, 0.6).method == "sampled"
    assert decide(row, 0.6).u == 0.6


def test_b29_ties_go_to_the_lowest_id_for_picking_and_ranking() -> None:
    six = torch.full((6,), 1.5, dtype=torch.bfloat16)
    greedy = distribution(six, SamplingParams(temperature=0))
    assert decide(greedy, 0.99).token_id == 0
    assert greedy.rank(np.arange(6)).tolist() == [1, 2, 3, 4, 5, 6]
    tied = torch.tensor([1.0, 3, 7, 7, 7, 2])
    for top_k in (0, 1, 3):
        row = distribution(tied, SamplingParams(temperature=0, top_k=top_k))
        assert decide(row, 0.5).token_id == 2
        assert row.top(6).tolist() == [2, 3, 4, 1, 5, 0]


def test_b29_softmax_of_16_bit_logits_sums_to_one() -> None:
    for kind in (torch.bfloat16, torch.float16):
        row = distribution(long_row().to(kind), SamplingParams())
        assert row.prob(np.arange(5000)).sum() == pytest.approx(1, abs=1e-9)


def test_b33_raw_numbers_do_not_move_with_the_settings() -> None:
    logits = long_row()
    everyone = np.arange(len(logits))
    expected = logits.log_softmax(-1).numpy()
    for chosen in SETTINGS:
        row = distribution(logits, SamplingParams(**chosen), prompt_ids=[5])
        assert np.abs(row.logprob(everyone) - expected).max() < 1e-5
        assert np.abs(row.prob(everyone) - np.exp(expected)).max() < 1e-6
        assert row.logprob(everyone).max() <= 0
        assert row.entropy == pytest.approx(
            float(torch.distributions.Categorical(logits=logits).entropy()), rel=1e-5
        )
        place = np.argsort(np.lexsort((everyone, -logits.numpy())))
        assert (row.rank(everyone[::100]) == place[::100] + 1).all()


def test_final_entropy() -> None:
    for chosen in SETTINGS:
        row = distribution(long_row(), SamplingParams(**chosen))
        kept = row.final[row.final > 0]
        assert row.final_entropy == pytest.approx(-(kept * np.log(kept)).sum(), abs=1e-9)


def test_forced_tokens_have_their_interval_and_cut_ones_none() -> None:
    row = distribution(FOUR, SamplingParams(top_k=2))
    assert [(forced(row, token).low, forced(row, token).high) for token in (2, 3)] == [(1, 1), (1, 1)]
    kept = forced(row, 1)
    assert (kept.method, kept.u, kept.high) == ("forced", None, 1)
    assert kept.low == pytest.approx(1 / (1 + math.exp(-1)))


def test_a_forced_token_cut_from_the_front_stands_at_the_start_of_the_bar() -> None:
    row = distribution(torch.tensor([0.5, 0.2, 0.15, 0.1, 0.05]).log(), SamplingParams(typical_p=0.3))
    assert row.order.tolist() == [1, 2]
    assert [forced(row, token).low for token in (0, 3)] == [0, 1]
    banned = distribution(FOUR, SamplingParams(banned=(0,)))
    assert (forced(banned, 0).low, forced(banned, 0).high) == (1, 1)


def test_a_forced_token_far_out_has_the_interval_that_dice_would_find() -> None:
    row = distribution(long_row(spread=1), SamplingParams())
    decision = forced(row, int(row.order[4321]))
    found = decide(row, (decision.low + decision.high) / 2)
    assert (found.token_id, found.low, found.high) == (decision.token_id, decision.low, decision.high)


def test_logits_may_carry_gradients_and_are_not_kept_by_reference() -> None:
    logits = FOUR.clone().requires_grad_()
    row = distribution(logits, SamplingParams())
    with torch.no_grad():
        logits.zero_()
    assert row.logits.tolist() == FOUR.tolist()


def test_a_row_is_freed_at_once_without_the_garbage_collector() -> None:
    for chosen in SETTINGS:
        row = distribution(long_row(), SamplingParams(**chosen), prompt_ids=[0])
        decide(row, 0.5)
        remembered = weakref.ref(row._row)
        gc.disable()
        try:
            del row
            assert remembered() is None, chosen
        finally:
            gc.enable()


def test_b31_global_random_state_is_left_alone() -> None:
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1]
    decide(distribution(FOUR, SamplingParams()), dice(3, 1))
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert (np.random.get_state()[1] == numpy_state).all()


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_row_scores_agree_with_the_step_by_step_numbers(
    kind: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.sampling.distributions._CHUNK", 2000)  # two rows at a time
    logits = torch.stack([long_row(seed, size=900) for seed in range(5)]).to(kind)
    logits[2, 7] = -torch.inf
    ids = torch.tensor([0, 899, 7, 40, 41])
    logprobs, ranks = row_scores(logits, ids)
    assert (logprobs.dtype, ranks.dtype) == (torch.float32, torch.int64)
    for row, token, logprob, rank in zip(logits, ids.numpy(), logprobs, ranks, strict=True):
        step = distribution(row, SamplingParams())
        assert float(logprob) == pytest.approx(float(step.logprob(token)), abs=1e-5)
        assert int(rank) == step.rank(np.array([token]))[0]


def test_row_scores_of_nothing_and_of_nan() -> None:
    logprobs, ranks = row_scores(torch.empty(0, 9), torch.empty(0, dtype=torch.int64))
    assert logprobs.shape == ranks.shape == (0,)
    with pytest.raises(NanLogits, match="NaN or infinity"):
        row_scores(torch.tensor([[0.0, 1], [0, math.nan]]), torch.tensor([0, 0]))
