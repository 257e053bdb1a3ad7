from __future__ import annotations

import pytest

from playground.sampling.dice import dice

# Philox4x64-10 vectors of Random123 (tests/kat_vectors): counter, key, first word of the block.
PI = 0x243F6A8885A308D3 | 0x13198A2E03707344 << 64 | 0xA4093822299F31D0 << 128 | 0x082EFA98EC4E6C89 << 192
VECTORS = [
    (0, 0, 0x16554D9ECA36314C),
    (2**256 - 1, 2**128 - 1, 0x87B092C3013FE90B),
    (PI, 0x452821E638D01377 | 0xBE5466CF34E90C6C << 64, 0xA528F45403E61D95),
]


@pytest.mark.parametrize(("counter", "key", "word"), VECTORS)
def test_known_answers(counter: int, key: int, word: int) -> None:
    assert dice(key, counter) == (word >> 11) / 2**53


def test_dice_are_reproducible_and_in_range() -> None:
    rolls = [dice(seed, step) for seed in (0, 1, 2**64 - 1) for step in range(200)]
    assert rolls == [dice(seed, step) for seed in (0, 1, 2**64 - 1) for step in range(200)]
    assert all(0 <= u < 1 for u in rolls)
    assert len(set(rolls)) == len(rolls)
    assert abs(sum(rolls) / len(rolls) - 0.5) < 0.05


def test_f6_no_seeds_alias() -> None:
    first = [dice(0, step) for step in range(8)]
    assert first != [dice(2**32, step) for step in range(8)]
    assert first != [dice(2**63, step) for step in range(8)]
