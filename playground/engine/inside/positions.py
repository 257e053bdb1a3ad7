"""What a position does to a token, and word order to what is expected."""

from __future__ import annotations

from collections.abc import Sequence

from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import OrderLook, PositionLook


def positions(
    reader: Reader, ids: Sequence[int], first: int, second: int, *, layer: int, head: int, owner: str
) -> PositionLook:
    raise NotAvailable("not available here yet")


def order(reader: Reader, texts: tuple[str, str], *, n: int, owner: str) -> OrderLook:
    raise NotAvailable("not available here yet")
