"""Known answers of the bundled model, and the cases that need its tokens."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.engine.models import load_model
from playground.trace import SamplingParams, TokenStep
from tests.engines import check_trace

pytestmark = pytest.mark.model

GREEDY = SamplingParams(temperature=0.0, max_tokens=4)
ALPHABET = "The English alphabet is: A, B, C,"
LOGPROBS = (-2.3388, -0.7586, -0.7578, -0.4354)


@pytest.fixture(scope="module")
def engine(bundled):
    made = LocalEngine(bundled)
    yield made
    made.close()


def say_hi(engine: LocalEngine):
    return engine.chat([{"role": "user", "content": "Say hi"}])


@torch.inference_mode()
def test_b11_known_answers(engine: LocalEngine) -> None:
    trace = check_trace(engine.run(say_hi(engine), GREEDY))
    assert len(trace.prompt.ids) == 32
    assert trace.answer_ids == (19556, 665, 28, 10668)
    assert [step.logprob for step in trace.steps] == pytest.approx(LOGPROBS, abs=1e-3)
    assert [step.rank for step in trace.steps] == [1, 1, 1, 1]
    fork = engine.fork(trace, step=2, token_id=17, params=replace(GREEDY, max_tokens=6))
    assert [step.logprob for step in fork.steps[:2]] == pytest.approx(LOGPROBS[:2], abs=1e-3)
    scored = engine.run(engine.raw(ALPHABET), replace(GREEDY, max_tokens=1)).prompt
    assert scored.tokens[0].logprob is None
    logits = engine.model(torch.tensor([scored.ids])).logits[0]
    for place, token in enumerate(scored.tokens[1:], start=1):
        row = logits[place - 1].log_softmax(-1)
        assert token.logprob == pytest.approx(float(row[token.token_id]), abs=1e-4)


def test_the_capital_of_france(engine: LocalEngine) -> None:
    prompt = engine.chat([{"role": "user", "content": "What is the capital of France?"}])
    trace = check_trace(engine.run(prompt, replace(GREEDY, max_tokens=30)))
    assert trace.text.startswith("The capital of France is Paris.")


@pytest.mark.parametrize(
    ("stop", "text", "rows"),
    [
        ((", F, G",), " D, E", None),
        ((", F, Q",), " D, E, F, G, H,", 10),
        (("E",), " D, ", 3),
        (("F",), " D, E, ", 5),
        (("F", ", F"), " D, E", 5),
        ((", F", "F"), " D, E", 5),
    ],
)
def test_b19_b20_stop_strings(
    engine: LocalEngine, stop: tuple[str, ...], text: str, rows: int | None
) -> None:
    settings = replace(GREEDY, max_tokens=10, stop=stop)
    shown = ""
    for event in engine.stream(engine.raw(ALPHABET), settings):
        if isinstance(event, TokenStep):
            shown += event.text
            assert ", F" not in shown or stop == (", F, Q",)
    trace = check_trace(engine.run(engine.raw(ALPHABET), settings))
    assert shown == trace.text == text
    assert rows is None or len(trace.steps) == rows
    if stop == ("E",):
        assert trace.steps[-1].trimmed == 1


@pytest.mark.parametrize("temperature", [0.0, 1e-4, 1e-6, 1e-40])
def test_b22_temperatures_that_come_to_greedy(engine: LocalEngine, temperature: float) -> None:
    step = engine.run(say_hi(engine), replace(GREEDY, temperature=temperature, max_tokens=1)).steps[0]
    assert step.token_id == 19556
    assert step.final_prob == pytest.approx(1.0)
    by_id = {entry.token_id: entry for entry in step.candidates}
    assert [by_id[one].prob for one in (19556, 57, 10813)] == pytest.approx(
        [0.0964, 0.0909, 0.0412], abs=1e-3
    )
    assert len(step.candidates) >= 20


@pytest.mark.parametrize("temperature", [float("inf"), float("nan"), -1, ""])
def test_b22_temperatures_that_are_refused(temperature: object) -> None:
    with pytest.raises(ValueError, match="temperature"):
        SamplingParams(temperature=temperature)  # type: ignore[arg-type]


def test_b33_which_distribution(engine: LocalEngine) -> None:
    right = {0.5: (0.3129, 0.2780, 0.0570), 1.0: (0.0964, 0.0909, 0.0412), 2.0: (0.0119, 0.0116, 0.0078)}
    for temperature, final in right.items():
        step = engine.run(say_hi(engine), SamplingParams(temperature=temperature, max_tokens=1)).steps[0]
        by_id = {entry.token_id: entry for entry in step.candidates}
        assert [by_id[one].final_prob for one in (19556, 57, 10813)] == pytest.approx(final, abs=1e-3)
        assert [by_id[one].prob for one in (19556, 57, 10813)] == pytest.approx(right[1.0], abs=1e-3)
    step = check_trace(engine.run(say_hi(engine), SamplingParams(top_p=0.9, max_tokens=1), top_n=10)).steps[0]
    nucleus = next(stage for stage in step.stages if stage.name == "top_p")
    assert nucleus.kept == 123


def test_b30_cache_on_and_off(engine: LocalEngine) -> None:
    prompt = engine.chat([{"role": "user", "content": "Count from 1 to 5, one number per line."}])
    assert len(prompt.ids) == 43
    with_cache = engine.run(prompt, replace(GREEDY, max_tokens=8), reuse=False)
    without = engine.run(prompt, replace(GREEDY, max_tokens=8), cache=False)
    assert with_cache.answer_ids == without.answer_ids
    assert with_cache.text.startswith("1. 1\n2. ")
    for one, other in zip(with_cache.steps, without.steps, strict=True):
        assert [entry.logit for entry in one.candidates[:8]] == pytest.approx(
            [entry.logit for entry in other.candidates[:8]], abs=1e-3
        )


def test_four_lanes_of_other_lengths_equal_their_solo_runs(engine: LocalEngine) -> None:
    """In float32 company changes nothing, though every run has a prompt and a length of its own."""
    words = ["Say hi", "Name three rivers of Europe.", "Why is the sky blue?", "Write a haiku about snow."]
    prompts = [engine.chat([{"role": "user", "content": word}]) for word in words]
    settings = [SamplingParams(temperature=0.9, seed=5, max_tokens=12 + 4 * lane) for lane in range(4)]
    solo = [engine.run(*pair, reuse=False).answer_ids for pair in zip(prompts, settings, strict=True)]
    streams = [engine.stream(*pair, reuse=False) for pair in zip(prompts, settings, strict=True)]
    made = [tuple(event.token_id for event in stream if isinstance(event, TokenStep)) for stream in streams]
    assert made == solo


def test_lanes_of_a_comparison_equal_solo_runs_in_any_order(engine: LocalEngine) -> None:
    prompt = say_hi(engine)
    settings = [SamplingParams(temperature=t, seed=4, max_tokens=12) for t in (0.0, 0.7, 1.5)]
    solo = [engine.run(prompt, lane, reuse=False).answer_ids for lane in settings]
    for order in (settings, settings[::-1]):
        made: dict[int, tuple[int, ...]] = {}
        for event in engine.stream(prompt, order):
            if isinstance(event, TokenStep):
                made[event.lane] = (*made.get(event.lane, ()), event.token_id)
        expected = solo if order is settings else solo[::-1]
        assert [made[lane] for lane in range(3)] == expected


@torch.inference_mode()
def test_b29_ties_in_bfloat16() -> None:
    """Which ids tie depends on the processor's kernels; that many do, and what becomes of them, does not."""
    engine = LocalEngine(load_model(device="cpu", dtype="bfloat16"))
    try:
        prompt = say_hi(engine)
        row = engine.model(torch.tensor([prompt.ids])).logits[0, -1].float().tolist()
        best = sorted(range(len(row)), key=lambda token_id: (-row[token_id], token_id))[:50]
        assert len({row[token_id] for token_id in best}) < 40, "many of the first fifty logits are equal"
        for top_n in (1, 8, 10, 50):
            step = engine.run(prompt, replace(GREEDY, max_tokens=1), top_n=top_n).steps[0]
            assert (step.token_id, step.rank) == (best[0], 1)
            assert [entry.token_id for entry in step.candidates[:top_n]] == best[:top_n]
            assert [entry.rank for entry in step.candidates[:top_n]] == list(range(1, top_n + 1))
        assert [entry.logit for entry in step.candidates[:50]] == [row[token_id] for token_id in best]
        assert sum(entry.prob for entry in step.candidates) + step.others_prob == pytest.approx(1, abs=1e-6)
        assert engine.info.dtype == "bfloat16"
    finally:
        engine.close()


def test_b25_f2_nothing_is_applied_that_nobody_chose(engine: LocalEngine) -> None:
    step = engine.run(say_hi(engine), SamplingParams(max_tokens=1)).steps[0]
    assert {stage.kept for stage in step.stages} == {49152}
    assert all(entry.removed_by is None for entry in step.candidates)
    assert step.final_prob == pytest.approx(step.prob, abs=1e-6)
