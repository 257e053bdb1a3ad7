"""The slot KV cache: one row per running lane, written at each row's own position.

A `SlotBatch` is what one forward pass reads: the rows of its slots, all layers. Rows are kept without gaps
(row 0 … n−1), so that a pass takes a view and copies nothing. There is no padding: every row starts at
position 0, and a row that is shorter than the longest is masked beyond its own length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin, get_layer_types_and_kwargs

SMALLEST_CAPACITY = 64


def _power_of_two(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()


@dataclass
class _Span:
    """Where the pass at hand reads and writes: rows [first, first + count), one start per row."""

    first: int
    starts: list[int]
    width: int  # tokens per row in this pass

    @property
    def count(self) -> int:
        return len(self.starts)

    @property
    def length(self) -> int:
        """Positions the keys and values of this pass cover: up to the longest row."""
        return max(self.starts) + self.width

    @property
    def uniform(self) -> bool:
        return min(self.starts) == max(self.starts)


class SlotLayer(CacheLayerMixin):
    """One layer's keys and values: (rows, heads, capacity, head size)."""

    def __init__(self, batch: SlotBatch, sliding_window: int | None) -> None:
        super().__init__()
        self.batch = batch
        self.sliding_window = sliding_window
        self.is_sliding = sliding_window is not None  # read by transformers to choose a mask

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        def empty(like: Tensor) -> Tensor:
            # Zeros, since a masked value still meets a weight of 0, and 0 × NaN is NaN.
            shape = (self.batch.rows, like.shape[1], self.batch.capacity, like.shape[3])
            return torch.zeros(shape, dtype=like.dtype, device=like.device)

        self.keys, self.values = empty(key_states), empty(value_states)
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Store the new states (rows, heads, width, size); return all states up to the longest row."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        span = self.batch.span
        rows = slice(span.first, span.first + span.count)
        if span.uniform:
            columns = slice(span.starts[0], span.starts[0] + span.width)
            self.keys[rows, :, columns] = key_states
            self.values[rows, :, columns] = value_states
        else:  # one token per row, each at its own position
            index = torch.arange(span.first, span.first + span.count, device=self.keys.device)
            where = torch.tensor(span.starts, device=self.keys.device)
            self.keys[index, :, where] = key_states[:, :, 0]
            self.values[index, :, where] = value_states[:, :, 0]
        return self.keys[rows, :, : span.length], self.values[rows, :, : span.length]

    def get_seq_length(self) -> int:
        return self.batch.span.starts[0]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.batch.span.length, 0

    def get_max_length(self) -> int:
        return -1

    def resize(self, rows: int, capacity: int) -> None:
        if not self.is_initialized:
            return
        self.keys, self.values = (_resized(states, rows, capacity) for states in (self.keys, self.values))

    def move_row(self, source: int, target: int) -> None:
        for states in (self.keys, self.values):
            if states is not None:
                states[target] = states[source]

    def clear_row(self, row: int) -> None:
        for states in (self.keys, self.values):
            if states is not None:
                states[row].zero_()


def _resized(states: Tensor | None, rows: int, capacity: int) -> Tensor:
    assert states is not None
    made = states.new_zeros(rows, states.shape[1], capacity, states.shape[3])
    rows, capacity = min(rows, states.shape[0]), min(capacity, states.shape[2])
    made[:rows, :, :capacity] = states[:rows, :, :capacity]
    return made


Snapshot = list[tuple[Tensor, Tensor]]  # per layer: keys and values, (heads, length, head size)


@dataclass(eq=False)
class Slot:
    """One lane's row."""

    batch: SlotBatch
    row: int
    length: int = 0  # positions whose keys and values are stored

    @property
    def kv_bytes(self) -> int:
        return self.length * self.batch.token_bytes

    def snapshot(self, length: int) -> Snapshot:
        """Views (not copies) of the first `length` positions."""
        return [
            (layer.keys[self.row, :, :length], layer.values[self.row, :, :length])
            for layer in self.batch.layers
            if layer.keys is not None and layer.values is not None
        ]


