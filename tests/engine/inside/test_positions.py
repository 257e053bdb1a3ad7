"""One token at two positions against formulas written out here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    CohereConfig,
    CohereForCausalLM,
    GPTJConfig,
    GPTJForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    SmolLM3Config,
    SmolLM3ForCausalLM,
)

from playground.engine.inside import NotAvailable
from playground.engine.local import LocalEngine
from tests import fakes
from tests.engine.inside.models import tiny_gemma2, tiny_gpt_oss, uneven
from tests.engine.inside.test_looking import DRAWN, PROMPT, inside_of, numbers
from tests.engines import engine_of

IDS = [72, 101, 108, 108, 111, 44, 32, 119, 111, 114, 108, 100, 33, 10, 72, 101, 108, 108, 111, 46, 32, 65]
FIRST, SECOND = 9, 201
HEADS, SIZE = 4, 8

Make = Callable[[], Any]


def scaled(**rope: Any) -> Make:
    return lambda: fakes.tiny_llama(rope_parameters={"rope_theta": 10_000.0, **rope})


def projected(model: Any, layer: int) -> tuple[Tensor, Tensor]:
    """Queries and keys (heads, size) of the token at FIRST of IDS before they are turned, of each head, by
    the weights of `model`."""
    with torch.inference_mode():
        state = model(torch.tensor([IDS]), output_hidden_states=True).hidden_states[layer][0, FIRST]
        if model.config.model_type == "gpt_neox":
            block = model.gpt_neox.layers[layer]
            fused = block.attention.query_key_value(block.input_layernorm(state)).view(HEADS, 3, SIZE)
            return fused[:, 0], fused[:, 1]
        block = model.model.layers[layer]
        state, attention = block.input_layernorm(state), block.self_attn
        if model.config.model_type == "phi3":
            query, key, _ = attention.qkv_proj(state).split([HEADS * SIZE, 2 * SIZE, 2 * SIZE])
        else:
            query, key = attention.q_proj(state), attention.k_proj(state)
        query, key = query.view(-1, SIZE), key.view(-1, SIZE).repeat_interleave(2, 0)
        if hasattr(attention, "q_norm"):
            query, key = attention.q_norm(query), attention.k_norm(key)
        return query, key


def turned(state: Tensor, position: int, frequencies: np.ndarray, scaling: float = 1.0) -> np.ndarray:
    """(size,) the state with its first numbers turned in pairs (i, i + half)."""
    numbers, half = state.double().numpy().copy(), len(frequencies)
    one, other = numbers[:half].copy(), numbers[half : 2 * half].copy()
    cosine, sine = np.cos(position * frequencies), np.sin(position * frequencies)
    numbers[:half] = scaling * (one * cosine - other * sine)
    numbers[half : 2 * half] = scaling * (other * cosine + one * sine)
    return numbers


def powers(theta: float, numbers: int = SIZE) -> np.ndarray:
    return theta ** -(np.arange(0, numbers, 2) / numbers)


@pytest.mark.parametrize(
    ("make", "layer", "frequencies"),
    [
        (fakes.tiny_llama, 0, powers(10_000)),
        (fakes.tiny_llama, 2, powers(10_000)),
        (scaled(rope_type="default", rope_theta=500.0), 1, powers(500)),
        (scaled(rope_type="linear", factor=4.0), 1, powers(10_000) / 4),
        (fakes.tiny_gemma3, 0, powers(10_000)),  # slides
        (fakes.tiny_gemma3, 2, powers(1_000_000)),  # sees everything
        (fakes.tiny_mistral, 1, powers(10_000)),
        (fakes.tiny_qwen3, 1, powers(10_000)),
        (fakes.tiny_phi3, 1, powers(10_000)),
        (fakes.tiny_gpt_neox, 1, powers(10_000, 2)),  # a quarter of each head
        (tiny_gemma2, 1, powers(10_000)),
    ],
)
def test_rotary_is_its_formula(make: Make, layer: int, frequencies: np.ndarray) -> None:
    queries, keys = projected(uneven(make()), layer)
    with engine_of(uneven(make())) as engine:
        for head in (0, 3):
            found = inside_of(engine).positions(IDS, FIRST, SECOND, layer=layer, head=head)
            assert (found.kind, found.token_id, found.positions) == ("rotary", IDS[FIRST], (FIRST, SECOND))
            assert (found.layer, found.head, found.table) == (layer, head, ())
            np.testing.assert_allclose([pair.frequency for pair in found.pairs], frequencies, rtol=1e-6)
            for pair in found.pairs:
                assert pair.angles == (pair.frequency * FIRST, pair.frequency * SECOND)
            np.testing.assert_allclose(found.before, queries[head], atol=1e-4)
            for states, seen in ((queries, found.queries), (keys, found.keys)):
                for position, row in zip((FIRST, SECOND), seen, strict=True):
                    np.testing.assert_allclose(row, turned(states[head], position, frequencies), atol=5e-4)


@pytest.mark.parametrize(
    "make",
    [
        scaled(rope_type="yarn", factor=4.0, original_max_position_embeddings=64),
        scaled(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
               original_max_position_embeddings=32),
        scaled(rope_type="longrope", factor=4.0, original_max_position_embeddings=64,
               short_factor=[1.0] * 4, long_factor=[1.0, 2.0, 3.0, 4.0]),
    ],
)  # fmt: skip
def test_scaling_is_that_of_the_rotary_module(make: Make) -> None:
    other = make()
    rotary = other.model.rotary_emb
    with torch.inference_mode():  # also sets what depends on the length
        cosines, _ = rotary(torch.zeros(1), torch.tensor([[0, SECOND]]))
    frequencies, scaling = rotary.inv_freq.double().numpy(), float(rotary.attention_scaling)
    assert not np.allclose(frequencies, powers(10_000))
    queries, _ = projected(make(), 0)
    with engine_of(make()) as engine:
        inside = inside_of(engine)
        found = inside.positions(IDS, FIRST, SECOND, layer=0, head=2)
        np.testing.assert_allclose([pair.frequency for pair in found.pairs], frequencies, rtol=1e-6)
        np.testing.assert_allclose(found.before, queries[2], atol=1e-4)
        for position, row in zip((FIRST, SECOND), found.queries, strict=True):
            np.testing.assert_allclose(row, turned(queries[2], position, frequencies, scaling), atol=5e-4)
        start = inside.positions(IDS, 0, SECOND, layer=0, head=2)  # position 0 turns nothing, and stretches
        np.testing.assert_allclose(
            start.queries[0], float(cosines[0, 0, 0]) * np.array(start.before), atol=1e-5
        )


def test_yarn_in_pairs_that_have_one_entry_each() -> None:
    other = tiny_gpt_oss()
    rotary = other.model.rotary_emb
    with engine_of(tiny_gpt_oss()) as engine:
        found = inside_of(engine).positions(IDS, FIRST, SECOND, layer=0, head=1)
    np.testing.assert_allclose([pair.frequency for pair in found.pairs], rotary.inv_freq, rtol=1e-6)
    query = turned(torch.tensor(found.before), SECOND, rotary.inv_freq.numpy(), rotary.attention_scaling)
    np.testing.assert_allclose(found.queries[1], query, atol=5e-4)


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gpt2, fakes.tiny_qwen3, fakes.tiny_gpt_neox])
def test_scores_are_those_of_a_text_of_one_token(make: Make) -> None:
    """In layer 0 the same token many times is what the copies are."""
    with engine_of(make()) as engine:
        inside = inside_of(engine)
        row = inside.attention_row([77] * 12, 10, layer=0, head=3)
        found = inside.positions([77] * 12, 10, 3, layer=0, head=3)
        np.testing.assert_allclose(found.scores, row.scores[::-1], atol=1e-5)
        np.testing.assert_allclose(found.queries[0], row.query, atol=1e-5)


def test_scores_depend_on_the_distance_alone_and_reach_so_far() -> None:
    with engine_of(fakes.tiny_llama(positions=1024), context=1024) as engine:
        inside = inside_of(engine)
        near, far = (inside.positions([77] * 400, at, 0, layer=0, head=0).scores for at in (40, 399))
        assert (len(near), len(far)) == (41, 257)
        np.testing.assert_allclose(far[:41], near, atol=1e-3)


def test_learned_positions_are_their_table() -> None:
    model = fakes.tiny_gpt2()
    body = model.transformer
    with torch.inference_mode():
        sums = body.wte.weight[IDS[FIRST]] + body.wpe.weight[[FIRST, SECOND]]
        queries, keys, _ = body.h[0].attn.c_attn(body.h[0].ln_1(sums)).split(32, -1)
    with engine_of(fakes.tiny_gpt2()) as engine:
        found = inside_of(engine).positions(IDS, FIRST, SECOND, layer=0, head=2)
        deeper = inside_of(engine).positions(IDS, FIRST, SECOND, layer=1, head=2)
    assert (found.kind, found.pairs, found.before) == ("learned", (), ())
    np.testing.assert_array_equal(found.table, body.wpe.weight[[FIRST, SECOND]])
    np.testing.assert_allclose(found.queries, queries[:, 16:24], atol=1e-5)
    np.testing.assert_allclose(found.keys, keys[:, 16:24], atol=1e-5)
    assert deeper.table == found.table
    assert (deeper.queries, deeper.keys, deeper.scores) == ((), (), ())


# -- other families -----------------------------------------------------------------------------------

SIZES = fakes._sizes(fakes.VOCABULARY, 256, 2)
NO_MARKS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def cohere() -> Any:
    return fakes._made(CohereForCausalLM, CohereConfig(**SIZES, num_key_value_heads=2), 0)


def gptj() -> Any:
    sizes = {"n_positions": 256, "n_embd": 32, "n_layer": 2, "n_head": HEADS, "rotary_dim": 4}
    return fakes._made(GPTJForCausalLM, GPTJConfig(vocab_size=fakes.VOCABULARY, **sizes, **NO_MARKS), 0)


def smollm3() -> Any:
    """The second layer has no positions."""
    config = SmolLM3Config(**SIZES, num_key_value_heads=2, no_rope_layers=[1, 0])
    return fakes._made(SmolLM3ForCausalLM, config, 0)


def opt() -> Any:
    """Position 0 is row 2 of the table."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": HEADS, "ffn_dim": 64}
    config = OPTConfig(vocab_size=fakes.VOCABULARY, **sizes, **NO_MARKS, word_embed_proj_dim=32)
    return fakes._made(OPTForCausalLM, config, 0)


