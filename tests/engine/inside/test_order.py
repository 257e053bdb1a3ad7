"""Word order: what is expected after two texts, against plain passes of another copy of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests import fakes
from tests.engine.inside.test_looking import inside_of
from tests.engines import engine_of

Make = Callable[[], Any]


def expected(model: Any, text: str) -> np.ndarray:
    with torch.inference_mode():
        logits = model(torch.tensor([list(text.encode())])).logits[0, -1]
    return torch.softmax(logits.double(), -1).numpy()


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gpt2, fakes.tiny_gemma3, fakes.tiny_mamba])
def test_order_against_plain_passes(make: Make) -> None:
    texts = ("the dog bit the man", "the man bit the dog")
    before, after = (expected(make(), text) for text in texts)
    with engine_of(make()) as engine:
        found = inside_of(engine).order(texts, n=7)
        visible = engine.vocabulary.visible
        back = inside_of(engine).order((texts[1], texts[0]), n=7)
    assert found.texts == texts
    assert found.ids == tuple(tuple(text.encode()) for text in texts)
    assert found.total_variation == pytest.approx(np.abs(before - after).sum() / 2, abs=1e-5)
    assert found.divergence == pytest.approx((before * np.log(before / after)).sum(), abs=1e-4)
    likeliest = np.argsort(-np.maximum(before, after), kind="stable")[:7]
    assert [name for name, _, _ in found.tokens] == [visible(int(token_id)) for token_id in likeliest]
    np.testing.assert_allclose(
        [chances for _, *chances in found.tokens],
        np.stack([before[likeliest], after[likeliest]], 1),
        atol=1e-5,
    )
    assert back.total_variation == pytest.approx(found.total_variation)
    assert [row[:0:-1] for row in back.tokens] == [row[1:] for row in found.tokens]


def test_the_same_text_twice_is_no_difference() -> None:
    with engine_of(fakes.tiny_llama()) as engine:
        found = inside_of(engine).order(("as it is", "as it is"))
    assert (found.total_variation, found.divergence, len(found.tokens)) == (0.0, 0.0, 10)


@pytest.mark.parametrize(
    ("texts", "n", "why"),
    [
        (("a", "b" * 513), 5, "512 positions at most, and a text has 513"),
        (("", "b"), 5, "empty"),
        (("a", "b"), 0, "n must be"),
        (("a", "b"), 51, "n must be"),
    ],
)
def test_texts_that_cannot_be_compared(texts: tuple[str, str], n: int, why: str) -> None:
    model = fakes.tiny_llama(positions=1024)
    with engine_of(model, context=1024) as engine, pytest.raises(ValueError, match=why):
        inside_of(engine).order(texts, n=n)
