"""Lab stopping against the model's own logits, and its stop string against the text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.experiments.bench import Bench
from playground.experiments.lab import run_lab
from playground.experiments.stopping import STOPPING, Options, Stopping, report
from playground.findings.report import LabResult
from tests.fakes import loaded, tiny_gemma3, tiny_llama


@pytest.fixture(params=[tiny_llama, tiny_gemma3])
def engine(request: pytest.FixtureRequest) -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(request.param(positions=512)))
    yield made
    made.close()


def results(engine: LocalEngine) -> list[Stopping]:
    options = Options(question="abc", tokens=12, beyond=5)
    return [each.found for each in run_lab(STOPPING, Bench(engine), options) if isinstance(each, LabResult)]


def test_the_chance_of_the_end_is_the_models(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    prompt = list(engine.chat([{"role": "user", "content": "abc"}]).ids)
    for ending in (found.free, found.ignored, found.banned):
        assert ending is not None
        ids = torch.tensor([[*prompt, *ending.answer.ids]])
        with torch.no_grad():
            rows = engine.model(ids).logits[0, len(prompt) - 1 : -1].float().softmax(-1)
        expected = rows[:, list(engine.info.end_ids)].sum(-1)
        assert ending.raw == pytest.approx(expected.tolist(), abs=1e-5)


def test_a_banned_end_never_comes_and_a_cut_is_a_beginning(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    assert found.banned is not None
    assert found.cut is not None
    assert not set(found.banned.answer.ids) & set(engine.info.end_ids)
    assert all(share == 0 for share in found.banned.final)
    assert found.cut.ids == found.free.answer.ids[: found.cut_at]


def test_the_stop_string_crosses_a_border_and_is_never_shown(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    if found.stopped is None:
        assert found.no_string
        return
    stopped = found.stopped
    whole = found.free.answer.text
    assert stopped.answer.reason == "stop_string"
    assert stopped.answer.text == whole[: whole.index(stopped.string)]
    assert "".join(step.shown for step in stopped.steps) == stopped.answer.text
    assert all(stopped.string not in step.arrived for step in stopped.steps)
    assert stopped.decided == len(stopped.steps) - 1


def test_each_partial_finding_can_be_told(engine: LocalEngine) -> None:
    assert all(report(found) for found in results(engine))
