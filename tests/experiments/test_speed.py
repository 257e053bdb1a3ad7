"""Lab speed: steps and passes as counted at the model, answers and sizes against transformers itself."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from playground.engine import resized as resizing
from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.experiments.bench import Bench
from playground.experiments.lab import Progress, run_lab
from playground.experiments.speed import SPEED, WRITTEN, Busy, Options, Pace, Size, Speed, Stretch
from playground.experiments.speed_report import report
from playground.findings.report import Block, Chart, LabResult, Say, Table
from playground.trace import SamplingParams, Trace
from tests.fakes import byte_tokenizer, loaded, tiny_gemma3, tiny_llama

SMALL = Options(lengths=(4, 20), answer=12, lanes=(1, 2, 4), sizes=(50,), repeats=2)
FAMILIES = {"llama": tiny_llama, "gemma3": tiny_gemma3}


class Heard(Bench):
    """A bench that keeps the traces of its engine's own runs, by the number of lanes and of tokens."""

    def __init__(self, engine: LocalEngine, **limits: int) -> None:
        super().__init__(engine, **limits)
        self.traces: list[tuple[int, list[Trace]]] = []

    def lanes(self, *given: Any, **options: Any) -> Generator[Progress, None, list[Trace]]:
        made = yield from super().lanes(*given, **options)
        if options.get("engine") is None:
            self.traces.append((len(made), made))
        return made


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Any:
    return FAMILIES[request.param]


@pytest.fixture
def engine(family: Any) -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(family()))
    yield made
    made.close()


def found_by(bench: Bench, options: Options) -> Speed:
    *_, last = run_lab(SPEED, bench, options)
    assert isinstance(last, LabResult)
    return last.found


def said(blocks: tuple[Block, ...]) -> str:
    return " ".join("".join(part.text for part in block.parts) for block in blocks if isinstance(block, Say))


def notes(blocks: tuple[Block, ...]) -> str:
    return " ".join(block.note for block in blocks if isinstance(block, Chart | Table))


def test_steps_are_passes_of_the_model(engine: LocalEngine) -> None:
    """Counted at the model itself, by a hook that sees how many lanes and tokens each pass holds."""
    passes: list[tuple[int, int]] = []
    layer = engine.model.model.layers[0]
    hook = layer.register_forward_hook(lambda module, given, made: passes.append(tuple(given[0].shape[:2])))
    found = found_by(Bench(engine), SMALL)
    hook.remove()
    timed = WRITTEN - 1
    assert [(pace.before, pace.steps) for pace in found.prompts] == [(5, 2 * timed), (21, 2 * timed)]
    assert sum(each.pace.steps for each in found.answer) == 2 * 11
    own, other = found.sizes
    assert own.pace.steps == other.pace.steps == 2 * timed
    assert [(each.lanes, each.together) for each in found.busy] == [(1, 1), (2, 2), (4, 4)]
    for each in found.busy[1:]:
        assert each.pace.steps == each.lanes * passes.count((each.lanes, 1)) == each.lanes * 2 * timed
    alone = 2 + 2 * 2 * timed + 2 * 11 + 2 * timed + 1 + 2 * timed  # two warm up, and one for the sizes
    assert passes.count((1, 1)) == alone
    assert sum(length > 1 for _, length in passes) == 2  # each prompt is read once; later runs find it again


def test_the_answer_is_told_from_its_second_token_to_its_last(engine: LocalEngine) -> None:
    found = found_by(Bench(engine), replace(SMALL, answer=30))
    assert (found.answer[0].first, found.answer[-1].last) == (2, 30)
    assert all(one.last + 1 == other.first for one, other in pairwise(found.answer))
    for each in found.answer:
        assert each.pace.steps == 2 * (each.last - each.first + 1)
        assert each.pace.before == 4 + each.first - 1
        assert 0 < each.pace.pass_s < each.pace.step_s
        assert each.pace.quarter_s <= each.pace.step_s <= each.pace.three_quarters_s
    assert found.shortened is None


