"""Which tokens mattered for a choice, by gradients."""

from __future__ import annotations

from collections.abc import Sequence

from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import Influence


def influence(
    reader: Reader, ids: Sequence[int], position: int, *, method: str, steps: int, owner: str
) -> Influence:
    raise NotAvailable("not available here yet")
