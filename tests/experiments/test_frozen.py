"""Lab frozen against transformers' own forward pass, and on weights that someone changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.experiments.bench import Bench
from playground.experiments.frozen import FROZEN, Frozen, Options, chance, report
from playground.experiments.lab import run_lab
from playground.findings.report import LabResult, Say
from tests.fakes import loaded, tiny_gemma3, tiny_llama

SHORT = Options(fact="a is b.", question="a?", opening="a is", answer="bc", tokens=4)


def found_by(engine: LocalEngine, options: Options) -> Frozen:
    *_, last = run_lab(FROZEN, Bench(engine), options)
    assert isinstance(last, LabResult)
    return last.found


def said(found: Frozen) -> str:
    return " ".join(part.text for block in report(found) if isinstance(block, Say) for part in block.parts)


@pytest.fixture(params=[tiny_llama, tiny_gemma3])
def engine(request: pytest.FixtureRequest) -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(request.param(positions=512)))
    yield made
    made.close()


def test_chances_are_those_of_a_plain_pass(engine: LocalEngine) -> None:
    found = found_by(engine, SHORT)
    for each, text in zip(found.asked, ("a?", "a is b. a?", "a?"), strict=True):
        prompt = engine.chat([{"role": "user", "content": text}]).ids
        ids = [*prompt, *b"a is", *b" bc"]
        rows = engine.model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
        wanted = [float(rows[place - 1, ids[place]]) for place in range(len(ids) - 3, len(ids))]
        assert each.logprobs == pytest.approx(wanted, abs=1e-4)
        assert each.prompt_tokens == len(prompt)
        assert chance(each) == pytest.approx(torch.tensor(wanted).sum().exp().item(), rel=1e-3)


def test_nothing_is_left_of_the_fact(engine: LocalEngine) -> None:
    found = found_by(engine, SHORT)
    before, told, after = found.asked
    assert before.logprobs == after.logprobs
    assert before.written == after.written
    assert told.logprobs != before.logprobs
    assert found.changed == ()
    assert found.after == found.before
    assert found.before.numbers == sum(
        each.numel() for each in [*engine.model.parameters(), *engine.model.buffers()]
    )
    assert "No weight changed" in said(found)


def test_a_weight_that_changes_is_seen(engine: LocalEngine) -> None:
    name, weight = next(iter(engine.model.named_parameters()))
    running = run_lab(FROZEN, Bench(engine), SHORT)
    for event in running:
        if isinstance(event, LabResult) and event.found.asked:
            break
    with torch.inference_mode():
        weight.view(-1)[0].add_(1.0)
    *_, last = running
    assert isinstance(last, LabResult)
    assert last.found.changed == (name,)
    assert last.found.after.checksum != last.found.before.checksum
    assert name in said(last.found)
    assert "No weight changed" not in said(last.found)


def test_no_room_is_one_sentence() -> None:
    made = LocalEngine(loaded(tiny_llama(positions=32)))
    try:
        with pytest.raises(ValueError, match=r"shorten the prompt|no room"):
            found_by(made, Options())
    finally:
        made.close()


@pytest.mark.model
def test_the_bundled_model_forgets(bundled: Loaded) -> None:
    engine = LocalEngine(bundled)
    try:
        found = found_by(engine, Options())
        before, told, after = (chance(each) for each in found.asked)
        assert told > 0.5
        assert before == after < 0.01
        assert found.changed == ()
    finally:
        engine.close()
