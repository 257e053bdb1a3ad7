"""The logit lens."""

from __future__ import annotations

from collections.abc import Sequence

from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import Lens


def lens(reader: Reader, ids: Sequence[int], position: int, *, n: int, owner: str) -> Lens:
    raise NotAvailable("not available here yet")