def test_each_lane_writes_what_the_model_writes_alone(engine: LocalEngine) -> None:
    bench = Heard(engine)
    found = found_by(bench, SMALL)
    ids = torch.tensor([bench.filled(4).ids])
    with torch.inference_mode():
        for _ in range(WRITTEN):  # past end tokens, everything read anew each time
            ids = torch.cat([ids, engine.model(ids).logits[:, -1].argmax(-1, keepdim=True)], 1)
    alone = tuple(ids[0, 4:].tolist())
    together = [trace for lanes, traces in bench.traces if lanes > 1 for trace in traces]
    assert len(together) == 2 * (2 + 4)
    assert {trace.answer_ids for trace in together} == {alone}
    assert all(each.same for each in found.busy)


def test_another_size_is_counted_by_transformers(engine: LocalEngine, family: Any) -> None:
    layers = engine.model.config.num_hidden_layers
    found = found_by(Bench(engine), replace(SMALL, sizes=(10, 50, 200)))
    own, *others = found.sizes
    assert (own.layers, own.random) == (layers, False)
    assert [size.layers for size in others] == [1, round(layers / 2), 2 * layers]
    assert all(size.random for size in others)
    for size in found.sizes:
        independent = family(layers=size.layers)
        assert size.parameters == independent.num_parameters()
        assert size.weights == 4 * size.parameters
    blocks = report(found)
    labels = [cell for block in blocks if isinstance(block, Table) for row in block.rows for cell in row]
    assert labels.count("random weights") == 3
    assert said(blocks).count("random weights") == 3
    assert "random weights" in {
        line.name for block in blocks if isinstance(block, Chart) for line in block.series
    }


