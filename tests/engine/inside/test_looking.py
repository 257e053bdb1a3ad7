"""Looking changes nothing: no run, no cache, no setting of the model; and what looks cost is bounded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
import torch

from playground.engine.inline import InlineEngine
from playground.engine.inside import Inside
from playground.engine.inside.attention import _pass
from playground.engine.inside.kept import Kept
from playground.engine.local import LocalEngine
from playground.trace import SamplingParams, TokenStep, Trace
from tests import fakes
from tests.engine.inside.models import tiny_gemma2
from tests.engines import engine_of, prompt_of

PROMPT = prompt_of([72, 101, 108, 108, 111])
GREEDY = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)
DRAWN = SamplingParams(temperature=1.0, seed=7, max_tokens=20, ignore_eos=True)

MAKES = [fakes.tiny_llama, fakes.tiny_gpt2, fakes.tiny_gemma3, fakes.tiny_mistral, tiny_gemma2]


def inside_of(engine: LocalEngine) -> Inside:
    assert engine.inside is not None
    return engine.inside


def look(inside: Inside, ids: list[int], owner: str = "") -> None:
    """Every view of this part, at the last of `ids`."""
    last = len(ids) - 1
    inside.attention_grid(ids, owner=owner)
    inside.attention_map(ids, layer=1, head=2, owner=owner)
    inside.attention_map(ids, owner=owner)
    inside.attention_row(ids, last, layer=0, head=1, owner=owner)
    inside.rollout(ids, last, owner=owner)
    inside.lens(ids, last - 1, owner=owner)


def numbers(trace: Trace) -> list[tuple]:
    """All of a trace that does not depend on the clock."""
    return [
        (step.token_id, step.prob, step.rank, step.entropy, step.final_prob, step.draw, step.candidates)
        for step in trace.steps
    ]


@contextmanager
def passes_of(model: Any) -> Iterator[list[int]]:
    """The length of each pass over the model while it holds."""
    lengths: list[int] = []
    handle = model.register_forward_pre_hook(
        lambda _, given, named: lengths.append(named["input_ids"].shape[1]), with_kwargs=True
    )
    try:
        yield lengths
    finally:
        handle.remove()


@pytest.mark.parametrize("make", MAKES)
def test_b47_a_run_after_a_look_is_the_run_before_it(make: Callable[[], Any]) -> None:
    with engine_of(make()) as engine:
        before = engine.run(PROMPT, GREEDY)
        look(inside_of(engine), [*PROMPT.ids, *before.answer_ids])
        assert numbers(engine.run(PROMPT, GREEDY)) == numbers(before)
        forked = engine.fork(before, step=3, token_id=11)
    with engine_of(make()) as engine:  # nothing of the look is in there
        assert numbers(engine.run(PROMPT, GREEDY, reuse=False)) == numbers(before)
        fresh = engine.run(PROMPT, GREEDY, forced=forked.answer_ids[:4])
    assert forked.answer_ids == fresh.answer_ids
    for one, other in zip(forked.steps, fresh.steps, strict=True):
        assert abs(one.logprob - other.logprob) < 1e-5


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gemma3])
def test_looks_in_the_middle_of_a_run_do_not_change_it(make: Callable[[], Any]) -> None:
    with engine_of(make()) as engine:
        alone = engine.run(PROMPT, DRAWN, reuse=False)
    ids = [*PROMPT.ids, *alone.answer_ids][:20]
    with engine_of(make()) as engine:
        running = threading.Event()
        seen: list[str] = []

        def watch(owner: str) -> None:
            while running.is_set():
                look(inside_of(engine), ids, owner)
                inside_of(engine)._reader.kept._values.clear()
                seen.append(owner)

        running.set()
        watchers = [threading.Thread(target=watch, args=(f"visitor {n}",)) for n in range(2)]
        for watcher in watchers:
            watcher.start()
        try:
            runs = [engine.run(PROMPT, DRAWN, reuse=False) for _ in range(2)]
        finally:
            running.clear()
            for watcher in watchers:
                watcher.join()
        assert len(seen) >= 2
        for run in runs:
            assert numbers(run) == numbers(alone)


def test_keys_and_values_of_a_run_stay_as_they_are() -> None:
    model = fakes.scripted([], prompt_length=5, delay=0.005, layers=2)
    with engine_of(model) as engine:
        stream = engine.stream(PROMPT, SamplingParams(max_tokens=200, ignore_eos=True))
        events = iter(stream)
        ids = [*PROMPT.ids]
        while len(ids) < 12:
            event = next(events)
            if isinstance(event, TokenStep):
                ids.append(event.token_id)

        def copies() -> list[torch.Tensor]:
            (batch,) = engine._scheduler.seating.batches
            return [
                states[0, :, :11].clone() for layer in batch.layers for states in (layer.keys, layer.values)
            ]

        before = engine._scheduler.call(copies).result()
        length = len(engine._pool)
        look(inside_of(engine), ids)
        after = engine._scheduler.call(copies).result()
        assert all(map(torch.equal, before, after))
        assert any(states.abs().sum() > 0 for states in before)
        assert engine.status()["running"] == 1
        assert len(engine._pool) >= length
        stream.close()


def test_what_is_kept_of_prompts_and_logits_stays_as_it_is() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        trace = engine.run(PROMPT, GREEDY)
        kept = engine._scheduler.seating.prefixes
        rows = {key: row.clone() for key, row in engine._pool._rows.items()}
        states = [part.clone() for prefix in kept._kept for pair in prefix.states for part in pair]
        look(inside_of(engine), [*PROMPT.ids, *trace.answer_ids])
        assert engine._pool._rows.keys() == rows.keys()
        assert all(torch.equal(engine._pool._rows[key], row) for key, row in rows.items())
        now = [part for prefix in kept._kept for pair in prefix.states for part in pair]
        assert states
        assert all(map(torch.equal, states, now))


def test_a_look_that_fails_leaves_nothing_behind() -> None:
    model = fakes.tiny_llama()
    ids = [*PROMPT.ids, 1, 2, 3]
    with engine_of(model) as engine:
        before = engine.run(PROMPT, GREEDY)
        for error in (torch.OutOfMemoryError("no room"), RuntimeError("broken\nin two")):

            def fail(*given: Any, error: BaseException = error) -> None:
                raise error

            handle = model.model.layers[2].mlp.register_forward_pre_hook(fail)
            for again in (
                lambda: inside_of(engine).attention_grid(ids),
                lambda: inside_of(engine).lens(ids, 3),
            ):
                with pytest.raises(
                    ValueError,
                    match=r"^The (machine ran out of memory|model failed) during this look[^\n]*\.$",
                ):
                    again()
            assert model.config._attn_implementation == "sdpa"
            assert not model.model.norm._forward_pre_hooks
            handle.remove()
        assert numbers(engine.run(PROMPT, GREEDY)) == numbers(before)
        look(inside_of(engine), ids)
        assert model.config._attn_implementation == "sdpa"


def test_an_engine_that_is_closed_says_so() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        inside = inside_of(engine)
    with pytest.raises(ValueError, match="model was changed meanwhile"):
        inside.lens([1, 2, 3], 1)


def test_one_piece_of_a_look_runs_between_two_passes() -> None:
    """Ten visitors who look at once do not hold up a run for ten looks."""
    model = fakes.scripted([], prompt_length=5, delay=0.002)
    with engine_of(model) as engine:
        stream = engine.stream(PROMPT, SamplingParams(max_tokens=100, ignore_eos=True))
        next(iter(stream))
        counts = [engine._scheduler.call(lambda: model.passes) for _ in range(10)]
        seen = [count.result(timeout=10) for count in counts]
        stream.close()
    assert all(later > earlier for earlier, later in pairwise(seen))


def test_calls_that_wait_when_the_engine_closes_are_answered() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        engine._scheduler.call(lambda: time.sleep(0.05))
        waiting = [engine._scheduler.call(lambda: 1) for _ in range(5)]
        engine.close()
        assert [call.result(timeout=5) for call in waiting] == [1] * 5


def test_a_pass_serves_every_view_of_the_same_run_and_owner() -> None:
    model = fakes.tiny_llama()
    ids = [*range(60, 90)]
    with engine_of(model) as engine, passes_of(model) as passes:
        inside = inside_of(engine)
        look(inside, ids)
        assert passes == [30, 30, 29, 1]  # as runs have it, noted; for the lens, and its end once more
        look(inside, ids)
        assert len(passes) == 4
        look(inside, ids, "another visitor")
        assert len(passes) == 8  # nobody can tell from the time what others looked at


def test_logits_that_a_run_left_save_a_pass() -> None:
    model = fakes.tiny_llama()
    with engine_of(model) as engine:
        trace = engine.run(PROMPT, GREEDY, owner="me")
        ids = [*PROMPT.ids, *trace.answer_ids]
        with passes_of(model) as passes:
            inside_of(engine).attention_grid(ids, owner="me")
            assert passes == [len(ids)]
            inside_of(engine).attention_grid(ids, owner="you")
            assert passes == [len(ids)] * 3


def test_what_is_kept_is_bounded() -> None:
    kept = Kept(100)
    kept.put("a", 1, 40)
    kept.put("b", 2, 40)
    assert kept.get("a") == 1
    kept.put("c", 3, 40)  # the one used longest ago goes
    assert (kept.get("a"), kept.get("b"), kept.get("c"), kept.bytes) == (1, None, 3, 80)
    kept.put("a", 4, 60)
    assert (kept.get("a"), kept.bytes, len(kept)) == (4, 100, 2)
    kept.put("d", 5, 101)
    assert (kept.get("d"), kept.bytes) == (None, 100)


def test_what_looks_keep_is_counted_in_bytes() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        inside = inside_of(engine)
        inside.attention_grid([*range(20)])
        per_token = 3 * (4 * 8 + 2 * 8 + 2) * 4  # queries, keys and lengths of values, over three layers
        assert inside._reader.kept.bytes == 20 * per_token + 3 * 20 * 20  # and who may look at whom


def test_where_no_look_can_be_had() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        assert engine.capabilities.attention
    loaded = fakes.loaded(fakes.tiny_llama())
    inline = InlineEngine(loaded, lambda *given: iter(()))
    assert inline.inside is None
    assert not inline.capabilities.attention
    inline.close()


@pytest.mark.gpu
@pytest.mark.parametrize("make", MAKES)
def test_looks_on_an_accelerator_see_what_a_cpu_sees(make: Callable[[], Any]) -> None:
    ids = [*range(60, 90)]
    with engine_of(make()) as here, engine_of(make().cuda()) as there:
        one, other = inside_of(here), inside_of(there)
        seen = [each.attention_row(ids, 20, layer=1, head=2) for each in (one, other)]
        assert seen[0].weights == pytest.approx(seen[1].weights, abs=1e-4)
        lenses = [each.lens(ids, 20) for each in (one, other)]
        for row, again in zip(*(lens.rows for lens in lenses), strict=True):
            assert row.entropy == pytest.approx(again.entropy, abs=1e-3)
        look(other, ids)


@pytest.mark.model
def test_b48_attention_and_lens_of_the_bundled_model(bundled: Any) -> None:
    engine = LocalEngine(bundled)
    try:
        prompt = engine.raw("The capital of France is Paris, and")
        trace = engine.run(prompt, SamplingParams(temperature=0.0, max_tokens=4, ignore_eos=True))
        ids = [*prompt.ids, *trace.answer_ids[:3]]
        inside = inside_of(engine)
        reader = inside._reader
        shape = inside.shape()
        assert (shape.layers, shape.heads, shape.kv_heads, shape.tied) == (30, 9, 3, True)
        assert (shape.family, shape.positions) == ("llama", "rotary")
        assert 134e6 < shape.parameters < 135e6

        grid = inside.attention_grid(ids)
        assert (len(grid.thumbs), {len(layer) for layer in grid.thumbs}) == (30, {9})
        layers = reader.kept.get(reader.key("attention", ids, ""))
        for layer in layers:
            weights = layer.steps().weights
            assert weights.shape == (9, len(ids), len(ids))  # full width for the answer's rows, too
            assert (weights.sum(-1) - 1).abs().max() < 1e-4
            assert not weights.triu(1).any()

        own = torch.stack([reader.call(lambda place=place: reader.logits(ids, place)) for place in range(10)])
        noted = [reader.call(lambda place=place: _pass(reader, tuple(ids), place))[1] for place in range(10)]
        assert (torch.stack(noted) - own).abs().max() < 1e-4

        for step in range(4):
            lens = inside.lens([*ids, 0], len(prompt.ids) - 1 + step)
            assert len(lens.rows) == 31
            assert lens.error < 1e-4
            last = lens.rows[-1]
            assert last.tokens[0].token_id == trace.steps[step].token_id
            assert abs(last.tokens[0].prob - trace.steps[step].prob) < 1e-4
        again = engine.run(prompt, trace.params)
        assert again.answer_ids == trace.answer_ids
        assert numbers(again) == numbers(trace)
    finally:
        engine.close()
