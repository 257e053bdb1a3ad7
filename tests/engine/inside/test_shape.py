"""What a model is made of, as it is told on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from transformers import BloomConfig, BloomForCausalLM

from playground.engine.inside.shape import model_shape
from tests import fakes
from tests.engine.inside.models import tiny_gpt_oss


def test_of_a_llama() -> None:
    shape = model_shape(fakes.tiny_llama(rope_parameters={"rope_type": "default", "rope_theta": 500.0}))
    assert (shape.family, shape.layers, shape.heads, shape.kv_heads, shape.head_size) == ("llama", 3, 4, 2, 8)
    assert (shape.width, shape.vocabulary, shape.tied) == (32, fakes.VOCABULARY, False)
    assert (shape.positions, shape.rotary_theta, shape.windows) == ("rotary", 500.0, (None,) * 3)
    attention, feed, norms = 32 * 32 * 2 + 32 * 16 * 2, 3 * 32 * 64, 2 * 32
    assert shape.parameters == 2 * fakes.VOCABULARY * 32 + 3 * (attention + feed + norms) + 32


def test_tables_that_are_one_are_counted_once() -> None:
    apart, tied = (model_shape(fakes.tiny_llama(tie_word_embeddings=tie)) for tie in (False, True))
    assert tied.tied
    assert apart.parameters - tied.parameters == fakes.VOCABULARY * 32


@pytest.mark.parametrize(
    ("make", "positions", "theta", "windows"),
    [
        (fakes.tiny_gpt2, "learned", None, (None, None)),
        (fakes.tiny_gemma3, "rotary", 1_000_000.0, (4, 4, None, 4, 4, None)),
        (fakes.tiny_mistral, "rotary", 10_000.0, (4, 4)),
        (fakes.tiny_phi3, "rotary", 10_000.0, (None, None)),
        (fakes.tiny_gpt_neox, "rotary", 10_000.0, (None, None)),
        (tiny_gpt_oss, "rotary", 150_000.0, (4, None)),
        (fakes.tiny_mamba, "none", None, (None, None)),
    ],
)
def test_positions_and_windows(
    make: Callable[[], Any], positions: str, theta: float | None, windows: tuple[int | None, ...]
) -> None:
    shape = model_shape(make())
    assert (shape.positions, shape.rotary_theta, shape.windows) == (positions, theta, windows)
    assert (shape.heads, shape.head_size) == ((0, 0) if positions == "none" else (4, 8))


def test_what_is_not_known_is_not_guessed() -> None:
    config = BloomConfig(vocab_size=fakes.VOCABULARY, hidden_size=32, n_layer=2, n_head=4)
    assert model_shape(fakes._made(BloomForCausalLM, config, 0)).positions == "unknown"