@dataclass(eq=False)
class SlotBatch:
    """The rows that one forward pass decodes together."""

    config: Any  # of the model
    capacity: int = SMALLEST_CAPACITY
    rows: int = 1
    slots: list[Slot] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.capacity = max(SMALLEST_CAPACITY, _power_of_two(self.capacity))
        _, arguments = get_layer_types_and_kwargs(self.config.get_text_config(decoder=True))
        self.layers = [SlotLayer(self, layer.get("sliding_window")) for layer in arguments]
        self.cache = Cache(layers=list(self.layers))
        self.span = _Span(0, [0], 0)
        self._token_bytes = 0

    @property
    def token_bytes(self) -> int:
        """Bytes of one position over all layers; 0 before the first pass."""
        if not self._token_bytes:
            self._token_bytes = sum(
                states.shape[1] * states.shape[3] * states.element_size()
                for layer in self.layers
                for states in (layer.keys, layer.values)
                if states is not None
            )
        return self._token_bytes

    @property
    def total_bytes(self) -> int:
        return self.rows * self.capacity * self.token_bytes

    def add(self, prefix: Snapshot | None = None, length: int = 0) -> Slot:
        """A new row, holding the first `length` positions of `prefix`."""
        self._fit(len(self.slots) + 1, length)
        slot = Slot(self, len(self.slots), length)
        if prefix:
            for layer, (keys, values) in zip(self.layers, prefix, strict=True):
                if not layer.is_initialized:
                    layer.lazy_initialization(keys[None], values[None])
                assert layer.keys is not None
                assert layer.values is not None
                layer.keys[slot.row, :, :length] = keys[:, :length]
                layer.values[slot.row, :, :length] = values[:, :length]
        self.slots.append(slot)
        return slot

    def remove(self, slot: Slot, *, clear: bool = False) -> None:
        """Give the row back; the last row takes its place. `clear` if its values may not be finite."""
        last = self.slots.pop()
        if last is not slot:
            for layer in self.layers:
                layer.move_row(last.row, slot.row)
            self.slots[slot.row] = last
            last.row, slot.row = slot.row, last.row
        if clear:
            for layer in self.layers:
                layer.clear_row(slot.row)

    def adopt(self, slot: Slot) -> None:
        """Move a slot of another batch here; the slot object stays the same."""
        moved = self.add(slot.snapshot(slot.length), slot.length)
        slot.batch.remove(slot)
        self.slots[moved.row] = slot
        slot.batch, slot.row = self, moved.row

    def open_span(self, first: int, count: int, width: int) -> _Span:
        """Make room for `width` tokens more in rows [first, first + count) and aim the next pass at them."""
        starts = [slot.length for slot in self.slots[first : first + count]]
        self.span = _Span(first, starts, width)
        self._fit(len(self.slots), self.span.length)
        return self.span

    def close_span(self) -> None:
        """The pass went through: its rows are longer now."""
        for slot in self.slots[self.span.first : self.span.first + self.span.count]:
            slot.length += self.span.width

    def _fit(self, rows: int, length: int) -> None:
        if rows > self.rows or length > self.capacity:
            self.rows = max(self.rows, _power_of_two(rows))
            self.capacity = max(self.capacity, _power_of_two(length))
            for layer in self.layers:
                layer.resize(self.rows, self.capacity)


def fits_slots(model: Any) -> bool:
    """Whether this model's cache is plain keys and values, so that lanes can share a batch."""
    if getattr(model, "_is_stateful", False):
        return False
    types, _ = get_layer_types_and_kwargs(model.config.get_text_config(decoder=True))
    return set(types) <= {"full_attention", "sliding_attention"}


def token_bytes(config: Any, dtype: torch.dtype) -> int:
    """Bytes of keys and values that one position takes, from the config (for budgets)."""
    text = config.get_text_config(decoder=True)
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return 2 * text.num_hidden_layers * heads * size * dtype.itemsize
