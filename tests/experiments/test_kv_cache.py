"""Lab kv-cache against transformers' own generate, with and without its cache."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.experiments.bench import Bench
from playground.experiments.kv_cache import KV_CACHE, KvCache, Options, report
from playground.experiments.lab import run_lab
from playground.findings.report import LabResult, Say
from tests.fakes import loaded, tiny_gemma3, tiny_llama


def found_by(engine: LocalEngine, options: Options, **limits: int) -> KvCache:
    *_, last = run_lab(KV_CACHE, Bench(engine, **limits), options)
    assert isinstance(last, LabResult)
    return last.found


@pytest.fixture(params=[tiny_llama, tiny_gemma3])
def engine(request: pytest.FixtureRequest) -> Any:
    made = LocalEngine(loaded(request.param(positions=512)))
    yield made
    made.close()


def test_both_ways_give_what_generate_gives(engine: LocalEngine) -> None:
    found = found_by(engine, Options(question="abc", tokens=10, lengths=(8,)))
    prompt = torch.tensor([engine.chat([{"role": "user", "content": "abc"}]).ids])
    first = found.matches[0]
    assert (first.dtype, first.own, first.parted) == ("float32", True, None)
    for kept, answer in ((True, first.on), (False, first.off)):
        # ids end where the engine's do; min_new_tokens is not needed, since both stop at the same end ids
        made = engine.model.generate(
            prompt, do_sample=False, max_new_tokens=10, use_cache=kept, eos_token_id=list(engine.info.end_ids)
        )
        assert tuple(made[0, prompt.shape[1] :].tolist()) == answer.ids
    assert first.logit is not None
    assert first.logit < 1e-3
    assert first.prob is not None
    assert first.prob < 1e-3
    assert first.compared == len(first.on.ids)


def test_the_other_dtype_is_a_rounded_copy(engine: LocalEngine) -> None:
    first, second = found_by(engine, Options(question="abc", tokens=10, lengths=(8,))).matches
    assert (first.own, second.dtype, second.own) == (True, "bfloat16", False)
    ids = [*engine.chat([{"role": "user", "content": "abc"}]).ids]
    rounded = copy.deepcopy(engine.model).to(torch.bfloat16)
    row = rounded(torch.tensor([ids])).logits[0, -1].float().log_softmax(-1)
    assert second.off.ids[0] == int(row.argmax())
    assert second.off.logprobs[0] == pytest.approx(float(row.max()), abs=1e-4)
    assert second.off.logprobs[0] != first.off.logprobs[0]
    assert engine.model.dtype == torch.float32


def test_tokens_read_and_bytes_held(engine: LocalEngine) -> None:
    found = found_by(engine, Options(question="abc", tokens=10, lengths=(8, 20)))
    (short, long), match = found.paces, found.matches[0]
    assert [(each.length, each.read_on) for each in found.paces] == [(8, 1), (20, 1)]
    assert short.held < long.held
    prompt = len(engine.chat([{"role": "user", "content": "abc"}]).ids)
    steps = len(match.on.ids)
    assert match.read_on == prompt + steps - 1
    assert match.read_off == sum(prompt + step for step in range(steps))


def test_held_bytes_are_keys_and_values_of_every_layer() -> None:
    made = LocalEngine(loaded(tiny_llama(positions=512)))
    try:
        (pace,) = found_by(made, Options(question="abc", tokens=2, lengths=(8,))).paces
        config = made.model.config
        one = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
        assert pace.held == one * 9  # the eight that were read, and the token of the step before
    finally:
        made.close()


def test_lengths_that_do_not_fit_are_left_out_and_said(engine: LocalEngine) -> None:
    found = found_by(engine, Options(question="abc", tokens=2, lengths=(8, 200)), most_prompt=100)
    assert [pace.length for pace in found.paces] == [8]
    assert found.left_out == (200,)
    notes = [getattr(block, "note", "") for block in report(found)]
    assert any("200 tokens" in note for note in notes)
    shrunk = found_by(engine, Options(question="abc", tokens=2, lengths=(200,)), most_prompt=50)
    assert [pace.length for pace in shrunk.paces] == [50]
    with pytest.raises(ValueError, match="room for 1 tokens of a prompt here, and this needs 2"):
        found_by(engine, Options(lengths=(8,)), most_prompt=1)


def test_a_dtype_that_cannot_be_had_is_said(engine: LocalEngine) -> None:
    engine.model.is_quantized = True
    found = found_by(engine, Options(question="abc", tokens=2, lengths=(8,)))
    assert len(found.matches) == 1
    assert found.not_available.startswith("Not available here in bfloat16: the weights")
    said = ["".join(part.text for part in block.parts) for block in report(found) if isinstance(block, Say)]
    assert found.not_available in said


@pytest.mark.model
def test_the_bundled_model_writes_the_same_either_way(bundled: Loaded) -> None:
    engine = LocalEngine(bundled)
    try:
        found = found_by(engine, Options(lengths=(16, 256)))
        match = found.matches[0]
        assert match.parted is None
        assert "Paris" in match.on.text
        assert match.logit is not None
        assert match.logit < 1e-3
        assert found.paces[-1].off_s > found.paces[-1].on_s
    finally:
        engine.close()
