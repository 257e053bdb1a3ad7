"""Prompts aligned by ids, and texts by words: against a plain table of the longest common subsequence."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest

from playground.comparing.prompts import aligned, text_changes
from tests.hostile import HOSTILE


def longest(first: list[int], second: list[int]) -> int:
    """The length of a longest common subsequence."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def check_rows(first: list[int], second: list[int], rows: list[tuple[int | None, int | None]]) -> int:
    """Every index of both comes once, in order, and rows of two are of equals. Returns how many those are."""
    assert [i for i, _ in rows if i is not None] == list(range(len(first)))
    assert [j for _, j in rows if j is not None] == list(range(len(second)))
    both = [(i, j) for i, j in rows if i is not None and j is not None]
    assert all(first[i] == second[j] for i, j in both)
    return len(both)


def test_as_many_as_can_be_stand_in_one_row() -> None:
    dice = random.Random(5)
    for _ in range(1500):
        first = [dice.randrange(4) for _ in range(dice.randrange(14))]
        second = [dice.randrange(4) for _ in range(dice.randrange(14))]
        rows, whole = aligned(first, second)
        assert whole
        assert check_rows(first, second, rows) == longest(first, second)


def test_beyond_the_most_changes_the_rest_is_taken_for_different() -> None:
    dice = random.Random(6)
    cut = 0
    for _ in range(1500):
        first = [dice.randrange(3) for _ in range(dice.randrange(16))]
        second = [dice.randrange(3) for _ in range(dice.randrange(16))]
        changes = len(first) + len(second) - 2 * longest(first, second)
        most = dice.randrange(6)
        rows, whole = aligned(first, second, most)
        check_rows(first, second, rows)
        assert whole or changes > most
        cut += not whole
    assert cut > 100


def test_what_comes_before_a_cut_stays_aligned() -> None:
    first = [*range(100), -1, *range(100, 200), *[7000 + i for i in range(50)], 5]
    second = [*range(200), *[8000 + i for i in range(50)], 5]
    rows, whole = aligned(first, second, 10)
    assert not whole
    assert check_rows(first, second, rows) == 201
    assert (100, None) in rows
    assert rows[-1] == (len(first) - 1, len(second) - 1)


@pytest.mark.parametrize("alike", [1, 2, 5000])
def test_two_long_prompts_cost_little_whatever_they_are(alike: int) -> None:
    dice = random.Random(alike)
    first = [dice.randrange(alike) for _ in range(8192)]
    second = [-dice.randrange(alike) - (alike == 1) for _ in range(8192)]
    begun = time.process_time()
    check_rows(first, second, aligned(first, second)[0])
    assert time.process_time() - begun < 5


def test_a_change_of_templates_in_words() -> None:
    changes = text_changes("<|im_start|>user\nHi there<|im_end|>\n", "[INST] Hi there[/INST]")
    assert ("-", "<|im_start|>user\n") in changes
    assert (" ", "Hi there") in changes
    assert changes[-2:] == [("-", "<|im_end|>\n"), ("+", "[/INST]")]


@pytest.mark.parametrize(
    "text", [*HOSTILE, "", "\x00", "a\r\nb", "👍🏽 \u202e", "<" * 50, "<|" + "x" * 60 + "|>"]
)
def test_both_texts_come_out_of_the_changes_to_the_letter(text: str) -> None:
    for before, after in (
        (text, "user\n" + text + "<|im_end|>"),
        (text, ""),
        (text, text),
        ("x " + text, text[::-1]),
    ):
        changes = text_changes(before, after)
        assert "".join(part for sign, part in changes if sign != "+") == before
        assert "".join(part for sign, part in changes if sign != "-") == after
        assert all(one[0] != other[0] for one, other in pairwise(changes))
        assert all(part for _, part in changes)
