"""Attention."""

from __future__ import annotations

from collections.abc import Sequence

from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import AttentionGrid, AttentionMap, AttentionRow, Influence


def grid(reader: Reader, ids: Sequence[int], *, owner: str) -> AttentionGrid:
    raise NotAvailable("not available here yet")


def head_map(
    reader: Reader, ids: Sequence[int], *, layer: int | None, head: int | None, owner: str
) -> AttentionMap:
    raise NotAvailable("not available here yet")


def row(
    reader: Reader, ids: Sequence[int], position: int, *, layer: int, head: int, owner: str
) -> AttentionRow:
    raise NotAvailable("not available here yet")


def rollout(reader: Reader, ids: Sequence[int], position: int, *, owner: str) -> Influence:
    raise NotAvailable("not available here yet")
