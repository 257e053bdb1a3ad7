"""Rows of the embedding tables, their neighbours and a map of words."""

from __future__ import annotations

from collections.abc import Sequence

from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import EmbeddingLook, EmbeddingMap


def embedding(reader: Reader, token_id: int, *, side: str, n: int) -> EmbeddingLook:
    raise NotAvailable("not available here yet")


def embedding_map(reader: Reader, words: Sequence[str], *, side: str) -> EmbeddingMap:
    raise NotAvailable("not available here yet")
