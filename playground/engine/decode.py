"""Prefill and decode: pure steps over (model, slots). They read ids and return logits, and sample nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from playground.engine.slots import Slot, SlotBatch


def prefill(model: Any, slot: Slot, ids: Sequence[int]) -> Tensor:
    """Read `ids` in one parallel pass after what the slot holds; logits (len(ids), vocab)."""
    return _forward(model, slot.batch, slot.row, [list(ids)])[0]


def decode_one(model: Any, batch: SlotBatch, ids: Sequence[int]) -> Tensor:
    """Read one id for every slot of the batch, in row order; logits (slots, vocab)."""
    return _forward(model, batch, 0, [[token_id] for token_id in ids])[:, 0]


def read_uncached(model: Any, ids: Sequence[int]) -> Tensor:
    """Read all ids anew without any cache; logits (len(ids), vocab)."""
    return model(input_ids=torch.tensor([list(ids)], device=model.device), use_cache=False).logits[0]


def _forward(model: Any, batch: SlotBatch, first: int, ids: list[list[int]]) -> Tensor:
    """One pass over rows [first, first + len(ids)), equally many ids each; logits (rows, width, vocab)."""
    width = len(ids[0])
    span = batch.open_span(first, len(ids), width)
    device = model.device
    positions = torch.tensor([[start + i for i in range(width)] for start in span.starts], device=device)
    # Rows of equal length need no mask of ours: transformers makes the usual one, or none at all, which is
    # the faster kernel. Otherwise every row masks what lies beyond itself.
    mask = None if span.uniform else _masks(model.config, batch, positions, span.length, model.dtype)
    output = model(
        input_ids=torch.tensor(ids, device=device),
        position_ids=positions,
        attention_mask=mask,
        use_cache=True,
        cache=batch.cache,
    )
    batch.close_span()
    return output.logits


def _masks(config: Any, batch: SlotBatch, positions: Tensor, length: int, dtype: torch.dtype) -> Any:
    """Ready-made masks (rows, 1, width, length): True (or 0) where a query may look.

    Models that mix full and sliding layers take a dict with one mask per layer type.
    """
    text = config.get_text_config(decoder=True)
    keys = torch.arange(length, device=positions.device)
    queries = positions[:, None, :, None]
    full = keys <= queries
    windows = {layer.sliding_window for layer in batch.layers}
    by_window = {
        window: _as_wanted(full if window is None else full & (keys > queries - window), text, dtype)
        for window in windows
    }
    if len(windows) == 1:
        return by_window[windows.pop()]
    kinds = zip(text.layer_types, batch.layers, strict=True)
    return {kind: by_window[layer.sliding_window] for kind, layer in kinds}


def _as_wanted(allowed: Tensor, config: Any, dtype: torch.dtype) -> Tensor:
    """Boolean for sdpa; numbers to add for other attention implementations."""
    if config._attn_implementation == "sdpa":
        return allowed
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill(
        ~allowed, torch.finfo(dtype).min
    )
