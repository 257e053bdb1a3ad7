"""Where a lane keeps what it has read, when it cannot share a batch: alone, one pass per lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from playground.engine.decode import read_uncached


class LoneSeat(Protocol):
    """What the scheduler needs of such a place."""

    @property
    def length(self) -> int:
        """Positions read."""

    @property
    def kv_bytes(self) -> int: ...

    def read(self, ids: Sequence[int]) -> Tensor:
        """Read `ids` after what was read before; logits (len(ids), vocab)."""


class UncachedSeat(LoneSeat):
    """No cache: every pass reads everything anew. Only for measuring what the cache saves."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.ids: list[int] = []

    @property
    def length(self) -> int:
        return len(self.ids)

    @property
    def kv_bytes(self) -> int:
        return 0

    def read(self, ids: Sequence[int]) -> Tensor:
        everything = [*self.ids, *ids]
        logits = read_uncached(self.model, everything)
        self.ids = everything
        return logits[-len(ids) :]


class OwnCacheSeat(LoneSeat):
    """transformers' own cache, for models whose state is more than keys and values."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._length = 0
        self.cache = DynamicCache(config=model.config)

    @property
    def length(self) -> int:
        return self._length

    @property
    def kv_bytes(self) -> int:
        """Bytes of all tensors that the cache holds."""
        return _tensor_bytes(self.cache, depth=4)

    def read(self, ids: Sequence[int]) -> Tensor:
        inputs = torch.tensor([list(ids)], device=self.model.device)
        output = self.model(input_ids=inputs, use_cache=True, cache=self.cache)
        self._length += len(ids)
        return output.logits[0]


def _tensor_bytes(value: Any, depth: int) -> int:
    if isinstance(value, Tensor):
        return value.numel() * value.element_size()
    if depth == 0:
        return 0
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | tuple):
        parts = list(value)
    else:
        parts = list(vars(value).values()) if hasattr(value, "__dict__") else []
    return sum(_tensor_bytes(part, depth - 1) for part in parts)
