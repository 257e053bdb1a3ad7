"""A model of another size: as many layers as asked, weights of its own, and the model itself as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from playground.engine import recast as recasting
from playground.engine.local import LocalEngine
from playground.engine.resized import resized
from playground.trace import SamplingParams
from tests.fakes import loaded, tiny_gemma3, tiny_gpt2, tiny_llama

ENDLESS = SamplingParams(temperature=0, max_tokens=5, ignore_eos=True, seed=0)


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(tiny_llama()))
    yield made
    made.close()


@pytest.mark.parametrize("family", [tiny_llama, tiny_gemma3, tiny_gpt2])
@pytest.mark.parametrize("layers", [1, 4, 8])
def test_it_is_what_transformers_makes_of_such_a_config(family: Callable[..., Any], layers: int) -> None:
    own = LocalEngine(loaded(family()))
    other = resized(own, layers)
    try:
        shapes = {name: each.shape for name, each in family(layers=layers).named_parameters()}
        assert {name: each.shape for name, each in other.model.named_parameters()} == shapes
        kinds = getattr(family(layers=layers).config, "layer_types", None)
        assert getattr(other.model.config, "layer_types", None) == kinds
        assert other.model.config._attn_implementation == own.model.config._attn_implementation
        assert not other.model.training
        trace = other.run(other.raw("abc"), ENDLESS)
        assert (trace.finished.reason, len(trace.steps)) == ("max_tokens", 5)
        assert trace.finished.passes == 5
    finally:
        other.close()
        own.close()


def test_its_weights_are_random_and_nothing_else_changes(engine: LocalEngine) -> None:
    before = {name: each.clone() for name, each in engine.model.state_dict().items()}
    dice = torch.get_rng_state()
    other = resized(engine, 2)
    other.close()
    assert torch.equal(torch.get_rng_state(), dice)
    assert engine.model.config.num_hidden_layers == 3
    assert engine.model.state_dict().keys() == before.keys()
    assert all(torch.equal(each, before[name]) for name, each in engine.model.state_dict().items())
    matrices = {name: each for name, each in other.model.named_parameters() if each.dim() == 2}
    assert matrices
    assert not any(torch.equal(each, before[name]) for name, each in matrices.items())
    assert (other.info.name, other.info.sha256) == ("tiny, 2 layers, random weights", "")


def test_it_keeps_the_dtype() -> None:
    own = LocalEngine(loaded(tiny_llama().bfloat16()))
    other = resized(own, 1)
    try:
        assert all(each.dtype == torch.bfloat16 for each in other.model.parameters())
        assert other.run(other.raw("abc"), ENDLESS).finished.answer_tokens == 5
    finally:
        other.close()
        own.close()


def test_what_cannot_be_built_is_said(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(recasting, "_free_bytes", lambda device: 1000)
        with pytest.raises(ValueError, match=r"a model of 2 layers takes 0\.0 GB, and 0\.0 GB are free"):
            resized(engine, 2)
    with monkeypatch.context() as patch:
        patch.setattr(engine.model, "hf_device_map", {"a": 0, "b": "cpu"}, raising=False)
        with pytest.raises(ValueError, match="several devices"):
            resized(engine, 2)
    with monkeypatch.context() as patch:
        patch.setattr(engine.model, "is_quantized", True, raising=False)
        with pytest.raises(ValueError, match="quantised"):
            resized(engine, 2)
    monkeypatch.setattr(engine.model.config, "hidden_act", "spoon")
    with pytest.raises(ValueError, match=r"a model of 2 layers of this kind cannot be built \(KeyError"):
        resized(engine, 2)


def test_more_layers_need_more_memory(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    own = 4 * sum(each.numel() for each in engine.model.parameters())
    monkeypatch.setattr(recasting, "_free_bytes", lambda device: 3 * own)  # half of it may be taken
    resized(engine, 3).close()
    with pytest.raises(ValueError, match="a model of 6 layers takes"):
        resized(engine, 6)