def test_a_lab_that_is_closed_leaves_no_second_model(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    build = resizing.resized

    def noted(*given: Any, **options: Any) -> LocalEngine:
        other = build(*given, **options)
        made.extend((weakref.ref(other.model), other._scheduler._thread))
        return other

    monkeypatch.setattr(resizing, "resized", noted)
    running = run_lab(SPEED, Bench(engine), SMALL)
    for event in running:
        if isinstance(event, Progress) and made and event.text.startswith("2 layers and random weights"):
            break
        if isinstance(event, Progress) and made and event.text.startswith("3 layers and random weights"):
            break
    model, worker = made
    assert worker.is_alive()
    running.close()  # type: ignore[attr-defined]  # it is a generator
    gc.collect()
    assert not worker.is_alive()
    assert model() is None
    engine.run(engine.raw("abc"), SamplingParams(max_tokens=1))  # its turn comes after all that was stopped
    assert engine.status()["running"] == engine.status()["waiting"] == 0


def test_a_size_that_cannot_be_had_is_said(engine: LocalEngine) -> None:
    engine.model.is_quantized = True
    found = found_by(Bench(engine), SMALL)
    assert found.sizes == ()
    assert found.not_available.startswith("Not available here with ")
    assert "quantised" in found.not_available
    assert found.not_available in said(report(found))
    assert len(found.busy) == 3


def test_a_small_context_shortens_what_does_not_fit() -> None:
    made = LocalEngine(loaded(tiny_llama(positions=32), byte_tokenizer(None)))
    try:
        found = found_by(Bench(made), replace(SMALL, lengths=(16, 128), answer=40))
    finally:
        made.close()
    assert [pace.before for pace in found.prompts] == [17]
    assert found.prompts_left_out == (128,)
    assert found.shortened == found.answer[-1].last == 16
    told = notes(report(found))
    assert "prompts of 128 tokens" in told
    assert "The answer was shortened to 16 tokens" in told


def test_lanes_that_are_not_free_are_left_out_and_said() -> None:
    made = LocalEngine(loaded(tiny_llama()), max_lanes=2)
    try:
        found = found_by(Bench(made), replace(SMALL, lanes=(1, 2, 4, 8)))
        assert [each.lanes for each in found.busy] == [1, 2]
        assert found.lanes_left_out == (4, 8)
        assert "fewer lanes free: 4, 8 at once" in notes(report(found))
        none = found_by(Bench(made), replace(SMALL, lanes=(4,)))
        assert none.busy == ()
        assert "fewer lanes free: 4 at once" in said(report(none))
    finally:
        made.close()


# -- sentences ------------------------------------------------------------------------------------------

FAST = Pace(17, 24, step_s=0.020, pass_s=0.018, quarter_s=0.019, three_quarters_s=0.022)
SLOW = Pace(513, 24, step_s=0.050, pass_s=0.047, quarter_s=0.048, three_quarters_s=0.055)
FULL = Speed(
    prompts=(FAST, SLOW),
    answer=(Stretch(2, 6, FAST), Stretch(7, 12, replace(FAST, step_s=0.021))),
    busy=(Busy(1, 1, True, FAST), Busy(8, 8, True, SLOW)),
    sizes=(Size(30, 1000, 4000, False, SLOW), Size(15, 600, 2400, True, replace(SLOW, step_s=0.03))),
    prompts_left_out=(),
    lanes_left_out=(),
    shortened=None,
    not_available="",
)


def test_sentences_follow_the_numbers() -> None:
    told = said(report(FULL))
    assert (
        "After a prompt of 512 tokens a step takes 50.0 ms, 2.5 times as long as after 16 (20.0 ms)" in told
    )
    assert "8 answers at once gave 3.2 times the tokens per second of one (160 and 50.0)" in told
    assert "each at 40% of its pace: they share each pass" in told
    assert "has 60% of the parameters, and a step takes 60% of the time." in told
    assert "Tokens 7 to 12 of an answer take 21.0 ms each, about as long as tokens 2 to 6" in told


def test_odd_numbers_are_told_as_they_are() -> None:
    crawling = replace(SLOW, step_s=0.4)
    odd = replace(
        FULL,
        prompts=(SLOW, replace(FAST, before=1025)),
        busy=(Busy(2, 2, True, FAST), Busy(8, 8, False, crawling)),
    )
    told = said(report(odd))
    assert "After a prompt of 1,024 tokens a step takes 20.0 ms, 40% as long as after 512" in told
    assert "0.2 times the tokens per second of 2 (20.0 and 100), each at 5% of its pace" in told
    assert "saves little" in told
    assert "they share" not in told
    apart = replace(FULL, busy=(FULL.busy[0], replace(FULL.busy[1], together=1)))
    assert "they share" not in said(report(apart))  # a gain, but not from passes that hold all of them
    queued = replace(FULL.busy[1], lanes=8, together=4)
    assert queued.total == pytest.approx(4 / queued.pace.step_s)  # the other four wait meanwhile


@pytest.mark.parametrize(("quarter", "told"), [(0.0221, "2.5 times"), (0.022, "within the machine's noise")])
def test_steps_that_overlap_are_not_told_apart(quarter: float, told: str) -> None:
    spread = replace(SLOW, quarter_s=quarter)
    assert f", {told} as long as after 16" in said(report(replace(FULL, prompts=(FAST, spread))))


def test_what_is_there_so_far_is_told() -> None:
    first = replace(FULL, prompts=(FAST,), answer=(), busy=(), sizes=())
    assert said(report(first)) == "After a prompt of 16 tokens a step takes 20.0 ms: 50.0 tokens/s."
    for part in (
        replace(FULL, busy=(), sizes=()),
        replace(FULL, busy=FULL.busy[:1], sizes=FULL.sizes[:1]),
        replace(FULL, answer=FULL.answer[:1], sizes=()),
    ):
        assert isinstance(report(part)[0], Say)
        assert "random weights" not in said(report(part))


@pytest.mark.model
def test_half_of_the_bundled_model(bundled: Loaded) -> None:
    engine = LocalEngine(bundled)
    try:
        found = found_by(
            Bench(engine), Options(lengths=(16,), answer=5, lanes=(1, 2), sizes=(50,), repeats=1)
        )
    finally:
        engine.close()
    own, half = found.sizes
    assert (own.layers, half.layers, half.random) == (30, 15, True)
    with torch.device("meta"):
        config = type(bundled.model.config)(**{**bundled.model.config.to_dict(), "num_hidden_layers": 15})
        independent = AutoModelForCausalLM.from_config(config)
    assert half.parameters == independent.num_parameters() < own.parameters
    assert found.busy[1].together == 2
