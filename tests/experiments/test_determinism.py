"""Lab determinism against transformers' generate, and on partial findings."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from transformers import PreTrainedModel

from playground.engine.local import LocalEngine
from playground.experiments.answers import Answer
from playground.experiments.bench import Bench
from playground.experiments.determinism import BATCH, DETERMINISM, Determinism, Options, Trial
from playground.experiments.lab import run_lab
from playground.findings.report import LabResult, Say
from tests.fakes import loaded, tiny_gemma3, tiny_llama

MODELS = {
    "a llama": tiny_llama,
    "windows that slide": tiny_gemma3,
    "32 positions": lambda: tiny_llama(positions=32),
}


@pytest.fixture(params=MODELS)
def engine(request: pytest.FixtureRequest) -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(MODELS[request.param]()))
    yield made
    made.close()


def rows_of(model: PreTrainedModel, prompt: list[int], answer: tuple[int, ...]) -> torch.Tensor:
    """Log-probabilities before each token of an answer (tokens, vocabulary), in one pass of transformers."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *answer]])).logits[0, len(prompt) - 1 : -1]
    return logits.float().log_softmax(-1)


def results(engine: LocalEngine, runs: int = 3) -> list[Determinism]:
    events = run_lab(DETERMINISM, Bench(engine), Options(question="abc", tokens=8, runs=runs))
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


def test_logprobs_and_gaps_are_the_models_in_both_dtypes(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    prompt = list(engine.chat([{"role": "user", "content": "abc"}]).ids)
    rounded = copy.deepcopy(engine.model).to(torch.bfloat16)
    for dtype, model, near in (("float32", engine.model, 1e-4), ("bfloat16", rounded, 0.1)):
        trial = next(each for each in found.trials if each.dtype == dtype and each.kind == "again")
        rows = rows_of(model, prompt, trial.first.ids)
        ids = torch.tensor(trial.first.ids)
        assert trial.first.logprobs == pytest.approx(rows[range(len(ids)), ids].tolist(), abs=near)
        best = rows.exp().topk(2).values
        gaps = (best[:, 0] - best[:, 1]).tolist()
        closest = next(each for each in found.closest if each.dtype == dtype)
        assert closest.gap == pytest.approx(gaps[closest.index], abs=near)
        assert closest.gap <= min(gaps) + near


def test_where_dice_part_the_first_token_that_differs_is_named(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    trial = next(each for each in found.trials if each.kind == "other_seed")
    assert trial.other is not None
    assert trial.parted is not None
    place = trial.parted
    assert trial.first.ids[:place] == trial.other.ids[:place]
    assert trial.first.ids[place : place + 1] != trial.other.ids[place : place + 1]
    prompt = list(engine.chat([{"role": "user", "content": "abc"}]).ids)
    best = rows_of(engine.model, prompt, trial.first.ids)[place].exp().topk(2).values
    assert trial.gap == pytest.approx(float(best[0] - best[1]), abs=1e-4)


def said(found: Determinism) -> str:
    blocks = [block for block in DETERMINISM.report(found) if isinstance(block, Say)]
    return " ".join("".join(part.text for part in block.parts) for block in blocks)


def test_sentences_for_two_runs_and_for_more() -> None:
    engine = LocalEngine(loaded(tiny_llama()))
    try:
        two, more = results(engine, 2)[-1], results(engine, 4)[-1]
    finally:
        engine.close()
    assert "In float32, at temperature 0: a run of another seed, a run without the cache and a batch" in said(
        two
    )
    assert "run twice, both seeds gave their own answer again" in said(two)
    assert "the second seed's answer leaves the first's at token" in said(two)
    assert "3 runs of other seeds" in said(more)
    assert "all 4 seeds gave" in said(more)
    assert "3 of 3 others left the first one's answer, the earliest at token" in said(more)


def test_dice_that_never_fell_elsewhere_and_runs_that_parted_are_said() -> None:
    answer = Answer((1, 2), ("a", "b"), (-0.1, -0.2), "ab", "max_tokens")
    trial = Trial("float32", True, "same_seed", 2, 1, 0.5, 2, 1, 0.01, answer, answer)
    calm = replace(trial, kind="other_seed", runs=1, same=1, parted=None, other=None)
    told = said(Determinism(0.5, (trial, calm), (), "Not available here in bfloat16: no room."))
    assert "1 of 2 seeds gave" in told
    assert "the second seed gave the first one's too: the dice never fell on another token" in told
    assert told.endswith("Not available here in bfloat16: no room.")


def test_every_partial_finding_can_be_told(engine: LocalEngine) -> None:
    for found in results(engine):
        assert isinstance(DETERMINISM.report(found)[0], Say)


def test_a_dtype_that_cannot_be_had_is_said(engine: LocalEngine) -> None:
    engine.model.is_quantized = True
    found = results(engine)[-1]
    assert found.not_available.startswith("Not available here in bfloat16")
    assert {trial.dtype for trial in found.trials} == {"float32"}
