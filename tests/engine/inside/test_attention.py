"""Attention: every number against the plain attention of transformers, or formulas written out here."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BloomConfig, BloomForCausalLM

from playground.engine.inside import NotAvailable, attend
from tests import fakes
from tests.engine.inside.models import ATTENDING, tiny_gemma2, tiny_gpt_oss, uneven
from tests.engines import engine_of

IDS = [72, 101, 108, 108, 111, 44, 32, 119, 111, 114, 108, 100, 33, 10, 72, 101, 108, 108, 111, 46, 32, 65]

Make = Callable[[], Any]


def plain(make: Make, ids: list[int] = IDS) -> np.ndarray:
    """(layers, heads, length, length) weights in transformers' own plain form, of another copy."""
    model = make()
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        output = model(torch.tensor([ids]), use_cache=False, output_attentions=True)
    return torch.cat(output.attentions).double().numpy()


@pytest.mark.parametrize("make", ATTENDING)
def test_maps_are_those_of_the_plain_form(make: Make) -> None:
    wanted = plain(make)
    layers, heads = wanted.shape[:2]
    with engine_of(make()) as engine:
        inside = engine.inside
        assert inside is not None
        windows = inside.shape().windows
        for layer in range(layers):
            for head in range(heads):
                seen = inside.attention_map(IDS, layer=layer, head=head)
                assert (seen.layer, seen.head, seen.window) == (layer, head, windows[layer])
                np.testing.assert_allclose(seen.weights, wanted[layer, head], atol=1e-5)
            mean = inside.attention_map(IDS, layer=layer)
            np.testing.assert_allclose(mean.weights, wanted[layer].mean(0), atol=1e-5)
        everything = inside.attention_map(IDS)
        np.testing.assert_allclose(everything.weights, wanted.mean((0, 1)), atol=1e-5)
        one = inside.attention_map(IDS, head=1)
        np.testing.assert_allclose(one.weights, wanted[:, 1].mean(0), atol=1e-5)
        assert (everything.layer, everything.head, one.layer, one.head) == (None, None, None, 1)
        assert everything.window == (windows[0] if len(set(windows)) == 1 else None)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_models_in_16_bit_can_be_looked_at(dtype: torch.dtype) -> None:
    """Rounding moves the logits, which is no reason to refuse."""
    wanted = plain(lambda: fakes.tiny_gemma3().to(dtype))
    with engine_of(fakes.tiny_gemma3().to(dtype)) as engine:
        assert engine.inside is not None
        for layer in range(len(wanted)):
            seen = engine.inside.attention_map(IDS, layer=layer, head=0)
            np.testing.assert_allclose(seen.weights, wanted[layer, 0], atol=0.03)
            np.testing.assert_allclose(np.sum(seen.weights, -1), 1, atol=1e-5)  # summed in float32
        assert len(engine.inside.lens(IDS, 9).rows) == len(wanted) + 1


@pytest.mark.parametrize("make", ATTENDING)
def test_all_heads_at_one_position(make: Make) -> None:
    wanted = plain(make)
    with engine_of(make()) as engine:
        assert engine.inside is not None
        for position in (0, 9, len(IDS) - 1):
            seen = engine.inside.attention_heads(IDS, position)
            np.testing.assert_allclose(seen, wanted[:, :, position, : position + 1], atol=1e-5)


@pytest.mark.parametrize("make", ATTENDING)
def test_rows_step_by_step(make: Make) -> None:
    wanted = plain(make)
    layers, heads = wanted.shape[:2]
    with engine_of(make()) as engine:
        inside = engine.inside
        assert inside is not None
        shape = inside.shape()
        for layer, head, position in [(0, 0, 0), (0, heads - 1, 9), (layers - 1, 1, len(IDS) - 1)]:
            row = inside.attention_row(IDS, position, layer=layer, head=head)
            assert (row.position, row.layer, row.head) == (position, layer, head)
            assert row.kv_head == head * shape.kv_heads // heads
            assert row.window == shape.windows[layer]
            assert len(row.query) == shape.head_size
            lengths = {len(part) for part in (row.products, row.scores, row.masked, row.weights, row.norms)}
            assert lengths == {position + 1}
            reach = row.window or position + 1
            assert list(row.masked) == [position - key >= reach for key in range(position + 1)]
            scores = np.array(row.products) * row.scale
            if row.softcap is not None:
                scores = row.softcap * np.tanh(scores / row.softcap)
            np.testing.assert_allclose(row.scores, scores, atol=1e-5)
            powers = np.where(row.masked, 0, np.exp(scores))
            share = powers / powers.sum() * (1 - row.sink)
            np.testing.assert_allclose(row.weights, share, atol=1e-6)
            np.testing.assert_allclose(row.weights, wanted[layer, head, position, : position + 1], atol=1e-5)
            assert math.isclose(sum(row.weights) + row.sink, 1, abs_tol=1e-6)


