"""What a sequence takes in the KV cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from playground.engine.inside.reading import NotAvailable, Reader
from playground.engine.pool import Prefix
from playground.engine.slots import Slot
from playground.findings.inside import CacheLook


def cache(reader: Reader, tokens: int, *, ids: Sequence[int], owner: str) -> CacheLook:
    """Bytes of keys and values of `tokens` positions, in the dtype that they are kept in.

    Each position takes 2 · layers · heads of keys · numbers a head · bytes a number, also in layers whose
    window looks back less far. `reserved` is what the server has really set aside for `ids`: the row of a
    lane of this owner that runs on them, which grows in powers of two, or what was kept of one that ended.
    """
    if type(tokens) is not int or tokens < 0:
        raise ValueError(f"tokens must be 0 or more, got {tokens!r:.40}")
    seating, shape = reader.scheduler.seating, reader.shape
    if not seating.batched:
        raise NotAvailable(
            "not available here: this model keeps a state of one size instead of keys and values"
        )
    reserved = reader.call(lambda: _reserved(reader, ids, owner)) if ids else None
    return CacheLook(
        layers=shape.layers,
        kv_heads=shape.kv_heads,
        head_size=shape.head_size,
        dtype=str(reader.model.dtype).removeprefix("torch."),
        bytes_per_token=seating.token_bytes,
        held=tokens * seating.token_bytes,
        reserved=reserved,
        tokens=tokens,
        limit=reader.info.context,
    )


def _reserved(reader: Reader, ids: Sequence[int], owner: str) -> int | None:
    """Bytes of the row that holds all of `ids` but perhaps the last, which is read only by the next pass."""
    seating, wanted = reader.scheduler.seating, np.asarray(ids)
    least = max(1, len(wanted) - 1)
    for lane, seat in seating.seats.items():
        if not isinstance(seat, Slot) or lane.request.owner != owner:
            continue
        if Prefix(np.asarray(lane.ids[: seat.length]), [], []).shared(wanted) >= least:
            return seat.batch.capacity * seat.batch.token_bytes
    return seating.prefixes.bytes_of(wanted, least, owner)
