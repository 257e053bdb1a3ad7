"""What is written down of a step."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from playground.codec import to_plain
from playground.engine.record import step_numbers
from playground.params import SamplingParams
from playground.sampling import decide, distribution, forced
from playground.trace import Candidate


@dataclass
class FakeVocabulary:
    """Ids 111 to 113 look alike, as three of SmolLM2's do, and ids from 150 on are beyond the tokenizer."""

    def bytes_of(self, token_id: int) -> bytes:
        return b"" if token_id >= 150 else bytes([token_id + 50])

    def visible(self, token_id: int) -> str:
        return "\ufffd" if 111 <= token_id <= 113 else f"<{token_id}>"


def numbers(
    logits: Any,
    u: float = 0.0,
    *,
    force: int | None = None,
    top_n: int = 3,
    watched: tuple[int, ...] = (),
    end_ids: tuple[int, ...] = (),
    **settings: Any,
) -> dict[str, Any]:
    row = distribution(torch.as_tensor(logits), SamplingParams(**settings), end_ids=end_ids)
    decision = decide(row, u) if force is None else forced(row, force)
    return step_numbers(row, decision, FakeVocabulary(), top_n=top_n, watched=watched, end_ids=end_ids)


def labels(made: dict[str, Any]) -> dict[int, str]:
    return {item.token_id: item.listed_for for item in made["candidates"]}


def check(made: dict[str, Any]) -> None:
    """The sums that every step keeps."""
    rows: tuple[Candidate, ...] = made["candidates"]
    assert sum(row.prob for row in rows) + made["others_prob"] == pytest.approx(1, abs=1e-6)
    assert sum(row.final_prob for row in rows) + made["others_final_prob"] == pytest.approx(1, abs=1e-6)
    assert len({row.token_id for row in rows}) == len(rows)
    assert [row.rank for row in rows] == sorted({row.rank for row in rows})
    chosen = [row for row in rows if row.listed_for == "chosen"]
    assert [(row.prob, row.logprob, row.rank, row.final_prob) for row in chosen] == [
        (made["prob"], made["logprob"], made["rank"], made["final_prob"])
    ]
    for row in rows:
        assert 0 <= row.prob <= 1
        assert row.logprob <= 0
        assert row.final_prob == 0 or row.removed_by is None
        assert (row.removed_by is None) == (row.removed_why is None)
    assert abs(made["draw"].high - made["draw"].low - made["final_prob"]) <= 1e-12
    json.dumps([to_plain(item) for item in (*rows, *made["stages"], made["draw"])], allow_nan=False)


def scripted() -> torch.Tensor:
    logits = torch.full((200,), -20.0)
    logits[111:114] = torch.tensor([9.0, 8, 7])
    return logits


def test_b02_tokens_that_look_alike_are_three_rows() -> None:
    made = numbers(scripted())
    check(made)
    rows = made["candidates"]
    assert [row.token_id for row in rows] == [111, 112, 113]
    assert [row.bytes for row in rows] == [b"\xa1", b"\xa2", b"\xa3"]
    assert [row.text for row in rows] == ["\ufffd"] * 3
    assert [row.prob for row in rows] == pytest.approx([0.6652, 0.2447, 0.0900], abs=1e-3)
    assert [row.rank for row in rows] == [1, 2, 3]


def test_listed_are_both_tops_the_chosen_the_watched_and_the_ends() -> None:
    logits = torch.arange(200.0).flip(0) / 10  # the lower the id the likelier
    made = numbers(logits, force=90, top_n=2, watched=(50, 90, 999), end_ids=(7, 1, 50, 777), banned=(0, 1))
    check(made)
    # raw top: 0 and 1; final top: 2 and 3. The most telling label wins, ids without a logit are left out.
    assert labels(made) == {
        0: "top", 1: "end_token", 2: "top", 3: "top", 7: "end_token", 50: "watched", 90: "chosen"
    }  # fmt: skip
    assert [row.rank for row in made["candidates"]] == [1, 2, 3, 4, 8, 51, 91]
    raw = logits.double().softmax(-1)
    assert made["end_prob"] == pytest.approx(float(raw[[7, 1, 50]].sum()))
    assert made["gap"] == pytest.approx(float(raw[0] - raw[1]))
    assert made["others_prob"] == pytest.approx(float(1 - raw[[0, 1, 2, 3, 7, 50, 90]].sum()))


