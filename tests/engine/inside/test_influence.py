"""Gradients against those of another copy of the model in float64, and against small differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from playground.engine.inside import NotAvailable, influence
from playground.engine.local import LocalEngine
from tests import fakes
from tests.engine.inside.models import EVERY, tiny_gpt_oss
from tests.engine.inside.test_looking import DRAWN, PROMPT, inside_of, numbers
from tests.engines import engine_of

IDS = [72, 101, 108, 108, 111, 44, 32, 119, 111, 114, 108, 100]
AT = 9
INTEGRATED = "integrated gradients"

Make = Callable[[], Any]


def vectors_of(model: Any, ids: list[int]) -> Tensor:
    return model.get_input_embeddings()(torch.tensor([ids])).detach()


def logprob(model: Any, vectors: Tensor, chosen: int) -> Tensor:
    return model(inputs_embeds=vectors, use_cache=False).logits[0, -1].log_softmax(-1)[chosen]


def gradient(model: Any, vectors: Tensor, chosen: int) -> Tensor:
    leaf = vectors.clone().requires_grad_()
    logprob(model, leaf, chosen).backward()
    assert leaf.grad is not None
    return leaf.grad


def products(model: Any, ids: list[int], position: int) -> np.ndarray:
    """(position,) each vector times its gradient."""
    vectors = vectors_of(model, ids[:position])
    return (vectors * gradient(model, vectors, ids[position])).sum(-1)[0].numpy()


@pytest.mark.parametrize("make", EVERY)
def test_scores_are_vectors_times_gradients(make: Make) -> None:
    # A sum of many products of either sign; gpt-oss has parts that are float32 whatever the model is in.
    wanted = products(make() if make is tiny_gpt_oss else make().double(), IDS, AT)
    with engine_of(make()) as engine:
        found = inside_of(engine).influence(IDS, AT)
    assert (found.position, found.token_id, found.method) == (AT, IDS[AT], "input x gradient")
    assert (found.steps, found.total, found.gap, found.dtype) == (1, None, None, "float32")
    assert len(found.scores) == AT
    np.testing.assert_allclose(found.scores, wanted, atol=1e-3 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gpt2, fakes.tiny_gemma3])
def test_scores_are_what_small_changes_do(make: Make) -> None:
    """A vector that is longer by a little share changes the logprob by that share of its score."""
    model, share = make().double(), 1e-3  # norms compute in float32 whatever the model is in
    vectors = vectors_of(model, IDS[:AT])
    changes = []
    for place in range(AT):
        ends = []
        for sign in (1, -1):
            longer = vectors.clone()
            longer[0, place] *= 1 + sign * share
            ends.append(logprob(model, longer, IDS[AT]).item())
        changes.append((ends[0] - ends[1]) / (2 * share))
    with engine_of(make()) as engine:
        found = inside_of(engine).influence(IDS, AT)
    np.testing.assert_allclose(found.scores, changes, atol=5e-3 * max(1.0, np.abs(changes).max()))


def test_integrated_gradients_are_the_mean_along_the_line() -> None:
    model, steps = fakes.tiny_gpt2().double(), 6
    vectors = vectors_of(model, IDS[:AT])
    mean = sum(gradient(model, vectors * (step + 0.5) / steps, IDS[AT]) for step in range(steps)) / steps
    whole, blank = (logprob(model, vectors * share, IDS[AT]).item() for share in (1, 0))
    with engine_of(fakes.tiny_gpt2()) as engine:
        found = inside_of(engine).influence(IDS, AT, method=INTEGRATED, steps=steps)
    np.testing.assert_allclose(found.scores, (vectors * mean).sum(-1)[0], atol=1e-4)
    assert (found.method, found.steps) == (INTEGRATED, steps)
    assert found.total == pytest.approx(whole - blank, abs=1e-4)
    assert found.gap == pytest.approx(found.total - sum(found.scores), abs=1e-9)


@pytest.mark.parametrize("make", [fakes.tiny_gpt2, lambda: fakes.tiny_llama(layers=1, rms_norm_eps=0.5)])
def test_the_gap_shrinks_with_more_steps(make: Make) -> None:
    with engine_of(make()) as engine:
        looks = [inside_of(engine).influence(IDS, AT, method=INTEGRATED, steps=steps) for steps in (1, 4, 32)]
    gaps = [abs(look.gap) for look in looks if look.gap is not None]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.02
    assert len({look.total for look in looks}) == 1


def test_a_gap_that_stays_is_told() -> None:
    """Where norms stretch whatever is close to nothing, most of the way lies in the first step."""
    with engine_of(fakes.tiny_gemma3()) as engine:
        found = inside_of(engine).influence(IDS, AT, method=INTEGRATED, steps=2)
    assert found.total is not None
    assert found.gap == pytest.approx(found.total - sum(found.scores), abs=1e-9)
    assert abs(found.gap) > 0.1


# -- weights that are kept in less, or come without gradients -----------------------------------------


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gemma3])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_kept_in_less_are_copied_to_float32(make: Make, dtype: torch.dtype) -> None:
    model = make().to(dtype)
    weights = [*model.parameters()]
    wanted = products(make().to(dtype).double(), IDS, AT)
    with engine_of(model) as engine:
        found = inside_of(engine).influence(IDS, AT)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found.scores, wanted, atol=2e-3 * max(1.0, np.abs(wanted).max()))
    assert all(one is other for one, other in zip(model.parameters(), weights, strict=True))
    assert {weight.dtype for weight in weights} == {dtype}


def test_a_copy_shares_what_needs_none_and_keeps_tables_tied() -> None:
    model = fakes.tiny_llama(tie_word_embeddings=True)
    model.model.layers[1].mlp.to(torch.bfloat16)
    model.model.embed_tokens.to(torch.bfloat16)
    with engine_of(model) as engine:
        exact = influence._exact(inside_of(engine)._reader)
    assert exact is not model
    assert exact.lm_head.weight is exact.model.embed_tokens.weight
    assert exact.lm_head.weight.dtype == exact.model.layers[1].mlp.up_proj.weight.dtype == torch.float32
    assert exact.model.layers[0].mlp.up_proj.weight is model.model.layers[0].mlp.up_proj.weight
    assert not any(weight.requires_grad for weight in exact.parameters())


def test_a_copy_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fakes.tiny_llama().bfloat16()
    needed = 4 * sum(each.numel() for each in [*model.parameters(), *model.buffers()])
    with engine_of(model) as engine:
        monkeypatch.setattr(influence, "MOST_COPIED", needed)
        inside_of(engine).influence(IDS, AT)
        monkeypatch.setattr(influence, "MOST_COPIED", needed - 1)
        with pytest.raises(NotAvailable, match=r"^not available here: .* a copy of 0.0 GB, .* limit$"):
            inside_of(engine).influence(IDS, AT - 1)
        monkeypatch.undo()
        monkeypatch.setattr(influence.psutil, "virtual_memory", lambda: type("", (), {"available": needed}))
        with pytest.raises(NotAvailable, match="GB are free"):
            inside_of(engine).influence(IDS, AT - 1)
    with engine_of(fakes.tiny_llama()) as engine:  # nothing to copy
        inside_of(engine).influence(IDS, AT)


def test_weights_made_without_gradients() -> None:
    with torch.inference_mode():
        model = fakes.tiny_llama()
    assert all(weight.is_inference() for weight in model.parameters())
    wanted = products(fakes.tiny_llama().double(), IDS, AT)
    with engine_of(model) as engine:
        found = inside_of(engine).influence(IDS, AT)
    np.testing.assert_allclose(found.scores, wanted, atol=1e-3)


# -- bounds, and what is left behind ------------------------------------------------------------------


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gpt2, fakes.tiny_gemma3])
def test_looking_changes_nothing(make: Make) -> None:
    model = make()
    model.get_output_embeddings().requires_grad_(True)
    required = [weight.requires_grad for weight in model.parameters()]
    values = [weight.clone() for weight in model.parameters()]
    assert len(set(required)) == 2
    with engine_of(model) as engine:
        before = engine.run(PROMPT, DRAWN, reuse=False)
        inside_of(engine).influence(IDS, AT)
        inside_of(engine).influence(IDS, AT, method=INTEGRATED, steps=2)
        assert numbers(engine.run(PROMPT, DRAWN, reuse=False)) == numbers(before)
        assert inside_of(engine)._reader.call(torch.is_inference_mode_enabled)
    assert [weight.requires_grad for weight in model.parameters()] == required
    assert all(weight.grad is None for weight in model.parameters())
    assert all(map(torch.equal, model.parameters(), values))


def test_one_piece_is_one_pass_and_what_is_known_is_kept_for_its_owner() -> None:
    model, passes = fakes.tiny_llama(), []
    with engine_of(model) as engine:
        inside, pieces = inside_of(engine), []
        model.register_forward_pre_hook(
            lambda _, given, named: passes.append(named["inputs_embeds"].shape[1]), with_kwargs=True
        )
        call = engine._scheduler.call
        engine._scheduler.call = lambda piece: (pieces.append(len(passes)), call(piece))[1]
        inside.influence(IDS, AT, method=INTEGRATED, steps=4, owner="me")
        assert passes == [AT] * 6
        assert pieces == [*range(6)]
        inside.influence(IDS[: AT + 1], AT, method=INTEGRATED, steps=4, owner="me")
        assert len(passes) == 6
        inside.influence(IDS, AT, method=INTEGRATED, steps=4, owner="you")
        assert len(passes) == 12
        inside.influence(IDS, AT, steps=4, owner="you")
        assert len(passes) == 13


def test_512_positions_are_read_and_no_more() -> None:
    ids = [number % 250 for number in range(600)]
    with engine_of(fakes.tiny_llama(positions=1024, layers=1), context=1024) as engine:
        assert len(inside_of(engine).influence(ids, 512).scores) == 512
        with pytest.raises(ValueError, match="512 positions at most"):
            inside_of(engine).influence(ids, 513)


@pytest.mark.parametrize(
    ("ids", "position", "more", "why"),
    [
        ([1], 0, {}, "no token with another before"),
        (IDS, 0, {}, r"position must be in \[1, 11\], got 0"),
        (IDS, 12, {}, "position must be"),
        (IDS, True, {}, "position must be"),
        ([1, 999], 1, {}, "999"),
        (IDS, 1, {"method": "guess"}, "method must be one of input x gradient, integrated gradients"),
        (IDS, 1, {"method": INTEGRATED, "steps": 0}, "steps must be"),
        (IDS, 1, {"method": INTEGRATED, "steps": 257}, "steps must be"),
    ],
)
def test_what_cannot_be_asked(ids: list[int], position: int, more: dict[str, Any], why: str) -> None:
    with engine_of(fakes.tiny_llama()) as engine, pytest.raises(ValueError, match=why):
        inside_of(engine).influence(ids, position, **more)


def test_scores_that_are_no_numbers_are_not_shown() -> None:
    model = fakes.tiny_llama()
    model.model.norm.weight.fill_(torch.inf)
    with engine_of(model) as engine, pytest.raises(NotAvailable, match="no number"):
        inside_of(engine).influence(IDS, AT)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_accelerator_says_what_a_cpu_says(dtype: torch.dtype) -> None:
    makes = fakes.tiny_llama().to(dtype), fakes.tiny_llama().to(dtype).cuda()
    seen = []
    for model in makes:
        with engine_of(model) as engine:
            seen.append(inside_of(engine).influence(IDS, AT).scores)
    np.testing.assert_allclose(*seen, atol=1e-3)


@pytest.mark.model
def test_b48_influence_on_the_bundled_model(bundled: Any) -> None:
    engine = LocalEngine(bundled)
    try:
        prompt, inside = engine.raw("The capital of France is"), inside_of(engine)
        (paris,) = engine.vocabulary.encode(" Paris")
        ids = [*prompt.ids, paris]
        wanted = products(bundled.model, ids, len(prompt.ids))
        found = inside.influence(ids, len(prompt.ids))
        np.testing.assert_allclose(found.scores, wanted, atol=1e-3)
        vectors = vectors_of(bundled.model, list(prompt.ids))
        with torch.no_grad():
            whole, blank = (logprob(bundled.model, vectors * share, paris).item() for share in (1, 0))
        found = inside.influence(ids, len(prompt.ids), method=INTEGRATED, steps=3)
        assert found.total == pytest.approx(whole - blank, abs=1e-3)
        assert found.gap == pytest.approx(found.total - sum(found.scores), abs=1e-6)
    finally:
        engine.close()