@pytest.mark.parametrize(("make", "theta", "numbers_turned"), [(cohere, 500_000, 8), (gptj, 10_000, 4)])
def test_pairs_of_neighbours(make: Make, theta: float, numbers_turned: int) -> None:
    with engine_of(make()) as engine:
        found = inside_of(engine).positions(IDS, FIRST, SECOND, layer=1, head=2)
    frequencies = powers(theta, numbers_turned)
    np.testing.assert_allclose([pair.frequency for pair in found.pairs], frequencies, rtol=1e-5)
    bare = np.array(found.before)
    for position, row in zip((FIRST, SECOND), found.queries, strict=True):
        as_complex = bare[:numbers_turned].view(complex) * np.exp(1j * position * frequencies)
        np.testing.assert_allclose(row[:numbers_turned], as_complex.view(float), atol=5e-4)
        np.testing.assert_allclose(row[numbers_turned:], bare[numbers_turned:], atol=1e-6)


def test_a_layer_without_positions_turns_nothing() -> None:
    with engine_of(smollm3()) as engine:
        turns, still = (
            inside_of(engine).positions(IDS, FIRST, SECOND, layer=layer, head=1) for layer in (0, 1)
        )
    assert len(turns.pairs) == 4
    assert (still.kind, still.pairs, still.before) == ("rotary", (), ())
    np.testing.assert_allclose(*still.queries, atol=1e-6)
    np.testing.assert_allclose(still.scores, still.scores[0], atol=1e-6)