def test_top_n_of_nothing_and_of_more_than_there_is() -> None:
    assert labels(numbers([3.0, 1, 2], top_n=0)) == {0: "chosen"}
    whole = numbers([3.0, 1, 2], top_n=20)
    check(whole)
    assert labels(whole) == {0: "chosen", 2: "top", 1: "top"}
    assert (whole["others_prob"], whole["others_final_prob"]) == (0, 0)
    single = numbers([3.0], top_n=20)
    check(single)
    assert (single["prob"], single["gap"], single["entropy"]) == (1, 1, 0)


def test_b22_greedy_keeps_the_raw_column_and_all_rows() -> None:
    for temperature in (0, 1e-40):
        made = numbers(scripted(), 0.99, temperature=temperature)
        check(made)
        assert [row.prob for row in made["candidates"]] == pytest.approx([0.6652, 0.2447, 0.0900], abs=1e-3)
        assert [row.final_prob for row in made["candidates"]] == [1, 0, 0]
        assert [row.removed_by for row in made["candidates"]] == [None, "greedy", "greedy"]
        assert (made["draw"].method, made["draw"].u) == ("greedy", None)
        assert (made["draw"].low, made["draw"].high) == (0, 1)


def test_b33_cut_rows_show_zero_and_the_reason() -> None:
    made = numbers(scripted(), top_p=0.9)
    check(made)
    assert [row.final_prob for row in made["candidates"]] == pytest.approx([0.7311, 0.2689, 0], abs=1e-4)
    cut = made["candidates"][2]
    assert cut.removed_by == "top_p"
    assert cut.removed_why == "the likelier ones already hold 91% of the needed 90%"
    assert [(stage.name, stage.kept) for stage in made["stages"] if stage.active] == [("top_p", 2)]
    assert (made["entropy"], made["final_entropy"]) == (
        pytest.approx(0.8324, abs=1e-3),
        pytest.approx(0.5823, abs=1e-3),
    )


def test_b29_equal_logits_have_unique_ranks_whatever_the_number_of_rows() -> None:
    for top_n in (1, 8, 10):
        made = numbers(torch.full((40,), 2.5, dtype=torch.bfloat16), temperature=0, top_n=top_n)
        check(made)
        assert made["rank"] == 1
        assert [row.token_id for row in made["candidates"]] == list(range(top_n))
        assert {row.logit for row in made["candidates"]} == {2.5}


def test_a_forced_token_that_was_cut_keeps_its_reason() -> None:
    made = numbers(scripted(), force=113, top_k=1)
    check(made)
    assert (made["draw"].method, made["draw"].u, made["final_prob"]) == ("forced", None, 0)
    assert made["draw"].low == made["draw"].high
    assert next(row for row in made["candidates"] if row.listed_for == "chosen").removed_by == "top_k"


def test_ids_beyond_the_tokenizer_are_listed() -> None:
    logits = scripted()
    logits[180] = 12
    made = numbers(logits)
    check(made)
    assert (made["candidates"][0].token_id, made["candidates"][0].bytes) == (180, b"")


def test_b37_excluded_tokens_become_null_beside_their_reason() -> None:
    made = numbers([1.0, -math.inf, 0, 2], top_n=4, logit_bias={2: -math.inf})
    check(made)
    rows = {row.token_id: row for row in made["candidates"]}
    assert (rows[1].removed_by, rows[1].logit, rows[1].logprob, rows[1].rank) == (
        "model",
        -math.inf,
        -math.inf,
        4,
    )
    assert to_plain(rows[1])["logit"] is None
    assert (rows[2].removed_by, rows[2].logit) == ("logit_bias", 0)


@pytest.mark.parametrize("u", [0.0, 0.5, 0.999999])
def test_a_large_vocabulary_keeps_the_sums(u: float) -> None:
    logits = torch.randn(20_000, generator=torch.Generator().manual_seed(1)) * 2
    for settings in ({}, {"temperature": 2.0}, {"top_k": 5, "typical_p": 0.5}, {"repetition_penalty": 1.5}):
        made = numbers(logits, u, watched=(5, 6), end_ids=(19_999,), **settings)
        check(made)
        assert made["draw"].low <= u < made["draw"].high
        chosen = next(row for row in made["candidates"] if row.listed_for == "chosen")
        assert chosen.rank == 1 + int(np.count_nonzero(logits.numpy() > logits[chosen.token_id].item()))
