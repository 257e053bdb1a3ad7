"""Lab prefill-decode: what was read and written, and sentences that follow the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.experiments.bench import Bench
from playground.experiments.lab import run_lab
from playground.experiments.prefill_decode import PREFILL_DECODE, WRITTEN, Options, PrefillDecode, report
from playground.experiments.timing import Timing
from playground.findings.report import Block, LabResult, Say
from tests.fakes import loaded, tiny_gemma3, tiny_llama


def found_by(engine: LocalEngine, options: Options, **limits: int) -> PrefillDecode:
    *_, last = run_lab(PREFILL_DECODE, Bench(engine, **limits), options)
    assert isinstance(last, LabResult)
    return last.found


def said(blocks: tuple[Block, ...]) -> str:
    return " ".join(part.text for block in blocks if isinstance(block, Say) for part in block.parts)


@pytest.fixture(params=[tiny_llama, tiny_gemma3])
def engine(request: pytest.FixtureRequest) -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(request.param(positions=600)))
    yield made
    made.close()


def test_passes_are_those_of_the_model(engine: LocalEngine) -> None:
    """Counted at the model itself, by a hook that sees how many tokens each pass reads."""
    widths: list[int] = []
    inner = engine.model.model.layers[0]
    hook = inner.register_forward_hook(lambda module, given, made: widths.append(given[0].shape[1]))
    found = found_by(engine, Options(lengths=(20, 520), answers=(4,), repeats=1))
    hook.remove()
    short, long = found.prompts
    (answer,) = found.answers
    runs = [short, short, long, answer]  # the first warms up
    assert len(widths) == sum(each.read_passes + each.write_passes for each in runs)
    assert widths.count(1) == sum(each.write_passes for each in runs)
    assert sum(widths) - widths.count(1) == sum(each.prompt for each in runs)
    assert (short.prompt, short.read_passes, long.prompt) == (20, 1, 520)
    assert long.read_passes > 1


def test_times_add_up(engine: LocalEngine) -> None:
    found = found_by(engine, Options(lengths=(20,), answers=(4, 12), repeats=3))
    for each in (*found.prompts, *found.answers):
        assert each.read_s > 0
        assert each.first_s < each.whole_s
    assert found.weights == 4 * sum(each.numel() for each in engine.model.parameters())


def test_what_does_not_fit_is_left_out_and_said(engine: LocalEngine) -> None:
    found = found_by(
        engine, Options(lengths=(20, 500), answers=(4, 90), repeats=1), most_prompt=100, most_new=30
    )
    assert (found.prompts_left_out, found.answers_left_out) == ((500,), (90,))
    notes = " ".join(getattr(block, "note", "") for block in report(found))
    assert "prompts of 500 tokens and answers of 90 tokens" in notes
    with pytest.raises(ValueError, match="room for 1 tokens of a prompt here, and this needs 2"):
        found_by(engine, Options(lengths=(500,)), most_prompt=1)


def test_in_a_context_of_32_the_longest_prompt_that_fits_is_measured() -> None:
    engine = LocalEngine(loaded(tiny_llama(positions=32)))
    try:
        found = found_by(engine, Options())
        assert [each.prompt for each in found.prompts] == [32 - WRITTEN]
        assert found.prompts_left_out == (32, 128, 512)
        assert "prompts of 32, 128, 512 tokens" in " ".join(getattr(b, "note", "") for b in report(found))
    finally:
        engine.close()


def test_the_sentence_follows_the_numbers() -> None:
    fast = Timing(400, 6, 2, 5, read_s=2.0, step_s=0.1, first_s=2.1, whole_s=2.6)
    found = PrefillDecode(1024**2, (fast,), (), (), ())
    told = said(report(found))
    assert "200 tokens/s" in told
    assert "20 times as fast" in told
    assert "one with 200 tokens takes 10 times as long as a step with one: a pass needs all weights" in told
    slow = replace(found, prompts=(replace(fast, read_s=60.0),))
    assert "saves nothing" in said(report(slow))
    assert "all weights" not in said(report(slow))


@pytest.mark.model
def test_the_bundled_model_reads_faster_than_it_writes(bundled: Loaded) -> None:
    engine = LocalEngine(bundled)
    try:
        found = found_by(engine, Options(lengths=(256,), answers=(4,), repeats=1))
        assert found.prompts[0].read_tps > found.prompts[0].write_tps
    finally:
        engine.close()