def test_a_table_may_begin_later() -> None:
    with engine_of(opt()) as engine:
        found = inside_of(engine).positions(IDS, FIRST, SECOND, layer=0, head=1)
        table = opt().model.decoder.embed_positions.weight
        np.testing.assert_array_equal(found.table, table[[FIRST + 2, SECOND + 2]])


def bloom() -> Any:
    config = BloomConfig(vocab_size=fakes.VOCABULARY, hidden_size=32, n_layer=2, n_head=4)
    return fakes._made(BloomForCausalLM, config, 0)


@pytest.mark.parametrize(("make", "why"), [(fakes.tiny_mamba, "no attention"), (bloom, "not told")])
def test_models_whose_positions_cannot_be_told(make: Make, why: str) -> None:
    with engine_of(make()) as engine, pytest.raises(NotAvailable, match=f"^not available here: .*{why}"):
        inside_of(engine).positions(IDS, 1, 2, layer=0, head=0)


@pytest.mark.parametrize(
    ("first", "second", "layer", "head", "why"),
    [
        (22, 0, 0, 0, r"position must be in \[0, 21\]"),
        (-1, 0, 0, 0, "position must be"),
        (0, 256, 0, 0, r"second must be in \[0, 255\]"),
        (0, -1, 0, 0, "second must be"),
        (0, True, 0, 0, "second must be"),
        (0, 0, 3, 0, r"layer must be in \[0, 2\]"),
        (0, 0, 0, 4, r"head must be in \[0, 3\]"),
    ],
)
def test_what_is_not_there_is_refused(first: int, second: int, layer: int, head: int, why: str) -> None:
    with engine_of(fakes.tiny_llama()) as engine, pytest.raises(ValueError, match=why):
        inside_of(engine).positions(IDS, first, second, layer=layer, head=head)