@pytest.mark.parametrize("make", ATTENDING)
def test_the_grid_measures_every_head(make: Make) -> None:
    wanted = plain(make)
    length = len(IDS)
    with engine_of(make()) as engine:
        assert engine.inside is not None
        grid = engine.inside.attention_grid(IDS)
    spare = 1 - wanted.sum(-1)
    outcomes = np.concatenate([wanted, np.clip(spare, 0, None)[..., None]], -1)
    logs = np.log(np.where(outcomes > 1e-9, outcomes, 1))
    diagonal = np.arange(length)
    assert (grid.length, grid.size) == (length, 16)
    np.testing.assert_allclose(grid.entropy, -(outcomes * logs).sum(-1).mean(-1), atol=1e-4)
    np.testing.assert_allclose(grid.first, wanted[..., 0].mean(-1), atol=1e-5)
    np.testing.assert_allclose(grid.itself, wanted[..., diagonal, diagonal].mean(-1), atol=1e-5)
    before = wanted[..., diagonal[1:], diagonal[:-1]].mean(-1)
    np.testing.assert_allclose(grid.previous, before, atol=1e-5)
    edges = [(place * length // 16, -(-(place + 1) * length // 16)) for place in range(16)]
    cells = [
        wanted[:, :, top:bottom, left:right].mean((-1, -2)) for top, bottom in edges for left, right in edges
    ]
    np.testing.assert_allclose(grid.thumbs, np.stack(cells, -1), atol=1e-5)


def test_short_texts_have_small_thumbnails() -> None:
    wanted = plain(fakes.tiny_llama, [5, 6, 7])
    with engine_of(fakes.tiny_llama()) as engine:
        assert engine.inside is not None
        grid = engine.inside.attention_grid([5, 6, 7])
        alone = engine.inside.attention_grid([5])
    assert grid.size == 3
    np.testing.assert_allclose(grid.thumbs, wanted.reshape(3, 4, 9), atol=1e-6)
    assert (alone.size, alone.thumbs[0][0], alone.previous[0][0]) == (1, (1.0,), 0.0)


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_qwen3])
def test_queries_and_keys_are_those_of_the_projections(make: Make) -> None:
    """q · k from the weights: normed, projected (and normed by head in Qwen 3), turned by angles."""
    model = uneven(make())
    layer, head, position = 1, 3, 11
    with torch.inference_mode():
        output = model(torch.tensor([IDS]), output_hidden_states=True)
    block = model.model.layers[layer]
    attention = block.self_attn

    def rms(states: np.ndarray, norm: Any) -> np.ndarray:
        size = np.sqrt((states**2).mean(-1, keepdims=True) + norm.variance_epsilon)
        return states / size * norm.weight.double().numpy()

    def turned(states: np.ndarray) -> np.ndarray:  # pairs are (i, i + size / 2)
        size = states.shape[-1]
        angles = np.arange(len(states))[:, None] * 10000.0 ** (-np.arange(0, size, 2) / size)
        left, right = states[:, : size // 2], states[:, size // 2 :]
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([left * cos - right * sin, right * cos + left * sin], -1)

    states = rms(output.hidden_states[layer][0].double().numpy(), block.input_layernorm)
    made = {}
    for name, number in (("q", head), ("k", head // 2), ("v", head // 2)):
        weight = getattr(attention, f"{name}_proj").weight.double().numpy()[number * 8 : number * 8 + 8]
        made[name] = states @ weight.T
        norm = getattr(attention, f"{name}_norm", None)
        made[name] = made[name] if norm is None else rms(made[name], norm)
    query, keys = turned(made["q"])[position], turned(made["k"])[: position + 1]
    with engine_of(model) as engine:
        assert engine.inside is not None
        row = engine.inside.attention_row(IDS, position, layer=layer, head=head)
    np.testing.assert_allclose(row.query, query, atol=1e-4)
    np.testing.assert_allclose(row.products, keys @ query, atol=1e-3)
    np.testing.assert_allclose(row.norms, np.linalg.norm(made["v"][: position + 1], axis=-1), atol=1e-4)
    assert row.scale == 8**-0.5
    assert row.kv_head == 1


def test_caps_and_sinks_are_told() -> None:
    with engine_of(tiny_gemma2()) as engine:
        assert engine.inside is not None
        row = engine.inside.attention_row(IDS, 20, layer=1, head=0)
        assert row.softcap == 2.0
        assert max(map(abs, row.scores)) <= 2.0 < max(map(abs, row.products)) * row.scale
    with engine_of(tiny_gpt_oss()) as engine:
        assert engine.inside is not None
        row = engine.inside.attention_row(IDS, 20, layer=1, head=2)
        assert row.softcap is None
        spare = math.exp(2.0)  # the score of this head's sink, as it is set above
        powers = [math.exp(score) for score, hidden in zip(row.scores, row.masked, strict=True) if not hidden]
        assert math.isclose(row.sink, spare / (spare + sum(powers)), abs_tol=1e-6)


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gemma3, fakes.tiny_gpt2, tiny_gpt_oss])
def test_rollout_is_the_product_of_the_layers(make: Make) -> None:
    wanted = plain(make)
    mixed = wanted.mean(1) / wanted.mean(1).sum(-1, keepdims=True) / 2 + np.eye(len(IDS)) / 2
    product = np.eye(len(IDS))
    for layer in mixed:
        product = layer @ product
    with engine_of(make()) as engine:
        assert engine.inside is not None
        for position in (1, 9, len(IDS) - 1):
            rollout = engine.inside.rollout(IDS, position)
            np.testing.assert_allclose(rollout.scores, product[position - 1, :position], atol=1e-5)
            assert math.isclose(sum(rollout.scores), 1, abs_tol=1e-5)
            assert (rollout.position, rollout.token_id, rollout.method) == (
                position,
                IDS[position],
                "rollout",
            )
            assert (rollout.steps, rollout.total, rollout.gap) == (0, None, None)


def test_models_whose_attention_cannot_be_followed_are_refused_in_a_sentence() -> None:
    sizes = {"vocab_size": fakes.VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}
    bloom = fakes._made(BloomForCausalLM, BloomConfig(**sizes), 0)
    for model, why in ((fakes.tiny_mamba(), "has no attention"), (bloom, "0 attend")):
        with engine_of(model) as engine:
            inside = engine.inside
            assert inside is not None
            for look in (
                lambda inside=inside: inside.attention_grid(IDS),
                lambda inside=inside: inside.attention_map(IDS),
                lambda inside=inside: inside.attention_row(IDS, 3, layer=0, head=0),
                lambda inside=inside: inside.rollout(IDS, 3),
            ):
                with pytest.raises(NotAvailable, match=f"^not available here: .*{why}"):
                    look()


def test_what_does_not_give_the_logits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """If our attention were not the model's, its numbers would not be shown."""
    with engine_of(fakes.tiny_llama()) as engine:
        assert engine.inside is not None
        honest = engine.inside.attention_row(IDS, 9, layer=0, head=0)
        engine.inside._reader.kept._values.clear()
        real = attend._steps
        monkeypatch.setattr(attend, "_steps", lambda q, k, h, scale, *more: real(q, k, h, scale * 1.1, *more))
        with pytest.raises(NotAvailable, match="gives other logits"):
            engine.inside.attention_grid(IDS)
        monkeypatch.undo()
        assert engine.inside.attention_row(IDS, 9, layer=0, head=0) == honest


def test_only_the_first_positions_are_read() -> None:
    long = [index % 250 for index in range(700)]
    with engine_of(fakes.tiny_llama(positions=1024, layers=1), context=1024) as engine:
        inside = engine.inside
        assert inside is not None
        assert inside.most == 512
        assert inside.attention_grid(long).length == 512
        assert len(inside.attention_map(long, layer=0, head=0).weights) == 512
        row = inside.attention_row(long, 511, layer=0, head=0)
        assert row == inside.attention_row(long[:512], 511, layer=0, head=0)
        assert len(inside.rollout(long, 512).scores) == 512
        for look in (
            lambda: inside.attention_row(long, 512, layer=0, head=0),
            lambda: inside.rollout(long, 513),
            lambda: inside.lens(long, 512),
        ):
            with pytest.raises(ValueError, match="reads 512 positions at most"):
                look()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"layer": 3, "head": 0}, r"layer must be in \[0, 2\], got 3"),
        ({"layer": -1, "head": 0}, "layer must be in"),
        ({"layer": True, "head": 0}, "layer must be in"),
        ({"layer": 0, "head": 4}, r"head must be in \[0, 3\], got 4"),
        ({"layer": 0, "head": "1"}, "head must be in"),
        ({"position": 22}, r"position must be in \[0, 21\]"),
        ({"position": -1}, "position must be in"),
        ({"position": 1.0}, "position must be in"),
        ({"ids": []}, "no token to look at"),
        ({"ids": [1, 259]}, "has token 259"),
    ],
)
def test_what_is_not_there_is_refused(asked: dict[str, Any], why: str) -> None:
    given = {"ids": IDS, "position": 1, "layer": 0, "head": 0} | asked
    with engine_of(fakes.tiny_llama()) as engine:
        assert engine.inside is not None
        with pytest.raises(ValueError, match=why):
            engine.inside.attention_row(
                given["ids"], given["position"], layer=given["layer"], head=given["head"]
            )
        for position in (0, len(IDS), None):
            with pytest.raises(ValueError, match="position must be in"):
                engine.inside.rollout(IDS, position)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="no token with another before it"):
            engine.inside.rollout([5], 0)
