"""Lab template against distributions computed with the model itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.experiments.bench import Bench
from playground.experiments.lab import run_lab
from playground.experiments.template import TEMPLATE, Options, Template, report
from playground.findings.report import LabResult
from tests.fakes import byte_tokenizer, loaded, tiny_gemma3, tiny_llama


@pytest.fixture(params=[tiny_llama, tiny_gemma3])
def engine(request: pytest.FixtureRequest) -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(request.param(positions=512)))
    yield made
    made.close()


def results(engine: LocalEngine) -> list[Template]:
    events = run_lab(TEMPLATE, Bench(engine), Options(question="abc", tokens=6))
    return [event.found for event in events if isinstance(event, LabResult)]


def test_distances_are_those_of_the_whole_distributions(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    message = [{"role": "user", "content": "abc"}]
    rows = []
    for ids in (engine.chat(message).ids, engine.raw("abc").ids):
        with torch.no_grad():
            rows.append(engine.model(torch.tensor([list(ids)])).logits[0, -1].double().softmax(-1))
    right, raw = rows
    case = next(each for each in found.cases if each.name == "no template")
    assert found.right
    assert found.cases[0].variation == found.cases[0].divergence == 0
    assert case.variation == pytest.approx(float((right - raw).abs().sum() / 2), abs=1e-5)
    assert case.divergence == pytest.approx(float((right * (right / raw).log()).sum()), abs=1e-4)
    assert case.entropy == pytest.approx(float(-(raw * raw.log()).sum()), abs=1e-4)
    assert case.ends[0] == pytest.approx(float(raw[list(engine.info.end_ids)].sum()), abs=1e-5)
    assert case.top[0].token_id == int(raw.argmax())


def test_each_partial_finding_can_be_told(engine: LocalEngine) -> None:
    assert all(report(found) for found in results(engine))


def test_without_a_template_distances_are_from_the_raw_text() -> None:
    engine = LocalEngine(loaded(tiny_llama(positions=512), byte_tokenizer(None)))
    try:
        found = results(engine)[-1]
        assert not found.right
        assert found.cases[0].name == "no template"
        assert any("no chat template" in sentence for sentence in found.left_out)
    finally:
        engine.close()