@pytest.mark.parametrize(
    "make", [fakes.tiny_llama, fakes.tiny_gpt2, fakes.tiny_gemma3, scaled(rope_type="dynamic", factor=2.0)]
)
def test_looking_changes_nothing(make: Make) -> None:
    model = make()
    with engine_of(model) as engine:
        inside = inside_of(engine)
        before = engine.run(PROMPT, DRAWN, reuse=False)
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        inside.positions(IDS, FIRST, 255, layer=1, head=1)
        inside.order(("one two", "two one"))
        assert numbers(engine.run(PROMPT, DRAWN, reuse=False)) == numbers(before)
        assert model.config._attn_implementation == "sdpa"
        assert all(torch.equal(buffer, buffers[name]) for name, buffer in model.named_buffers())
        hooks = ("_forward_hooks", "_forward_pre_hooks")
        assert not any(getattr(module, kind) for module in model.modules() for kind in hooks)


@pytest.mark.model
def test_positions_of_the_bundled_model(bundled: Any) -> None:
    engine = LocalEngine(bundled)
    try:
        inside = inside_of(engine)
        prompt = engine.raw("The capital of France is")
        theta = bundled.model.config.rope_parameters["rope_theta"]
        for layer in (0, 29):
            found = inside.positions(prompt.ids, 3, 1000, layer=layer, head=8)
            frequencies = powers(theta, 64)
            np.testing.assert_allclose([pair.frequency for pair in found.pairs], frequencies, rtol=1e-5)
            bare = torch.tensor(found.before)
            for place, row in zip((3, 1000), found.queries, strict=True):
                np.testing.assert_allclose(row, turned(bare, place, frequencies), atol=5e-3)
    finally:
        engine.close()
