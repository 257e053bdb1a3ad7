"""The slot cache against the model itself without any cache."""

from __future__ import annotations

import pytest
import torch

from playground.engine.decode import decode_one, prefill, read_uncached
from playground.engine.slots import SlotBatch, fits_slots, token_bytes
from tests import fakes

FAMILIES = [
    fakes.tiny_llama,
    fakes.tiny_gemma3,
    fakes.tiny_gpt2,
    fakes.tiny_qwen3,
    fakes.tiny_mistral,
    fakes.tiny_phi3,
    fakes.tiny_gpt_neox,
]
PROMPTS = [[5], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [7, 8, 9], [3, 3, 3, 4, 5]]


@pytest.fixture(params=FAMILIES, ids=lambda make: make.__name__)
def model(request: pytest.FixtureRequest) -> object:
    return request.param()


@torch.inference_mode()
def test_lanes_of_other_lengths_equal_runs_without_cache(model: object) -> None:
    """Rows join and leave, grow past their first capacity, and are read in two pieces on the way in."""
    batch = SlotBatch(model.config)
    lanes = []
    for ids in PROMPTS:
        alone = SlotBatch(model.config)
        slot = alone.add()
        if half := len(ids) // 2:
            prefill(model, slot, ids[:half])
        row = prefill(model, slot, ids[half:])[-1]
        batch.adopt(slot)
        lanes.append((slot, [*ids, int(row.argmax())]))
    for turn in range(70):
        if turn == 20:
            slot, _ = lanes.pop(0)
            batch.remove(slot)
        lanes.sort(key=lambda lane: lane[0].row)
        rows = decode_one(model, batch, [ids[-1] for _, ids in lanes])
        for (slot, ids), row in zip(lanes, rows, strict=True):
            assert slot.length == len(ids)
            if turn % 7 == 0:
                torch.testing.assert_close(row, read_uncached(model, ids)[-1], atol=1e-4, rtol=1e-4)
            ids.append(int(row.argmax()))
    assert batch.capacity == 128
    assert batch.token_bytes == token_bytes(model.config, model.dtype)


@torch.inference_mode()
def test_a_prefix_can_be_copied_from_another_row(model: object) -> None:
    first = SlotBatch(model.config).add()
    prefill(model, first, PROMPTS[1])
    second = SlotBatch(model.config).add(first.snapshot(7), 7)
    row = prefill(model, second, [40, 41])[-1]
    torch.testing.assert_close(row, read_uncached(model, [*PROMPTS[1][:7], 40, 41])[-1], atol=1e-4, rtol=1e-4)
    again = prefill(model, first, [9])[-1]  # the source is as it was
    torch.testing.assert_close(again, read_uncached(model, [*PROMPTS[1], 9])[-1], atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_a_broken_row_does_not_reach_the_next_lane() -> None:
    model = fakes.tiny_llama()
    batch = SlotBatch(model.config)
    short, long = batch.add(), batch.add()
    prefill(model, short, [1, 2])
    prefill(model, long, list(range(1, 20)))
    for layer in batch.layers:
        layer.values[long.row] = float("nan")
    batch.remove(long, clear=True)
    follower = batch.add()
    prefill(model, follower, [1, 2, 3, 4])
    rows = decode_one(model, batch, [3, 5])
    torch.testing.assert_close(rows[0], read_uncached(model, [1, 2, 3])[-1], atol=1e-4, rtol=1e-4)


def test_a_state_space_model_does_not_fit() -> None:
    assert not fits_slots(fakes.tiny_mamba())
    assert fits_slots(fakes.tiny_gemma3())
