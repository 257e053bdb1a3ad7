"""The logit lens: every row against the final norm and the output table applied by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from playground.engine.inside import NotAvailable
from playground.text.tokens import Vocabulary
from tests import fakes
from tests.engine.inside.models import EVERY, uneven
from tests.engines import engine_of

IDS = [72, 101, 108, 108, 111, 44, 32, 119, 111, 114, 108, 100, 33, 10, 72, 101]
POSITION = 9


def by_hand(model: Any, position: int) -> tuple[np.ndarray, np.ndarray]:
    """(layers + 1, vocab) logits of the rows and (vocab,) of the model itself, in float64: the residual
    stream is caught at the blocks, normed, and compared with the output table."""
    base = model.get_decoder()
    blocks = next(getattr(base, name) for name in ("layers", "h") if hasattr(base, name))
    states: list[torch.Tensor] = []

    def into(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        states.append((given[0] if given else named["hidden_states"])[0, position])

    def out_of(_: Any, given: Any, made: Any) -> None:
        states.append((made[0] if isinstance(made, tuple) else made)[0, position])

    handles = [blocks[0].register_forward_pre_hook(into, with_kwargs=True)]
    handles += [block.register_forward_hook(out_of) for block in blocks]
    with torch.inference_mode():
        own = model(torch.tensor([IDS]), use_cache=False).logits[0, position].double().numpy()
    for handle in handles:
        handle.remove()
    config = model.config
    stream = torch.stack(states).double().numpy()
    norm = next(
        getattr(base, name) for name in ("norm", "ln_f", "norm_f", "final_layer_norm") if hasattr(base, name)
    )
    weight = norm.weight.double().numpy()
    if isinstance(norm, torch.nn.LayerNorm):
        centred = stream - stream.mean(-1, keepdims=True)
        size = np.sqrt((centred**2).mean(-1, keepdims=True) + norm.eps)
        normed = centred / size * weight + norm.bias.double().numpy()
    else:
        eps = getattr(norm, "variance_epsilon", None) or norm.eps
        size = np.sqrt((stream**2).mean(-1, keepdims=True) + eps)
        normed = stream / size * (1 + weight if config.model_type.startswith("gemma") else weight)
    logits = normed @ model.get_output_embeddings().weight.double().numpy().T
    logits = logits / getattr(config, "logits_scaling", 1.0)
    cap = getattr(config, "final_logit_softcapping", None)
    return (cap * np.tanh(logits / cap) if cap else logits), own


@pytest.mark.parametrize("make", EVERY)
def test_rows_are_the_final_norm_and_the_output_table(make: Callable[[], Any]) -> None:
    model = uneven(make())
    logits, own = by_hand(model, POSITION)
    np.testing.assert_allclose(logits[-1], own, atol=1e-4)
    logprobs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    real = own - np.logaddexp.reduce(own)
    chosen = IDS[POSITION + 1]
    with engine_of(model) as engine:
        assert engine.inside is not None
        lens = engine.inside.lens(IDS, POSITION, n=7)
        names: Vocabulary = engine.vocabulary
    assert lens.position == POSITION
    assert lens.error < 1e-4
    assert [row.layer for row in lens.rows] == list(range(engine.inside.shape().layers + 1))
    for row, wanted in zip(lens.rows, logprobs, strict=True):
        order = np.argsort(-wanted, kind="stable")
        assert [token.token_id for token in row.tokens] == order[:7].tolist()
        assert [token.rank for token in row.tokens] == list(range(1, 8))
        assert [token.text for token in row.tokens] == [names.visible(entry) for entry in order[:7].tolist()]
        np.testing.assert_allclose(
            [token.prob for token in row.tokens], np.exp(wanted[order[:7]]), rtol=1e-3, atol=1e-6
        )
        assert row.chosen is not None
        assert (row.chosen.token_id, row.chosen.text) == (chosen, names.visible(chosen))
        assert row.chosen.rank == order.tolist().index(chosen) + 1
        np.testing.assert_allclose(row.chosen.prob, np.exp(wanted[chosen]), rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(row.entropy, -(np.exp(wanted) * wanted).sum(), atol=1e-4)
        np.testing.assert_allclose(row.divergence, (np.exp(real) * (real - wanted)).sum(), atol=1e-3)
    assert lens.rows[-1].divergence < 1e-6


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gpt2, fakes.tiny_gemma3])
def test_rows_agree_with_the_hidden_states_of_transformers(make: Callable[[], Any]) -> None:
    """Whose last one is normed already: the trap is to norm it twice."""
    model = uneven(make())
    with torch.inference_mode():
        output = model(torch.tensor([IDS]), output_hidden_states=True)
        norm = model.get_decoder().norm if hasattr(model.get_decoder(), "norm") else model.transformer.ln_f
        states = [state[0, POSITION] for state in output.hidden_states]
        logits = [model.lm_head(norm(state)) for state in states[:-1]] + [model.lm_head(states[-1])]
        twice = model.lm_head(norm(states[-1]))
    assert (twice - output.logits[0, POSITION]).abs().max() > 0.1
    with engine_of(model) as engine:
        assert engine.inside is not None
        lens = engine.inside.lens(IDS, POSITION, n=1)
    for row, wanted in zip(lens.rows, logits, strict=True):
        assert row.tokens[0].token_id == int(wanted.argmax())
        np.testing.assert_allclose(row.tokens[0].prob, wanted.softmax(-1).max().item(), rtol=1e-4)


def test_the_last_position_has_no_choice_yet_and_later_ids_change_nothing() -> None:
    with engine_of(fakes.tiny_gemma3()) as engine:
        inside = engine.inside
        assert inside is not None
        last = inside.lens(IDS, len(IDS) - 1)
        assert all(row.chosen is None for row in last.rows)
        assert len(last.rows[0].tokens) == 5
        inside._reader.kept._values.clear()
        longer = inside.lens([*IDS, 7, 8], len(IDS) - 1)
        assert [row.tokens for row in longer.rows] == [row.tokens for row in last.rows]
        assert {row.chosen.token_id for row in longer.rows if row.chosen} == {7}


def test_the_rank_of_the_chosen_is_told_beyond_the_listed() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        assert engine.inside is not None
        rows = engine.inside.lens(IDS, POSITION, n=1).rows
        many = engine.inside.lens(IDS, POSITION, n=50).rows
    assert any(row.chosen and row.chosen.rank > 50 for row in rows)
    assert [row.chosen for row in rows] == [row.chosen for row in many]
    assert [len(row.tokens) for row in many] == [50] * 4


@pytest.mark.parametrize("n", [0, 51, 2.0, True])
def test_a_number_of_tokens_that_cannot_be_is_refused(n: Any) -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        assert engine.inside is not None
        with pytest.raises(ValueError, match=r"n must be in \[1, 50\]"):
            engine.inside.lens(IDS, 3, n=n)


def test_a_model_that_ends_without_a_norm_is_refused() -> None:
    model = fakes.tiny_llama()
    model.model.norm = torch.nn.Identity()
    with engine_of(model) as engine:
        assert engine.inside is not None
        with pytest.raises(NotAvailable, match=r"^not available here: .* a norm at its end$"):
            engine.inside.lens(IDS, 3)


def test_what_is_taken_for_the_final_norm_has_to_run_last() -> None:
    model = fakes.tiny_llama()
    model.model.spare = type("SpareNorm", (torch.nn.Identity,), {})()  # the last norm of all, but never runs
    with engine_of(model) as engine:
        assert engine.inside is not None
        with pytest.raises(NotAvailable, match="do not run one after another"):
            engine.inside.lens(IDS, 3)


def test_a_last_row_that_is_not_the_output_is_refused() -> None:
    """Something between the norm and the output that looks back on other tokens would make a lie of it."""
    model = fakes.tiny_llama()
    ends = iter(range(10))
    model.lm_head.register_forward_hook(lambda module, given, made: made * (1 + next(ends)))
    with engine_of(model) as engine:
        assert engine.inside is not None
        with pytest.raises(NotAvailable, match="last block says is not its output"):
            engine.inside.lens(IDS, 3)
