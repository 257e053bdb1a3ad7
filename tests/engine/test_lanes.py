"""Lanes side by side: each equals itself alone, and how far apart two of them are."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded, load_model
from playground.params import SamplingParams
from playground.trace import TokenStep, Trace, collect
from tests import fakes
from tests.engines import engine_of, prompt_of

PROMPT = prompt_of([72, 101, 108, 108, 111])
FREE = SamplingParams(max_tokens=20, ignore_eos=True, seed=1)
SETTINGS = [
    SamplingParams(temperature=0, max_tokens=24, seed=4),
    SamplingParams(temperature=0.8, top_p=0.9, max_tokens=30, seed=4),
    SamplingParams(temperature=1.5, min_p=0.05, max_tokens=12, seed=4),
    SamplingParams(temperature=1.0, repetition_penalty=1.3, max_tokens=20, seed=9),
    SamplingParams(temperature=0.7, top_k=5, max_tokens=28, seed=11),
    SamplingParams(temperature=1.2, typical_p=0.9, max_tokens=16, seed=2**63),
]


def traces_of(
    engine: LocalEngine, prompt: object, settings: list[SamplingParams], **options: object
) -> list[Trace]:
    events = list(engine.stream(prompt, settings, **options))  # type: ignore[arg-type]
    return [
        collect(engine.info, params, (event for event in events if event.lane in (None, lane)))
        for lane, params in enumerate(settings)
    ]


def numbers_of(trace: Trace) -> list[object]:
    return [
        (step.token_id, step.logprob, step.entropy, step.draw.low, step.draw.high) for step in trace.steps
    ]


@pytest.fixture(scope="module")
def engine():
    with engine_of(fakes.tiny_llama()) as made:
        yield made


@pytest.mark.parametrize("exact", [False, True])
def test_an_exact_lane_shares_no_pass(engine: LocalEngine, exact: bool) -> None:
    steps = [each for each in engine.stream(PROMPT, [FREE] * 3, exact=exact) if isinstance(each, TokenStep)]
    lanes = {step.batch_lanes for step in steps if step.index > 3}
    assert lanes == ({1} if exact else {3})


def test_exact_lanes_are_read_anew_and_nobody_joins_them(engine: LocalEngine) -> None:
    """Beside lanes that share passes, before and after them."""
    shared = engine.stream(PROMPT, [replace(FREE, max_tokens=60)] * 2)
    traces = traces_of(engine, PROMPT, [FREE, replace(FREE, seed=2)], exact=True)
    assert {trace.finished.reused_tokens for trace in traces} == {0}
    assert {step.batch_lanes for trace in traces for step in trace.steps} == {1}
    assert {step.batch_lanes for step in shared if isinstance(step, TokenStep)} <= {1, 2}


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gemma3, fakes.tiny_gpt2])
def test_in_16_bit_an_exact_lane_is_itself_alone_bit_by_bit(make: object) -> None:
    model = make().to(torch.bfloat16)  # type: ignore[operator]
    with engine_of(model) as first, engine_of(model) as second:
        together = traces_of(first, PROMPT, SETTINGS, exact=True)
        for params, trace in zip(SETTINGS, together, strict=True):
            alone = second.run(PROMPT, params, reuse=False)
            assert numbers_of(trace) == numbers_of(alone)


@pytest.mark.model
def test_on_the_bundled_model_lanes_equal_themselves_alone(bundled: Loaded) -> None:
    """In float32, whatever the number and the order of lanes."""
    engine = LocalEngine(bundled)
    try:
        prompt = engine.chat([{"role": "user", "content": "Describe the sea in two sentences."}])
        alone = [engine.run(prompt, params, reuse=False) for params in SETTINGS]
        orders = [(0, 1), (1, 0), (5, 2, 0), (3, 1, 4, 2), (0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0)]
        for order in orders:
            traces = traces_of(engine, prompt, [SETTINGS[number] for number in order])
            for number, trace in zip(order, traces, strict=True):
                assert trace.answer_ids == alone[number].answer_ids
                for step, single in zip(trace.steps, alone[number].steps, strict=True):
                    assert math.isclose(step.logprob, single.logprob, abs_tol=1e-3)
    finally:
        engine.close()


@pytest.mark.model
def test_on_the_bundled_model_in_16_bit_exact_lanes_equal_themselves_alone() -> None:
    loaded = load_model(None, dtype="bfloat16")
    engines = LocalEngine(loaded), LocalEngine(loaded)
    try:
        prompt = engines[0].chat([{"role": "user", "content": "Say hi"}])
        settings = [replace(params, max_tokens=10) for params in SETTINGS[:4]]
        together = traces_of(engines[0], prompt, settings, exact=True)
        for params, trace in zip(settings, together, strict=True):
            assert numbers_of(trace) == numbers_of(engines[1].run(prompt, params, reuse=False))
    finally:
        for engine in engines:
            engine.close()


# -- how far apart --------------------------------------------------------------------------------


def test_divergences_are_those_of_the_models_own_logits(engine: LocalEngine) -> None:
    """Against torch, from one pass of the model over each answer."""
    settings = (replace(FREE, temperature=0.7), replace(FREE, temperature=1.4, seed=2))
    traces = [engine.run(PROMPT, params) for params in settings]
    found = engine.divergences(PROMPT.ids, (traces[0].answer_ids, traces[1].answer_ids), settings)
    assert [each.index for each in found] == list(range(20))
    with torch.inference_mode():
        rows = [
            engine.model(torch.tensor([[*PROMPT.ids, *trace.answer_ids]]))
            .logits[0, len(PROMPT.ids) - 1 : -1]
            .double()
            for trace in traces
        ]
    for each in found:
        first, second = (row[each.index] for row in rows)
        raw = torch.nn.functional.kl_div(
            second.log_softmax(0), first.log_softmax(0), log_target=True, reduction="sum"
        )
        final = torch.nn.functional.kl_div(
            (second / 1.4).log_softmax(0), (first / 0.7).log_softmax(0), log_target=True, reduction="sum"
        )
        assert each.raw == pytest.approx(float(raw), rel=1e-3, abs=1e-6)
        assert each.final == pytest.approx(float(final), rel=1e-3, abs=1e-6)
        assert each.lost == 0


def test_while_the_ids_are_the_same_the_raw_distributions_are(engine: LocalEngine) -> None:
    settings = (FREE, replace(FREE, top_k=3))
    traces = [engine.run(PROMPT, params) for params in settings]
    pairs = zip(*(trace.answer_ids for trace in traces), strict=False)
    parted = next(index for index, (a, b) in enumerate(pairs) if a != b)
    found = engine.divergences(PROMPT.ids, (traces[0].answer_ids, traces[1].answer_ids), settings)
    assert all(each.raw == 0 for each in found[: parted + 1])
    assert all(each.final is None for each in found)  # all 20 tokens could come, three can
    assert all(0 < each.lost < 1 for each in found)
    back = engine.divergences(PROMPT.ids, (traces[1].answer_ids, traces[0].answer_ids), settings[::-1])
    assert all(each.final is not None and each.lost == 0 for each in back[: parted + 1])


def test_divergences_bring_dropped_logits_back() -> None:
    answers = (list(range(60, 200)), list(range(200, 60, -1)))
    with engine_of(fakes.tiny_llama(), logits_pool_mb=1) as small, engine_of(fakes.tiny_llama()) as large:
        small._pool.most_bytes = 70 * small.info.vocabulary * 4
        results = [engine.divergences(PROMPT.ids, answers, (FREE, FREE)) for engine in (small, large)]
        again = large.divergences(PROMPT.ids, answers, (FREE, FREE))
    for first, second in zip(*results, strict=True):
        assert first.raw == pytest.approx(second.raw, rel=1e-3, abs=1e-6)
    assert again == results[1]
    assert len(again) == 140


def test_picks_tell_settings_from_dice(engine: LocalEngine) -> None:
    cold, warm = replace(FREE, temperature=0.05, seed=3), replace(FREE, temperature=2, seed=8)
    for step in range(5):
        table = engine.picks(PROMPT.ids, [1] * step, step, [cold, warm])
        for (row, own), (column, other) in itertools.product(enumerate([cold, warm]), repeat=2):
            expected = engine.redistribute_ids(PROMPT.ids, [1] * step, step, replace(own, seed=other.seed))
            assert table[row][column] == replace(expected, forward_s=table[row][column].forward_s)
        assert table[0][0].draw.u == table[1][0].draw.u != table[0][1].draw.u


def test_ids_that_the_model_lacks_are_refused(engine: LocalEngine) -> None:
    with pytest.raises(ValueError, match="the ids of this model are 0 to"):
        engine.divergences(PROMPT.ids, ([10**6], [1]), (FREE, FREE))
    with pytest.raises(ValueError, match="the ids of this model are 0 to"):
        engine.divergences([1], ([1], [-1]), (FREE, FREE))
    assert engine.divergences(PROMPT.ids, ([], [1]), (FREE, FREE)) == ()
