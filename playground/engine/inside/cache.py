"""What a sequence takes in the KV cache."""

from __future__ import annotations

from collections.abc import Sequence

from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import CacheLook


def cache(reader: Reader, tokens: int, *, ids: Sequence[int], owner: str) -> CacheLook:
    raise NotAvailable("not available here yet")
