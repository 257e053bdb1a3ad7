"""Looks inside the model: what it computed between reading a token and choosing the next.

Read-only and on demand. Every method may be called from any thread and blocks until done; the work is done
on the engine's worker, in pieces of at most one pass over `most` positions each, between the passes of runs.
Caches, pools and the runs themselves are never touched. All take plain ids and raise ValueError, in one
sentence, for what cannot be shown. What one `owner` asked is kept for it alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from playground.engine.inside import attention, cache, influence, lens, positions, tables
from playground.engine.inside.reading import MOST, NotAvailable, Reader
from playground.engine.scheduler import Scheduler
from playground.findings.inside import (
    AttentionGrid,
    AttentionMap,
    AttentionRow,
    CacheLook,
    EmbeddingLook,
    EmbeddingMap,
    Influence,
    Lens,
    Matrix,
    ModelShape,
    OrderLook,
    PositionLook,
)

__all__ = ["Inside", "NotAvailable"]


class Inside:
    """See the module. `most`: positions that one look reads at most."""

    most = MOST

    def __init__(self, scheduler: Scheduler) -> None:
        self._reader = Reader(scheduler)

    def shape(self) -> ModelShape:
        """What the model is made of."""
        return self._reader.shape

    # -- attention and lens -----------------------------------------------------------------------

    def attention_grid(self, ids: Sequence[int], *, owner: str = "") -> AttentionGrid:
        """Every head of every layer at a glance, over the first `most` of `ids`."""
        return attention.grid(self._reader, ids, owner=owner)

    def attention_map(
        self, ids: Sequence[int], *, layer: int | None = None, head: int | None = None, owner: str = ""
    ) -> AttentionMap:
        """One head's weights over the first `most` of `ids`; None for the mean over layers or heads."""
        return attention.head_map(self._reader, ids, layer=layer, head=head, owner=owner)

    def attention_row(
        self, ids: Sequence[int], position: int, *, layer: int, head: int, owner: str = ""
    ) -> AttentionRow:
        """How one head's weights at `position` come about, step by step."""
        return attention.row(self._reader, ids, position, layer=layer, head=head, owner=owner)

    def attention_heads(self, ids: Sequence[int], position: int, *, owner: str = "") -> tuple[Matrix, ...]:
        """What `position` takes from each before it and from itself: per layer (heads, position + 1)."""
        return attention.heads(self._reader, ids, position, owner=owner)

    def rollout(self, ids: Sequence[int], position: int, *, owner: str = "") -> Influence:
        """Attention rollout (Abnar and Zuidema 2020) from the position that `ids[position]` was chosen at."""
        return attention.rollout(self._reader, ids, position, owner=owner)

    def lens(self, ids: Sequence[int], position: int, *, n: int = 5, owner: str = "") -> Lens:
        """What each block's output would say after `ids[:position + 1]`; chosen is the id that follows."""
        return lens.lens(self._reader, ids, position, n=n, owner=owner)

    # -- embeddings, positions, influence, cache --------------------------------------------------

    def embedding(self, token_id: int, *, side: str = "input", n: int = 12) -> EmbeddingLook:
        """A token's row in the input or output table, and its nearest by cosine."""
        return tables.embedding(self._reader, token_id, side=side, n=n)

    def embedding_map(self, words: Sequence[str], *, side: str = "input") -> EmbeddingMap:
        """2 to 60 words as points, by principal components."""
        return tables.embedding_map(self._reader, words, side=side)

    def positions(
        self, ids: Sequence[int], first: int, second: int, *, layer: int, head: int, owner: str = ""
    ) -> PositionLook:
        """The token `ids[first]` put at two positions: its query and key at both."""
        return positions.positions(self._reader, ids, first, second, layer=layer, head=head, owner=owner)

    def order(self, texts: tuple[str, str], *, n: int = 10, owner: str = "") -> OrderLook:
        """What is expected after each of two raw texts."""
        return positions.order(self._reader, texts, n=n, owner=owner)

    def influence(
        self,
        ids: Sequence[int],
        position: int,
        *,
        method: str = "input x gradient",
        steps: int = 32,
        owner: str = "",
    ) -> Influence:
        """Which tokens mattered for the choice of `ids[position]`, by gradients of its raw logprob."""
        return influence.influence(self._reader, ids, position, method=method, steps=steps, owner=owner)

    def cache(self, tokens: int, *, ids: Sequence[int] = (), owner: str = "") -> CacheLook:
        """What `tokens` positions take in the KV cache, and what is really held for `ids`."""
        return cache.cache(self._reader, tokens, ids=ids, owner=owner)
