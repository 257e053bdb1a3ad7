"""The Inside tab's pure functions: words for heads and windows, tokens in groups, softmax step by step."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node


def shape(heads: int, kv_heads: int, windows: tuple[int | None, ...] = (None, None)) -> dict[str, Any]:
    return {"layers": len(windows), "heads": heads, "kv_heads": kv_heads, "windows": list(windows)}


@pytest.mark.parametrize(("heads", "kv_heads"), [(9, 3), (8, 8), (8, 1), (32, 8)])
def test_query_heads_read_their_key_head_as_repeat_kv_lays_them(heads: int, kv_heads: int) -> None:
    repeated = [kv for kv in range(kv_heads) for _ in range(heads // kv_heads)]  # torch.repeat_interleave
    found = evaluate(
        "Array.from({length: s.heads}, (_, head) => keyHeadOf(s, head))", s=shape(heads, kv_heads)
    )
    assert found == repeated


def test_heads_in_words() -> None:
    def words(heads: int, kv_heads: int, head: int) -> str:
        return evaluate("headWords(s, head)", s=shape(heads, kv_heads), head=head)

    assert words(9, 3, 4) == "Query head 4 reads key head 1: 9 query heads share 3 key heads."
    assert words(8, 1, 7) == "Query head 7 reads key head 0: 8 query heads share 1 key head."
    assert words(8, 8, 2) == "Each query head has keys and values of its own."


def test_windows_in_words() -> None:
    windows = (512, 512, None)
    told = evaluate(
        "[windowWords(s, 1), windowWords(s, 2), windowsWords(s)]", s={**shape(4, 1, windows), "layers": 3}
    )
    assert told[0] == (
        "Layer 1 has a sliding window: a position sees itself and the 511 before it, nothing earlier."
    )
    assert told[1:] == ["", "512 in 2 of 3 layers"]
    assert evaluate("windowsWords(s)", s=shape(4, 1)) == "none"
    assert evaluate("windowsWords(s)", s=shape(4, 1, (4, 4))) == "4 in all layers"


def test_the_bound_is_said() -> None:
    assert evaluate("readsWords(83, 512)").startswith("Reads all 83 positions, at most 512")
    assert evaluate("readsWords(700, 512)").startswith("Reads the first 512 of 700 positions")
    assert evaluate("readsWords(1, 512)").startswith("Reads 1 position, at most 512")


TOKENS = [
    # name, text, special, block, kind
    ("<s>", "<s>", True, 0, "user"), ("user", "user", False, 0, "user"), ("⏎", "\n", False, 0, "user"),
    ("Hel", "Hel", False, 0, "user"), ("lo", "lo", False, 0, "user"), ("␣you", " you", False, 0, "user"),
    ("?", "?", False, 0, "user"), ("</s>", "</s>", True, 0, "user"), ("⏎", "\n", False, 0, "user"),
    ("Hi", "Hi", False, 1, "answer"), ("!", "!", False, 1, "answer"),
]  # fmt: skip


def tokens() -> list[dict[str, Any]]:
    made = [dict(zip(("name", "text", "special", "block", "kind"), each, strict=True)) for each in TOKENS]
    for place, token in enumerate(made):
        token.update(prompt=token["kind"] != "answer", place=place if place < 9 else place - 9)
    return made


def test_tokens_by_word_end_at_blanks_and_special_tokens_stand_alone() -> None:
    groups = evaluate("groupsOf(tokens, 'word').map((g) => [g.from, g.to, g.name])", tokens=tokens())
    assert groups == [
        [0, 1, "<s>"], [1, 2, "user"], [2, 3, "⏎"], [3, 5, "Hello"], [5, 7, "␣you?"], [7, 8, "</s>"],
        [8, 9, "⏎"], [9, 11, "Hi!"],
    ]  # fmt: skip


def test_groups_of_any_kind_part_the_whole_row() -> None:
    for by in ("token", "word", "message"):
        groups = evaluate("groupsOf(tokens, by).map((g) => [g.from, g.to])", tokens=tokens(), by=by)
        covered = [place for start, end in groups for place in range(start, end)]
        assert covered == list(range(len(TOKENS))), by


def test_scores_sum_by_group_and_lose_nothing() -> None:
    scores = [0.5, -0.25, 0, 1, 2, -1, 0.125, 0, 0, 4]  # of the tokens before the last one
    for by in ("token", "word", "message"):
        rows = evaluate(
            "groupScores(scores, groupsOf(tokens, by)).map((g) => g.score)",
            scores=scores, tokens=tokens(), by=by,
        )  # fmt: skip
        assert sum(rows) == sum(scores), by
    message = evaluate(
        "groupScores(s, groupsOf(t, 'message')).map((g) => [g.name, g.from, g.to])", s=scores, t=tokens()
    )
    assert message == [["you", 0, 9], ["answer", 9, 10]]


def test_the_cache_holds_what_stands_before_the_token() -> None:
    assert evaluate("partsBefore(t, 10)", t=tokens()) == [["you", 9], ["answer", 1]]
    assert evaluate("partsBefore(t, 3)", t=tokens()) == [["you", 3]]
    assert evaluate("partsBefore(t, 0)", t=tokens()) == []


def plain(parts: list[Any]) -> str:
    return "".join(part if isinstance(part, str) else next(iter(part.values())) for part in parts)


def test_where_a_token_was_chosen() -> None:
    said = [plain(evaluate("choiceWords(t, at)", t=tokens(), at=at)) for at in (0, 3, 10)]
    assert said == [
        "<s> stands at position 0. Nothing is before it, so nothing chose or foresaw it.",
        "Hel at position 3 was given, not chosen. What the model expected there is read off position 2 (⏎).",
        "! at position 10, token 2 of the answer, was chosen from position 9 (Hi): "
        "attention rows and the lens look from there.",
    ]


def attention_row(scores: list[float], masked: list[bool], sink: float = 0.0) -> dict[str, Any]:
    exps = [0 if hidden else math.exp(score) for score, hidden in zip(scores, masked, strict=True)]
    weights = [(1 - sink) * each / sum(exps) for each in exps]
    return {
        "products": [8 * score for score in scores], "scores": scores, "masked": masked, "weights": weights,
        "sink": sink,
    }  # fmt: skip


@pytest.mark.parametrize("sink", [0.0, 0.25])
def test_each_exp_divided_by_the_total_is_the_weight(sink: float) -> None:
    row = attention_row([5.0, 1.0, -2.0, 0.5], [True, False, False, False], sink)
    told = evaluate("softmaxRow(row)", row=row)
    assert told["largest"] == 1.0  # what is masked is not looked at
    assert told["rows"][0]["exp"] == 0
    for each, weight in zip(told["rows"], row["weights"], strict=True):
        assert each["exp"] / told["total"] == pytest.approx(weight)


def test_words_of_the_map() -> None:
    assert evaluate("wordsIn(' king, queen;king\\n apple ,, new york')") == [
        "king", "queen", "apple", "new york",
    ]  # fmt: skip
    assert (
        len(evaluate("wordsIn(text)", text=",".join(map(str, range(99))))) == 99
    )  # too many are told, not cut


def test_shuffled_words_are_the_same_words_in_another_order() -> None:
    text = "The capital of France is"
    for seed in (0.0, 0.1, 0.5, 0.999999):
        made = evaluate("shuffledWords(text, () => seed)", text=text, seed=seed)
        assert made != text
        assert sorted(made.split()) == sorted(text.split())
    assert evaluate("shuffledWords(text, () => 0.3)", text="again again") == "again again"
    assert evaluate("shuffledWords(text, () => 0.3)", text="alone") == "alone"


def test_the_arrow_keys_stay_in_the_grid() -> None:
    def moved(key: str, column: int, row: int) -> Any:
        return evaluate("gridMove(key, at, 30, 9)", key=key, at={"column": column, "row": row})

    assert moved("ArrowRight", 3, 4) == {"column": 4, "row": 4}
    assert moved("ArrowRight", 29, 4) == {"column": 29, "row": 4}
    assert moved("ArrowUp", 3, 0) == {"column": 3, "row": 0}
    assert moved("ArrowDown", 3, 8) == {"column": 3, "row": 8}
    assert moved("End", 3, 4) == {"column": 29, "row": 4}
    assert moved("x", 3, 4) is None


def test_from_which_block_on_the_choice_stood() -> None:
    def rows(*ranks: int | None) -> list[dict[str, Any]]:
        return [
            {"layer": layer, "chosen": None if rank is None else {"rank": rank}}
            for layer, rank in enumerate(ranks)
        ]

    assert evaluate("settledFrom(rows)", rows=rows(9, 1, 2, 1, 1)) == 3
    assert evaluate("settledFrom(rows)", rows=rows(1, 1)) == 0
    assert evaluate("settledFrom(rows)", rows=rows(1, 1, 2)) is None
    assert evaluate("settledFrom(rows)", rows=rows(None, None)) is None


def test_numbers_keep_their_sign_and_never_round_to_a_false_zero() -> None:
    told = evaluate("[0, 1.5, -0.12345, -0.0000123, 3e-7].map((value) => signedNumber(value, 3))")
    assert told == ["0", "1.500", "−0.123", "−1.2e−5", "3.0e−7"]


def test_parameters_in_short() -> None:
    assert evaluate("[134515008, 7241732096, 1500000, 900].map(millions)") == [
        "135 M", "7.2 B", "1.5 M", "900",
    ]  # fmt: skip


def test_a_sum_of_rounded_shares_is_whole_and_a_real_gap_stays() -> None:
    assert evaluate("[0.99999, 1.00002, 0.9981, 0].map(roundedShare)") == [1, 1, 0.9981, 0]


def test_what_lies_outside_the_bound_is_not_asked_for() -> None:
    told = evaluate("[0, 1, 512, 513].map((position) => whyNot(position, 512))")
    assert told[1:3] == ["", ""]  # the token at 512 is chosen from position 511, the last that is read
    assert told[0] == "Nothing stands before position 0: choose a later token."
    assert told[3] == "A look reads the first 512 positions: choose a token up to position 512."


def test_integrated_gradients_that_do_not_add_up_say_so() -> None:
    look = {"method": "integrated gradients", "total": 10.5, "gap": -18.04}
    assert "by 18.04 nats" in evaluate("missedWords(look)", look=look)
    assert evaluate("missedWords(look)", look={**look, "gap": 1.0}) == ""
    assert evaluate("missedWords(look)", look={**look, "method": "input x gradient"}) == ""
    assert evaluate("missedWords(look)", look={"method": "rollout", "total": None, "gap": None}) == ""
