"""What one pass reads of a model."""

from __future__ import annotations

from types import SimpleNamespace

from playground.ui.weights import weight_bytes
from tests import fakes


def test_shared_weights_count_once_and_a_looked_up_embedding_not_at_all() -> None:
    tied = fakes.tiny_llama(64, tie_word_embeddings=True)
    apart = fakes.tiny_llama(64, tie_word_embeddings=False)
    whole = sum(weight.numel() * weight.element_size() for weight in tied.parameters())
    assert weight_bytes(SimpleNamespace(model=tied)) == whole
    assert weight_bytes(SimpleNamespace(model=apart)) == whole  # its output layer has weights of its own
    assert weight_bytes(SimpleNamespace(model=tied.half())) == whole // 2


def test_unknown_is_said_and_not_guessed() -> None:
    assert weight_bytes(object()) is None
    experts = SimpleNamespace(config=SimpleNamespace(get_text_config=lambda: SimpleNamespace(num_experts=8)))
    assert weight_bytes(SimpleNamespace(model=experts)) is None
