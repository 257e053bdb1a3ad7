"""What is kept of past passes: found by ids, bounded in bytes."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from playground.engine.pool import IdsKey, LogitsPool, PrefixStore
from playground.trace import Prompt, PromptToken, SamplingParams, Segment
from tests import fakes
from tests.engines import engine_of, prompt_of

IDS = st.lists(st.integers(0, 2**32 - 1), max_size=6)


@given(IDS, IDS)
def test_keys_are_equal_exactly_where_ids_are(first: list[int], second: list[int]) -> None:
    assert (IdsKey(first).key == IdsKey(second).key) == (first == second)


@given(IDS, IDS)
def test_a_key_does_not_depend_on_how_the_ids_came(first: list[int], second: list[int]) -> None:
    key = IdsKey(first)
    assert key.extend(second) == IdsKey([*first, *second]).key


def test_the_pool_drops_what_is_oldest() -> None:
    pool = LogitsPool(3 * 40)  # three rows of ten float32
    for number in range(5):
        pool.put(bytes([number]), torch.full((10,), float(number)))
    assert pool.bytes == 120
    assert [pool.get(bytes([number])) is not None for number in range(5)] == [False, False, True, True, True]
    pool.put(bytes([2]), torch.zeros(10))  # known already: it only becomes the newest
    pool.put(bytes([9]), torch.zeros(10))
    kept = pool.get(bytes([2]))
    assert kept is not None
    assert float(kept[0]) == 2.0
    assert pool.get(bytes([3])) is None
    pool.put(b"large", torch.zeros(1000))
    assert pool.get(b"large") is None


def test_the_pool_keeps_a_copy_in_the_models_own_dtype() -> None:
    pool, row = LogitsPool(1000), torch.ones(10, dtype=torch.bfloat16)
    pool.put(b"row", row)
    row.zero_()
    kept = pool.get(b"row")
    assert kept is not None
    assert kept.dtype == torch.bfloat16
    assert bool((kept == 1).all())


def states(length: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(torch.zeros(2, length, 4), torch.zeros(2, length, 4))]  # 64 bytes a position


def test_the_longest_shared_prefix_is_found_and_the_oldest_dropped() -> None:
    store = PrefixStore()
    store.keep([1, 2, 3], states(3), [None] * 3, room=1000)
    store.keep([1, 9], states(2), [None] * 2, room=1000)
    prefix, shared = store.longest(np.array([1, 2, 7]))
    assert shared == 2
    assert prefix is not None
    assert prefix.ids.tolist() == [1, 2, 3]
    store.keep([1, 2, 3, 4], states(4), [None] * 4, room=1000)
    assert len(store) == 2  # what it holds as well is not kept twice
    store.keep([1, 2], states(2), [None, (-0.5, 3)], room=1000)
    assert len(store) == 2  # nor is the beginning of another
    prefix, shared = store.longest(np.array([1, 2, 3, 4, 5]))
    assert shared == 4
    assert prefix is not None
    assert prefix.scores == [None, (-0.5, 3), None, None]
    store.keep([5, 6, 7, 8], states(4), [None] * 4, room=600)
    assert store.bytes <= 600
    assert store.longest(np.array([1, 9]))[1] == 1  # the oldest went
    store.keep([6] * 20, states(20), [None] * 20, room=600)
    assert store.longest(np.array([6, 6]))[1] == 0  # larger than the room
    store.shrink(0)
    assert (len(store), store.bytes) == (0, 0)


def test_b43_many_runs_stay_inside_the_bounds() -> None:
    with engine_of(fakes.tiny_llama(), kv_mb=1, logits_pool_mb=1) as engine:
        for number in range(60):
            prompt = prompt_of([number, *range(40)])
            engine.run(prompt, SamplingParams(max_tokens=20, ignore_eos=True, seed=number))
        seating = engine._scheduler.seating
        assert engine._pool.bytes <= 2**20
        assert 0 < len(engine._pool) < 60 * 20
        assert seating.prefixes.bytes + sum(batch.total_bytes for batch in seating.batches) <= 2**20
        assert not seating.seats
        assert not engine._scheduler._runs


@given(IDS, st.text(max_size=5), st.text(max_size=5))
def test_two_owners_never_share_a_key(ids: list[int], first: str, second: str) -> None:
    assert (IdsKey(ids, first).key == IdsKey(ids, second).key) == (first == second)


def test_of_others_only_what_the_template_wrote_is_taken_over() -> None:
    """Neither keys and values, nor rows of logits: the time to the first token tells nothing."""
    segments = (Segment("template", 0, 8, True), Segment("user", 8, 40, False))
    ids = list(range(40))
    tokens = tuple(PromptToken(i, i, b"x", i, i + 1, 0 if i < 8 else 1, False, None, None) for i in range(40))
    prompt = Prompt("x" * 40, segments, tokens, tuple(ids), None)
    params = SamplingParams(max_tokens=3, ignore_eos=True, seed=1)
    with engine_of(fakes.tiny_llama()) as engine:
        runs = {}
        for name, owner in (("first", "ann"), ("again", "ann"), ("other", "bob"), ("bob again", "bob")):
            runs[name] = engine.run(prompt, params, owner=owner)
        reused = {name: run.finished.reused_tokens for name, run in runs.items()}
        assert reused == {
            "first": 0,
            "again": 40,
            "other": 7,
            "bob again": 40,
        }  # the score of the 8th needs the row before it
        assert runs["other"].finished.prefill_s > 0
        assert len({run.answer_ids for run in runs.values()}) == 1
        look = {
            owner: engine.redistribute_ids(ids, runs["first"].answer_ids, 1, params, owner=owner).forward_s
            for owner in ("ann", "bob", "eve")
        }
        assert look["ann"] == look["bob"] == 0 < look["eve"]
