"""A copy of the model in another dtype: the same weights, rounded; the model itself as it was."""

from __future__ import annotations

import pytest
import torch

from playground.engine import recast as recasting
from playground.engine.local import LocalEngine
from playground.engine.recast import recast
from playground.trace import SamplingParams
from tests.fakes import loaded, tiny_llama


@pytest.fixture
def engine():
    made = LocalEngine(loaded(tiny_llama()))
    yield made
    made.close()


def test_a_copy_runs_in_its_own_dtype_and_the_model_stays(engine: LocalEngine) -> None:
    before = {name: each.clone() for name, each in engine.model.state_dict().items()}
    made = recast(engine, "bfloat16")
    try:
        assert (made.info.dtype, engine.info.dtype) == ("bfloat16", "float32")
        assert all(each.dtype == torch.bfloat16 for each in made.model.parameters())
        trace = made.run(made.raw("abc"), SamplingParams(temperature=0, max_tokens=4))
        with torch.inference_mode():
            rounded = tiny_llama().bfloat16()
            own = rounded(torch.tensor([trace.prompt.ids])).logits[0, -1].float()
        assert trace.steps[0].token_id == int(own.argmax())
        row = made.logits(trace.prompt.ids)
        assert row is not None
        assert torch.allclose(row, own, atol=0.1)
    finally:
        made.close()
    for name, each in engine.model.state_dict().items():
        assert torch.equal(each, before[name])


def test_what_cannot_be_copied_is_said(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("int8", "spoon"):
        with pytest.raises(ValueError, match="there is no dtype"):
            recast(engine, word)
    with monkeypatch.context() as patch:
        patch.setattr(recasting, "_free_bytes", lambda device: 1000)
        with pytest.raises(ValueError, match="a copy of the model in bfloat16 takes"):
            recast(engine, "bfloat16")
    with monkeypatch.context() as patch:
        patch.setattr(engine.model, "hf_device_map", {"a": 0, "b": "cpu"}, raising=False)
        with pytest.raises(ValueError, match="several devices"):
            recast(engine, "bfloat16")
    monkeypatch.setattr(engine.model, "is_quantized", True, raising=False)
    with pytest.raises(ValueError, match="quantised"):
        recast(engine, "bfloat16")


def test_stored_logits_are_each_owners_own(engine: LocalEngine) -> None:
    prompt = engine.raw("abc")
    trace = engine.run(prompt, SamplingParams(temperature=0, max_tokens=3), owner="one")
    with torch.inference_mode():
        ids = torch.tensor([[*prompt.ids, *trace.answer_ids[:2]]])
        own = tiny_llama()(ids).logits[0, -1]
    row = engine.logits(prompt.ids, trace.answer_ids[:2], owner="one")
    assert row is not None
    assert torch.allclose(row, own, atol=1e-4)
    assert engine.logits(prompt.ids, trace.answer_ids[:2], owner="another") is None
