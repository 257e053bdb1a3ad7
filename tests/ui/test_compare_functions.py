"""The Compare board's pure functions: settings in words, alignment, the table, the tree's rows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node


def steps(*ids: int) -> list[dict[str, int]]:
    return [{"id": token_id} for token_id in ids]


@pytest.mark.parametrize(
    ("reference", "lane", "shared", "parts"),
    [
        ([1, 2, 3], [1, 2, 3], 3, None),
        ([1, 2, 3], [1, 9, 3], 1, 1),
        ([9], [1], 0, 0),
        ([1, 2], [1, 2, 3], 2, None),  # one goes on where the other was cut off
        ([1, 2, 7], [1, 2, 3, 7], 2, 2),  # 7 ends an answer, and is a token like any other
        ([], [1, 2], 0, None),
    ],
)
def test_lanes_part_at_the_first_id_that_differs(
    reference: list[int], lane: list[int], shared: int, parts: int | None
) -> None:
    found = evaluate("alignTo(one, other)", one=steps(*reference), other=steps(*lane))
    assert found == {"shared": shared, "parts": parts}


def test_alignment_goes_on_where_it_was() -> None:
    one, other = steps(1, 2, 3, 4), steps(1, 2, 5)
    assert evaluate("alignTo(one, other, 2)", one=one, other=other) == {"shared": 2, "parts": 2}
    assert evaluate("alignTo(one, other.slice(0, 2), 2)", one=one, other=other) == {
        "shared": 2,
        "parts": None,
    }


def test_how_a_lane_stands_in_words() -> None:
    def words(shared: int, parts: int | None, ended: bool, *lengths: int) -> str:
        standing = {"shared": shared, "parts": parts}
        return evaluate("alignmentWords(s, ended, lengths)", s=standing, ended=ended, lengths=lengths)

    assert words(5, 5, False, 9, 9) == "parts at token 6"
    assert words(5, None, False, 5, 9) == "the same so far"
    assert words(9, None, True, 9, 9) == "the same answer"
    assert words(5, None, True, 5, 9) == "the same for 5 tokens"
    assert words(0, None, False, 0, 0) == ""


def test_settings_in_a_line() -> None:
    assert evaluate("settingsWords(laneParams({temperature: 0}))") == "temperature 0"
    line = evaluate("settingsWords(laneParams({temperature: 1.5, min_p: 0.05, seed: 3}))")
    assert line == "temperature 1.5 · min-p 0.05 · seed 3"
    assert (
        evaluate("settingsWords(laneParams({top_k: 40, top_p: 0.9}))")
        == "temperature 0.8 · top-k 40 · top-p 0.9"
    )


def test_a_seed_counts_as_a_difference_only_where_both_have_one() -> None:
    assert evaluate("alike(laneParams({}), laneParams({seed: 3}))")
    assert evaluate("alike(laneParams({seed: '3'}), laneParams({seed: 3}))")
    assert not evaluate("alike(laneParams({seed: 4}), laneParams({seed: 3}))")
    assert not evaluate("alike(laneParams({top_p: 0.9}), laneParams({}))")


def test_names_are_free() -> None:
    assert evaluate("freeName('wild', ['calm'])") == "wild"
    assert evaluate("freeName('wild', ['wild'])") == "wild 2"
    assert evaluate("freeName('wild 2', ['wild', 'wild 2'])") == "wild 3"


def test_every_question_makes_lanes_that_can_be_compared() -> None:
    questions = evaluate("QUESTIONS.map((q) => q.lanes.map(([name, p]) => [name, laneParams(p)]))")
    for lanes in questions:
        assert 2 <= len(lanes) <= 6
        assert len({name for name, _ in lanes}) == len(lanes)
        assert len({str(sorted(params.items())) for _, params in lanes}) == len(lanes)


def row(**changes: Any) -> dict[str, Any]:
    plain = {
        "name": "a", "settings": {}, "tokens": 3, "mean_logprob": -1.0, "perplexity": 2.7183,
        "mean_entropy": 1.25, "rank1_share": 0.5, "median_kept": 4, "words": 10, "distinct_words": 8,
        "repeated_4grams": 0, "ttft_s": 0.05, "tpot_s": 0.02, "reason": "end_token",
    }  # fmt: skip
    return {**plain, **changes}


def test_the_table_has_a_column_for_each_setting_that_differs() -> None:
    rows = [row(settings={"temperature": 0, "seed": "12"}), row(settings={"temperature": 0.7, "seed": "13"})]
    columns = evaluate("columnsFor(rows).map((c) => c.label)", rows=rows)
    assert columns[:4] == ["lane", "temperature", "seed", "tokens"]
    read = evaluate("columnsFor(rows).slice(1, 12).map((c) => (c.text || c.of)(rows[1]))", rows=rows)
    assert read == ["0.7", "13", "3", "-1.00", "2.72", "1.25", "50.0%", "4", "8 of 10", "0", "50 ms"]


def test_what_is_not_known_is_a_dash_and_comes_last_either_way() -> None:
    rows = [row(perplexity=None), row(perplexity=9.0), row(perplexity=2.0), row(perplexity=30.0)]
    column = "columnsFor(rows).find((c) => c.key === 'perplexity')"
    assert evaluate(f"{column}.text(rows[0])", rows=rows) == "–"
    assert evaluate(f"sortedPlaces(rows, {column}, false)", rows=rows) == [2, 1, 3, 0]
    assert evaluate(f"sortedPlaces(rows, {column}, true)", rows=rows) == [3, 1, 2, 0]


def test_names_sort_as_people_count() -> None:
    rows = [row(name="sample 10"), row(name="sample 9"), row(name="sample 1")]
    assert evaluate("sortedPlaces(rows, columnsFor(rows)[0], false)", rows=rows) == [2, 1, 0]


def test_the_tree_in_rows_fuller_branches_first() -> None:
    def branch(ids: list[int], samples: list[int], *children: Any) -> dict[str, Any]:
        return {"ids": ids, "samples": samples, "children": children}

    root = branch(
        [1, 2], [0, 1, 2], branch([3], [1]), branch([4, 5], [0, 2], branch([6], [0]), branch([7], [2]))
    )
    rows = evaluate("branchRows(root).map((r) => [r.branch.ids, r.depth, r.at])", root=root)
    assert rows == [[[1, 2], 0, 0], [[4, 5], 1, 2], [[6], 2, 4], [[7], 2, 4], [[3], 1, 2]]
