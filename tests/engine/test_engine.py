"""LocalEngine on tiny random models: lanes, reuse, forks, what-if, limits."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.trace import Finished, Prompt, SamplingParams, TokenStep
from tests import fakes
from tests.engines import check_trace, engine_of, prompt_of

PROMPT = prompt_of([72, 101, 108, 108, 111])
FREE = SamplingParams(max_tokens=20, ignore_eos=True, seed=1)


@pytest.fixture(scope="module")
def engine():
    with engine_of(fakes.tiny_llama()) as made:
        yield made


def lanes_of(engine: LocalEngine, settings: list[SamplingParams], **options: object) -> dict[int, list[int]]:
    made: dict[int, list[int]] = {lane: [] for lane in range(len(settings))}
    for event in engine.stream(PROMPT, settings, **options):
        if isinstance(event, TokenStep):
            made[event.lane].append(event.token_id)
    return made


def test_events_come_in_order_and_the_trace_keeps_its_promises(engine: LocalEngine) -> None:
    events = list(engine.stream(PROMPT, FREE))
    assert isinstance(events[0], Prompt)
    assert [event.index for event in events[1:-1]] == list(range(20))
    assert isinstance(events[-1], Finished)
    check_trace(engine.run(PROMPT, replace(FREE, top_p=0.9, min_p=0.02, temperature=1.3)))


@torch.inference_mode()
def test_numbers_equal_the_model_without_cache(engine: LocalEngine) -> None:
    trace = engine.run(PROMPT, FREE)
    ids = [*PROMPT.ids, *trace.answer_ids]
    logprobs = engine.model(torch.tensor([ids])).logits[0].log_softmax(-1)
    assert trace.prompt.tokens[0].logprob is None
    for place, token in enumerate(trace.prompt.tokens[1:], start=1):
        row = logprobs[place - 1]
        assert token.logprob == pytest.approx(float(row[token.token_id]), abs=1e-4)
        assert token.rank == 1 + int((row > row[token.token_id]).sum())
    for step in trace.steps:
        row = logprobs[step.position - 1]
        assert step.logprob == pytest.approx(float(row[step.token_id]), abs=1e-4)
        assert step.entropy == pytest.approx(float(-(row.exp() * row).sum()), abs=1e-4)
        assert step.end_prob == pytest.approx(float(row[fakes.IM_END].exp()), abs=1e-5)


def test_a_lane_equals_its_solo_run_whatever_the_company(engine: LocalEngine) -> None:
    settings = [replace(FREE, seed=seed, max_tokens=10 + 7 * seed) for seed in range(5)]
    solo = [list(engine.run(PROMPT, lane, reuse=False).answer_ids) for lane in settings]
    assert list(lanes_of(engine, settings).values()) == solo
    assert list(lanes_of(engine, settings[::-1], reuse=False).values()) == solo[::-1]


def test_b31_seeds_do_not_depend_on_other_runs(engine: LocalEngine) -> None:
    alone = {seed: engine.run(PROMPT, replace(FREE, seed=seed), reuse=False).answer_ids for seed in (1, 2)}
    before = torch.get_rng_state()
    for _ in range(4):
        got: dict[object, tuple[int, ...]] = {}

        def work(seed: int | None, got: dict = got) -> None:
            got[seed] = engine.run(PROMPT, replace(FREE, seed=seed)).answer_ids

        threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, None)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {seed: got[seed] for seed in alone} == alone
    assert torch.equal(before, torch.get_rng_state())
    drawn = engine.run(PROMPT, replace(FREE, seed=None))
    assert drawn.params.seed is not None
    assert engine.run(PROMPT, drawn.params).answer_ids == drawn.answer_ids


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gemma3, fakes.tiny_mamba, fakes.tiny_gpt2])
def test_b30_cache_on_and_off_give_the_same(make: object) -> None:
    with engine_of(make()) as engine:
        for params in (replace(FREE, temperature=0.0), FREE):
            cached, plain = engine.run(PROMPT, params), engine.run(PROMPT, params, cache=False)
            assert cached.answer_ids == plain.answer_ids
            for one, other in zip(cached.steps, plain.steps, strict=True):
                assert one.prob == pytest.approx(other.prob, abs=1e-4)
                for mine, theirs in zip(one.candidates[:5], other.candidates[:5], strict=True):
                    assert mine.logit == pytest.approx(theirs.logit, abs=1e-3)
            assert plain.steps[3].kv_len == 0
            assert cached.steps[3].kv_len == 8


def test_prefix_reuse_reads_less_and_changes_nothing() -> None:
    model = fakes.scripted([], prompt_length=1)  # the real forward; `passes` counts
    with engine_of(model) as engine:
        first = engine.run(PROMPT, FREE)
        assert first.finished.reused_tokens == 0
        again = engine.run(PROMPT, FREE)
        assert again.finished.reused_tokens == 5
        assert again.finished.passes == 19  # the first row was at hand
        assert again.answer_ids == first.answer_ids
        assert again.prompt == first.prompt  # its scores too
        longer = prompt_of([*PROMPT.ids, *first.answer_ids, 33, 34])
        turn = engine.run(longer, FREE)
        fresh = engine.run(longer, FREE, reuse=False)
        assert turn.finished.reused_tokens > 20
        assert fresh.finished.reused_tokens == 0
        assert turn.answer_ids == fresh.answer_ids
        for one, other in zip(turn.prompt.tokens, fresh.prompt.tokens, strict=True):
            assert one.logprob == pytest.approx(other.logprob, abs=1e-4)
            assert one.rank == other.rank


def test_lanes_of_one_prompt_are_read_once() -> None:
    model = fakes.scripted([], prompt_length=1)
    with engine_of(model) as engine:
        events = list(engine.stream(PROMPT, [replace(FREE, seed=seed) for seed in range(4)]))
        ends = [event for event in events if isinstance(event, Finished)]
        assert sorted(end.reused_tokens for end in ends) == [0, 5, 5, 5]
        assert model.passes == 1 + 19
        assert {
            event.batch_lanes for event in events if isinstance(event, TokenStep) and event.index > 2
        } == {4}


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gemma3])
def test_b47_every_fork_equals_a_fresh_run(make: object) -> None:
    with engine_of(make()) as engine:
        parent = check_trace(engine.run(PROMPT, FREE))
        saved = parent.to_json()
        for step in (0, 3, 12):
            for token_id in (65, 66):
                fork = check_trace(engine.fork(parent, step=step, token_id=token_id))
                forced = [*parent.answer_ids[:step], token_id]
                fresh = engine.run(PROMPT, FREE, forced=forced, reuse=False)
                assert fork.answer_ids == fresh.answer_ids
                assert fork.parent is not None
                assert (fork.parent.trace, fork.parent.step) == (parent.id, step)
                assert [item.draw.method for item in fork.steps[: step + 1]] == ["forced"] * (step + 1)
                for one, other in zip(fork.steps, fresh.steps, strict=True):
                    assert one.prob == pytest.approx(other.prob, abs=1e-5)
                    assert one.final_prob == pytest.approx(other.final_prob, abs=1e-5)
                    assert one.rank == other.rank
        assert parent.to_json() == saved
        assert engine.run(PROMPT, FREE).answer_ids == parent.answer_ids


def test_a_fork_under_other_settings_recomputes_the_shared_steps(engine: LocalEngine) -> None:
    parent = engine.run(PROMPT, FREE)
    other = replace(FREE, temperature=0.5)
    fork = check_trace(engine.fork(parent, step=4, token_ids=[70, 71], params=other))
    fresh = engine.run(PROMPT, other, forced=[*parent.answer_ids[:4], 70, 71], reuse=False, cache=False)
    assert fork.answer_ids == fresh.answer_ids
    for one, two in zip(fork.steps, fresh.steps, strict=True):
        assert one.final_prob == pytest.approx(two.final_prob, abs=1e-5)


def test_a_fork_reads_only_the_new_token() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        parent = engine.run(PROMPT, FREE)
        fork = engine.fork(parent, step=10, token_id=65, params=replace(FREE, max_tokens=12))
        assert fork.finished.passes == 1
        assert fork.finished.reused_tokens == 5


def test_redistribute_is_the_run_under_those_settings(engine: LocalEngine) -> None:
    trace = engine.run(PROMPT, FREE)
    for params in (replace(FREE, temperature=0.3), replace(FREE, top_k=3), replace(FREE, temperature=0.0)):
        step = engine.redistribute(trace, step=6, params=params)
        fresh = engine.run(PROMPT, replace(params, max_tokens=7), forced=trace.answer_ids[:6]).steps[6]
        assert step.forward_s == 0
        assert (step.token_id, step.draw) == (fresh.token_id, fresh.draw)
        assert step.candidates == fresh.candidates
        assert step.prob == fresh.prob


def test_redistribute_rolls_any_dice(engine: LocalEngine) -> None:
    trace = engine.run(PROMPT, FREE)
    picked = [engine.redistribute_ids(PROMPT.ids, trace.answer_ids, 4, FREE, u=u) for u in (0.0, 0.4, 0.99)]
    for step, u in zip(picked, (0.0, 0.4, 0.99), strict=True):
        assert step.draw.u == u
        assert step.draw.low <= u < step.draw.high
    assert len({step.token_id for step in picked}) > 1
    own = trace.steps[4].draw.u
    assert engine.redistribute_ids(PROMPT.ids, trace.answer_ids, 4, FREE, u=own).draw == trace.steps[4].draw
    for u in (1.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="u must be in"):
            engine.redistribute_ids(PROMPT.ids, trace.answer_ids, 4, FREE, u=u)


def test_redistribute_brings_dropped_logits_back() -> None:
    with engine_of(fakes.tiny_llama(), logits_pool_mb=1) as engine:
        trace = engine.run(PROMPT, FREE)
        kept = engine.redistribute(trace, step=5, params=FREE)
        engine._pool._rows.clear()
        again = engine.redistribute(trace, step=5, params=FREE)
        assert again.forward_s > 0
        assert again.prob == pytest.approx(kept.prob, abs=1e-5)
        assert again.token_id == kept.token_id == trace.steps[5].token_id


def test_watched_ids_are_listed_at_every_step(engine: LocalEngine) -> None:
    trace = check_trace(engine.run(PROMPT, FREE, watched=[250], top_n=3))
    for step in trace.steps:
        entry = next(entry for entry in step.candidates if entry.token_id == 250)
        assert entry.listed_for in ("watched", "chosen")
        assert len(step.candidates) <= 3 + 3 + 3


def test_b44_full_context() -> None:
    with engine_of(fakes.tiny_llama(positions=32), context=32) as engine:
        settings = replace(FREE, max_tokens=10)
        one = check_trace(engine.run(prompt_of([65] * 31), settings))
        assert (one.finished.reason, len(one.steps)) == ("context_full", 1)
        for length in (32, 40):
            with pytest.raises(ValueError, match=rf"{length} tokens.* 32 "):
                engine.stream(prompt_of([65] * length), settings)
        room = engine.run(prompt_of([65] * 22), settings)
        assert (room.finished.reason, len(room.steps)) == ("max_tokens", 10)


def test_b27_ids_that_the_model_lacks_are_refused_before_the_run(engine: LocalEngine) -> None:
    for params in (SamplingParams(logit_bias={259: 5.0}), SamplingParams(banned=(300,))):
        with pytest.raises(ValueError, match="0 to 258"):
            engine.stream(PROMPT, params)
    for options in ({"forced": [259]}, {"watched": [-1]}):
        with pytest.raises(ValueError, match="0 to 258"):
            engine.stream(PROMPT, FREE, **options)
    sure = engine.run(PROMPT, replace(FREE, logit_bias={65: 1e30}, max_tokens=3))
    assert check_trace(sure).answer_ids == (65, 65, 65)
    assert engine.run(PROMPT, FREE).finished.reason == "max_tokens"


def test_a_run_that_could_outgrow_the_cache_budget_is_refused() -> None:
    with engine_of(fakes.tiny_llama(positions=8192), context=8192, kv_mb=1) as engine:
        with pytest.raises(ValueError, match="MB"):
            engine.stream(PROMPT, replace(FREE, max_tokens=8000))
        settings = [replace(FREE, max_tokens=1500, stop=("never",), seed=seed) for seed in range(3)]
        stream = engine.stream(PROMPT, settings)
        for _ in range(10):
            next(stream)
        assert engine.status()["waiting"] >= 1  # together they might not fit
        stream.close()


def test_long_and_short_lanes_part_and_still_agree() -> None:
    model = fakes.tiny_llama(positions=4096)
    with engine_of(model, context=4096) as engine:
        engine._scheduler.seating.weight_bytes = 100 * engine._scheduler.seating.token_bytes
        long = prompt_of([(7 * place) % 250 for place in range(600)])
        alone = engine.run(long, FREE, reuse=False).answer_ids
        stream = engine.stream(long, FREE, reuse=False)
        short = engine.run(PROMPT, FREE, reuse=False)
        ids = [event.token_id for event in stream if isinstance(event, TokenStep)]
        assert tuple(ids) == alone
        assert short.answer_ids == engine.run(PROMPT, FREE, reuse=False).answer_ids


def test_more_lanes_than_slots_wait_their_turn() -> None:
    with engine_of(fakes.tiny_llama(), max_lanes=2) as engine:
        settings = [replace(FREE, seed=seed, max_tokens=5) for seed in range(5)]
        made = lanes_of(engine, settings)
        assert [len(ids) for ids in made.values()] == [5] * 5
        assert engine.status() == {"running": 0, "waiting": 0, "free": 2}


def test_a_closed_engine_says_so() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        engine.stream(PROMPT, FREE)


def test_steps_that_the_reader_has_are_not_made_again(engine: LocalEngine) -> None:
    """Step, Play and Force go on with a run whose first steps the page holds."""
    whole = engine.run(PROMPT, FREE)
    for reuse in (True, False):
        options = {"forced": whole.answer_ids[:8], "known": 7, "reuse": reuse}
        events = list(engine.stream(PROMPT, FREE, **options))
        steps = [event for event in events if isinstance(event, TokenStep)]
        assert [step.index for step in steps] == list(range(7, 20))
        assert [step.token_id for step in steps] == list(whole.answer_ids[7:])
        assert steps[0].draw.method == "forced"
        assert events[-1].text == whole.text
        assert [token.rank for token in events[0].tokens] == [token.rank for token in whole.prompt.tokens]
    # What was read without steps has its scores all the same when it becomes a prompt.
    later = engine.run(prompt_of([*PROMPT.ids, *whole.answer_ids]), FREE)
    assert [token.rank for token in later.prompt.tokens[5:]] == [step.rank for step in whole.steps]
    with pytest.raises(ValueError, match="known"):
        engine.stream(PROMPT, FREE, known=1)


def test_a_prompt_keeps_its_scores_whatever_ran_before() -> None:
    """Prefixes left by runs whose steps were not all made: known ones, ones after a stop in given text."""
    with engine_of(fakes.tiny_llama()) as engine:
        made = engine.run(PROMPT, replace(FREE, max_tokens=4)).answer_ids
        list(engine.stream(PROMPT, replace(FREE, max_tokens=6), forced=made, known=4))
        engine.run(PROMPT, replace(FREE, stop=("b",)), forced=list(b"abcdef"))
        for more in (made, tuple(b"abcdef")):
            prompt = prompt_of([*PROMPT.ids, *more, 7])
            reused = engine.run(prompt, replace(FREE, max_tokens=1)).prompt.tokens
            fresh = engine.run(prompt, replace(FREE, max_tokens=1), reuse=False).prompt.tokens
            assert [token.rank for token in reused] == [token.rank for token in fresh]
            assert None not in [token.logprob for token in reused[1:]]


def test_what_cannot_be_looked_at_is_refused(engine: LocalEngine) -> None:
    for options in ({"token_id": -1}, {"token_id": 259}, {"watched": [9999]}, {"top_n": 0}, {"top_n": True}):
        with pytest.raises(ValueError, match=r"259|9999|-1|top_n"):
            engine.redistribute_ids(PROMPT.ids, (), 0, FREE, **options)


def test_more_given_tokens_than_wanted_are_refused(engine: LocalEngine) -> None:
    parent = engine.run(PROMPT, replace(FREE, max_tokens=3))
    with pytest.raises(ValueError, match="max_tokens is 3"):
        engine.fork(parent, step=3, token_id=65)
    assert len(engine.fork(parent, step=2, token_id=65).steps) == 3


def test_a_fork_that_lists_more_makes_its_steps_anew(engine: LocalEngine) -> None:
    parent = engine.run(PROMPT, FREE)
    fork = engine.fork(parent, step=3, token_id=65, top_n=60)
    assert all(len(step.candidates) >= 60 for step in fork.steps)
