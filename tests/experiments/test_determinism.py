"""Lab determinism against transformers' generate, and on partial findings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.experiments.bench import Bench
from playground.experiments.determinism import BATCH, DETERMINISM, Determinism, Options
from playground.experiments.lab import run_lab
from playground.findings.report import LabResult, Say
from tests.fakes import loaded, tiny_llama


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(tiny_llama()))
    yield made
    made.close()


def results(engine: LocalEngine) -> list[Determinism]:
    events = run_lab(DETERMINISM, Bench(engine), Options(question="abc", tokens=8, runs=3))
    return [event.found for event in events if isinstance(event, LabResult)]


def test_in_fp32_nothing_but_the_dice_changes_the_answer(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    prompt = torch.tensor([engine.chat([{"role": "user", "content": "abc"}]).ids])
    made = engine.model.generate(
        prompt, do_sample=False, max_new_tokens=8, eos_token_id=list(engine.info.end_ids)
    )
    own = {trial.kind: trial for trial in found.trials if trial.own}
    for kind in ("again", "off", "batch"):
        assert own[kind].parted is None
        assert own[kind].same == own[kind].runs
        assert own[kind].drift < 1e-3
        assert own[kind].first.ids == tuple(made[0, prompt.shape[1] :].tolist())
    assert own["again"].drift == 0
    assert (own["again"].lanes, own["batch"].runs) == (1, BATCH)
    assert 1 < own["batch"].lanes <= BATCH  # in so short an answer the first may end before the last begins
    assert own["same_seed"].parted is None
    assert own["other_seed"].parted is not None
    assert {trial.dtype for trial in found.trials} == {"float32", "bfloat16"}


def test_every_partial_finding_can_be_told(engine: LocalEngine) -> None:
    for found in results(engine):
        assert isinstance(DETERMINISM.report(found)[0], Say)


def test_a_dtype_that_cannot_be_had_is_said(engine: LocalEngine) -> None:
    engine.model.is_quantized = True
    found = results(engine)[-1]
    assert found.not_available.startswith("Not available here in bfloat16")
    assert {trial.dtype for trial in found.trials} == {"float32"}
