"""Bytes of the KV cache, against what is really held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from playground.trace import SamplingParams
from tests import fakes
from tests.engines import engine_of, prompt_of

GREEDY = SamplingParams(temperature=0, max_tokens=6, seed=0, ignore_eos=True)


@pytest.mark.parametrize(
    "make", [fakes.tiny_llama, fakes.tiny_gpt2, fakes.tiny_gemma3, fakes.tiny_mistral, fakes.tiny_phi3]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bytes_are_those_of_transformers_own_cache(make: Callable[[], Any], dtype: torch.dtype) -> None:
    model = make().to(dtype)
    with torch.inference_mode():
        past = model(torch.tensor([[5, 6, 7]]), use_cache=True).past_key_values
    held = sum(
        part.numel() * part.element_size() for layer in past.layers for part in (layer.keys, layer.values)
    )
    with engine_of(model) as engine:
        look = engine.inside.cache(3)
    assert look.bytes_per_token * 3 == look.held == held
    assert look.held == 2 * look.layers * look.kv_heads * look.head_size * dtype.itemsize * 3
    assert (look.dtype, look.tokens, look.limit) == (str(dtype).removeprefix("torch."), 3, 256)
    assert look.reserved is None


def test_what_is_set_aside_is_that_of_its_owner() -> None:
    prompt = prompt_of([1, 2, 3, 4, 5])
    with engine_of(fakes.tiny_llama()) as engine:
        trace = engine.run(prompt, GREEDY, owner="mine")
        ids = [*prompt.ids, *trace.answer_ids]
        inside = engine.inside
        each = inside.cache(1).bytes_per_token
        kept = inside.cache(len(ids), ids=ids, owner="mine").reserved
        assert kept == (len(ids) - 1) * each  # the last id was never read
        assert inside.cache(len(ids), ids=ids, owner="other").reserved is None
        assert inside.cache(3, ids=[9, 9, 9], owner="mine").reserved is None
        stream = engine.stream(prompt_of([7, 7, 7, 7]), GREEDY, owner="mine")
        for event in stream:
            if getattr(event, "index", None) == 2:
                break
        running = inside.cache(4, ids=[7, 7, 7, 7], owner="mine").reserved
        stream.close()
        assert running in (64 * each, 6 * each, 7 * each, 8 * each, 9 * each)  # its row, or what it left


def test_asking_moves_nothing() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        for start in (1, 50):
            engine.run(prompt_of(range(start, start + 6)), GREEDY)
        store = engine._scheduler.seating.prefixes
        before = [kept.ids.tolist() for kept in store._kept]
        engine.inside.cache(6, ids=range(1, 7))
        assert [kept.ids.tolist() for kept in store._kept] == before


def test_a_model_without_keys_says_so() -> None:
    with engine_of(fakes.tiny_mamba()) as engine, pytest.raises(ValueError, match="not available here"):
        engine.inside.cache(3)
