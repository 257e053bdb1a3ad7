"""The stages against transformers' processors, and against vectors worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from playground.params import SamplingParams
from playground.sampling import STAGES, Distribution, NanLogits, NoTokenLeft, SamplingError, distribution
from tests.sampling.processors import processed

FOUR = torch.tensor([2.0, 1.0, 0.0, -1.0])


def final(logits: Any, **settings: Any) -> list[float]:
    where = {name: settings.pop(name) for name in ("prompt_ids", "answer_ids", "end_ids") if name in settings}
    return distribution(torch.tensor(logits), SamplingParams(**settings), **where).final.tolist()


def softmax(logits: list[float]) -> list[float]:
    return torch.tensor(logits, dtype=torch.float64).softmax(-1).tolist()


def stage(row: Distribution, name: str) -> Any:
    return next(item for item in row.stages if item.name == name)


logit = st.one_of(
    st.floats(-30, 30, width=32),
    st.integers(-4, 4).map(float),
    st.just(-math.inf),
    st.floats(-(2.0**100), 2.0**100, width=32),
)
small_rows = st.lists(logit, min_size=1, max_size=12)
ids = st.lists(st.integers(0, 14), max_size=8)  # some are beyond the vocabulary
params = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0, 1e-3, 0.3, 0.8, 1, 1.7, 50, 1e6]),
    top_k=st.sampled_from([0, 0, 1, 2, 3, 5, 100]),
    top_p=st.sampled_from([1, 1, 1e-9, 0.1, 0.3, 0.55, 0.9, 0.999]),
    min_p=st.sampled_from([0, 0, 1e-6, 0.02, 0.13, 0.7]),
    typical_p=st.sampled_from([1, 1, 1e-9, 0.2, 0.6, 0.93]),
    repetition_penalty=st.sampled_from([1, 1, 0.5, 1.2, 3]),
    presence_penalty=st.sampled_from([0, 0, 0.7, -2]),
    frequency_penalty=st.sampled_from([0, 0, 0.3, -0.1]),
    logit_bias=st.dictionaries(
        st.integers(0, 11), st.sampled_from([-math.inf, -1e30, -3.5, 0.25, 2, 1e30]), max_size=3
    ),
    banned=st.lists(st.integers(0, 11), max_size=2).map(tuple),
    min_tokens=st.integers(0, 4),
)


def agrees(logits: torch.Tensor, chosen: SamplingParams, **where: Any) -> bool:
    """Same kept set and same probabilities as transformers. False if float64 cannot tell.

    At the edge of top-p transformers takes any of the tokens with equal logits, ours those with the lowest
    ids: there the kept are compared by their scores.
    """
    theirs, margin = processed(logits, chosen, **where)
    if margin < 1e-9:
        return False
    if not (theirs > -torch.inf).any():
        with pytest.raises(NoTokenLeft):
            distribution(logits, chosen, **where)
        return True
    before = logits.clone()
    row = distribution(logits, chosen, **where)
    assert torch.equal(logits, before)  # not changed in place
    kept = theirs[theirs > -torch.inf].sort(descending=True).values
    assert row.kept == len(kept)
    assert np.abs(row.final[row.order] - kept.softmax(-1).numpy()).max() < 1e-9
    assert row.final.sum() == pytest.approx(1, abs=1e-9)
    tied = len(torch.unique(theirs[theirs > -torch.inf])) < len(kept) or chosen.top_p != 1
    if not tied:
        assert set(row.order.tolist()) == set(torch.nonzero(theirs > -torch.inf).flatten().tolist())
    return True


@settings(max_examples=400, deadline=None)
@given(small_rows, params, ids, ids, ids)
def test_small_rows_agree_with_transformers(
    row: list[float], chosen: SamplingParams, prompt: list[int], answer: list[int], ends: list[int]
) -> None:
    assume(agrees(torch.tensor(row), chosen, prompt_ids=prompt, answer_ids=answer, end_ids=ends))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.02, 1.0, 4.0]), st.sampled_from([1, 64]), params)
def test_long_rows_agree_with_transformers(
    seed: int, spread: float, steps: int, chosen: SamplingParams
) -> None:
    rng = np.random.default_rng(seed)
    row = torch.tensor(np.round(rng.normal(size=3000) * spread * steps) / steps, dtype=torch.float32)
    if steps == 64:  # without ties
        row += torch.arange(3000) * 1e-5
    where = {"prompt_ids": range(40), "answer_ids": [3, 7, 7], "end_ids": [2999]}
    assume(agrees(row, chosen, **where))


def test_stages_come_in_the_fixed_order_and_all_are_shown() -> None:
    names = [
        "logit_bias", "repetition_penalty", "presence_frequency", "bans", "temperature", "top_k", "top_p",
        "min_p", "typical_p",
    ]  # fmt: skip
    assert [name for name, _ in STAGES] == names
    row = distribution(FOUR, SamplingParams())
    assert [item.name for item in row.stages] == names
    assert not any(item.active for item in row.stages)
    assert all(item.kept == 4 and item.mass == 1 and item.cutoff is None for item in row.stages)


def test_f2_nothing_is_applied_that_was_not_chosen() -> None:
    logits = torch.randn(500, generator=torch.Generator().manual_seed(0))
    assert (
        np.abs(distribution(logits, SamplingParams()).final - logits.double().softmax(-1).numpy()).max()
        < 1e-12
    )


@pytest.mark.parametrize(
    ("penalty", "seen", "expected"),
    [
        (2, [0, 3], [1, 1, 0, -2]),
        (2, [0, 0, 0], [1, 1, 0, -1]),
        (0.5, [0, 3], [4, 1, 0, -0.5]),
        (2, [0, 99], [1, 1, 0, -1]),
    ],
)
def test_b25_repetition_penalty(penalty: float, seen: list[int], expected: list[float]) -> None:
    assert final([2.0, 1, 0, -1], repetition_penalty=penalty, prompt_ids=seen) == pytest.approx(
        softmax(expected)
    )
    # prompt and answer count alike, once each
    half = final([2.0, 1, 0, -1], repetition_penalty=penalty, prompt_ids=seen[:1], answer_ids=seen)
    assert half == pytest.approx(softmax(expected))


def test_a_tiny_penalty_does_not_overflow() -> None:
    shares = final([2.0, 1, 0, -1], repetition_penalty=1e-300, logit_bias={0: 1e30}, prompt_ids=[0, 1])
    assert all(math.isfinite(share) for share in shares)
    assert sum(shares) == pytest.approx(1)


def test_presence_and_frequency_count_the_answer_only() -> None:
    shares = final(
        [2.0, 1, 0, -1], presence_penalty=0.5, frequency_penalty=0.25, prompt_ids=[3, 3], answer_ids=[0, 0, 1]
    )
    assert shares == pytest.approx(softmax([1, 0.25, 0, -1]))


def test_b27_bias_adds_and_minus_infinity_bans() -> None:
    assert final([2.0, 1, 0, -1], logit_bias={2: 5}) == pytest.approx(softmax([2, 1, 5, -1]))
    row = distribution(FOUR, SamplingParams(logit_bias={0: -math.inf}))
    assert row.final.tolist() == pytest.approx([0, *softmax([1, 0, -1])])
    assert row.removed(0) == ("logit_bias", "its bias is minus infinity")
    assert stage(row, "logit_bias").kept == 3
    assert stage(row, "logit_bias").mass == pytest.approx(1 - softmax(FOUR.tolist())[0])
    assert final([2.0, 1, 0, -1], logit_bias={3: 1e30}) == [0, 0, 0, 1]


def test_bans_and_min_tokens() -> None:
    row = distribution(FOUR, SamplingParams(banned=(0,), min_tokens=3), answer_ids=[1, 1], end_ids=[1, 77])
    assert row.final.tolist() == pytest.approx([0, 0, *softmax([0, -1])])
    assert row.removed(0) == ("bans", "banned")
    assert row.removed(1) == ("bans", "end tokens wait until the answer has 3 tokens")
    after = distribution(FOUR, SamplingParams(min_tokens=3), answer_ids=[1, 1, 1], end_ids=[1])
    assert after.removed(1) == (None, None)
    assert not stage(after, "bans").active


def test_top_k_keeps_ties_with_the_kth() -> None:
    row = distribution(torch.tensor([3.0, 1, 2, 2, 2, 0]), SamplingParams(top_k=2))
    assert row.order.tolist() == [0, 2, 3, 4]
    assert stage(row, "top_k").cutoff == 2
    assert row.removed(1) == ("top_k", "logit 1 is under that of place 2, 2")
    assert distribution(FOUR, SamplingParams(top_k=99)).kept == 4


def test_top_k_reason_speaks_of_logits_after_temperature() -> None:
    row = distribution(FOUR, SamplingParams(top_k=1, temperature=0.5))
    assert row.removed(1) == ("top_k", "logit 2 after temperature 0.5 is under that of place 1, 4")


def test_a_reason_has_the_digits_that_tell_two_logits_apart() -> None:
    row = distribution(torch.tensor([3.0, 3.00001]), SamplingParams(top_k=1))
    assert row.removed(0) == ("top_k", "logit 3 is under that of place 1, 3.00001")


def test_top_p_keeps_the_token_that_reaches_the_mass_and_lowest_ids_of_ties() -> None:
    logits = torch.tensor([0.1, 0.4, 0.3, 0.2]).log()
    row = distribution(logits, SamplingParams(top_p=0.69))
    assert row.order.tolist() == [1, 2]
    assert stage(row, "top_p").cutoff == pytest.approx(0.7)
    assert stage(row, "top_p").mass == pytest.approx(0.7)
    assert row.removed(3) == ("top_p", "the likelier ones already hold 70% of the needed 69%")
    assert distribution(logits, SamplingParams(top_p=1e-12)).order.tolist() == [1]
    assert distribution(torch.zeros(8), SamplingParams(top_p=0.3)).order.tolist() == [0, 1, 2]


def test_min_p_keeps_what_is_level_with_the_floor() -> None:
    assert distribution(torch.tensor([1.0, 3, 3, 2]), SamplingParams(min_p=1)).order.tolist() == [1, 2]
    logits = torch.tensor([0.62, 0.3, 0.064, 0.016]).log()
    row = distribution(logits, SamplingParams(min_p=0.05))
    assert row.order.tolist() == [0, 1, 2]
    assert stage(row, "min_p").cutoff == pytest.approx(0.031)
    assert row.removed(3) == ("min_p", "1.6% is under 5% of 62%")


def test_typical_p_may_cut_the_likeliest() -> None:
    logits = torch.tensor([0.5, 0.2, 0.15, 0.1, 0.05]).log()
    entropy = -sum(p * math.log(p) for p in (0.5, 0.2, 0.15, 0.1, 0.05))
    row = distribution(logits, SamplingParams(typical_p=0.19))
    assert row.order.tolist() == [1]
    assert stage(row, "typical_p").cutoff == pytest.approx(-math.log(0.2) - entropy)
    name, why = row.removed(0)
    assert name == "typical_p"
    assert why == "its surprise of 0.693 nats is not within 0.276 of the entropy, 1.33"
    wider = distribution(logits, SamplingParams(typical_p=0.3))
    assert wider.order.tolist() == [1, 2]


def test_each_stage_sees_what_the_one_before_left() -> None:
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    row = distribution(logits, SamplingParams(top_k=2, top_p=0.5, min_p=0.9))
    # of the two kept by top-k the first holds 4/7, more than the half that top-p wants
    assert [(item.name, item.kept) for item in row.stages if item.active] == [
        ("top_k", 2),
        ("top_p", 1),
        ("min_p", 1),
    ]
    assert [row.removed(token)[0] for token in range(4)] == [None, "top_p", "top_k", "top_k"]


@pytest.mark.parametrize("temperature", [0, 1e-40, 5e-324])
def test_b22_greedy_where_dividing_is_impossible(temperature: float) -> None:
    row = distribution(torch.tensor([1.0, 5, 5, 3]), SamplingParams(temperature=temperature))
    assert row.greedy
    assert row.final.tolist() == [0, 1, 0, 0]
    assert row.final_entropy == 0
    assert row.removed(2) == ("greedy", "level with token 1, and the lowest id is taken")
    assert row.removed(3) == ("greedy", "logit 3 is not the largest, 5")
    assert stage(row, "temperature").kept == 1
    raw = softmax([1, 5, 5, 3])
    assert row.prob(np.arange(4)).tolist() == pytest.approx(raw)


def test_b22_small_and_large_temperatures_are_finite() -> None:
    for temperature in (1e-4, 1e-6):
        row = distribution(FOUR, SamplingParams(temperature=temperature))
        assert not row.greedy
        assert row.final.tolist() == [1, 0, 0, 0]
    assert final([2.0, 1, 0, -1], temperature=1e6) == pytest.approx([0.25] * 4, abs=1e-6)


def test_greedy_comes_after_bias_penalties_and_bans_and_filters_still_show() -> None:
    row = distribution(
        FOUR, SamplingParams(temperature=0, banned=(0,), logit_bias={3: 9}, top_k=2, top_p=0.9)
    )
    assert row.final.tolist() == [0, 0, 0, 1]
    assert row.removed(0) == ("bans", "banned")
    assert row.removed(1)[0] == "greedy"
    assert [(s.name, s.kept) for s in row.stages if s.active][-2:] == [("top_k", 1), ("top_p", 1)]


def test_a_padding_logit_at_the_end_of_float32_does_not_make_it_greedy() -> None:
    lowest = torch.finfo(torch.float32).min
    row = distribution(torch.tensor([1.0, 1.0, lowest]), SamplingParams(temperature=0.8))
    assert row.final.tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("all_of_them", [False, True])
def test_b28_nan_or_infinity_is_refused(bad: float, all_of_them: bool) -> None:
    logits = torch.full((4,), bad) if all_of_them else torch.tensor([1.0, bad, 2, -math.inf])
    with pytest.raises(NanLogits, match="NaN or infinity"):
        distribution(logits, SamplingParams(temperature=0, banned=(1,)))


def test_b28_no_token_left() -> None:
    with pytest.raises(NoTokenLeft, match="no token is left"):
        distribution(FOUR, SamplingParams(banned=(0, 1, 2, 3)))
    with pytest.raises(SamplingError, match="no token is left"):
        distribution(torch.full((4,), -math.inf), SamplingParams(temperature=0))


def test_minus_infinity_of_the_model_cannot_be_picked() -> None:
    row = distribution(torch.tensor([-math.inf, 0, 0]), SamplingParams(top_k=3, logit_bias={0: 30}))
    assert row.final.tolist() == [0, 0.5, 0.5]
    assert row.removed(0) == ("model", "the model itself excludes it")
    assert row.logprob(np.array([0])).tolist() == [-math.inf]
    assert row.entropy == pytest.approx(math.log(2))
    assert {item.kept for item in row.stages} == {2}


def test_penalised_scores_are_exact_beyond_float32() -> None:
    """Tokens 0 and 1 end closer than float32 can tell, in the order opposite to their ids."""
    row = distribution(torch.tensor([8.0, 8.0, 1.0]), SamplingParams(logit_bias={1: 1e-9}, top_k=1))
    assert row.order.tolist() == [1]
