"""The board's pure functions: numbers, texts, half characters, sentences."""

from __future__ import annotations

import pytest

from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node


def test_percentages_are_never_blank_and_never_falsely_whole() -> None:
    shares = [0, 1e-12, 0.00009, 0.0001, 0.005, 0.01, 0.1234, 0.999, 0.9995, 0.99995, 0.9999999, 1]
    assert evaluate("shares.map(percent)", shares=shares) == [
        "0%", "<0.01%", "<0.01%", "0.01%", "0.50%", "1.0%", "12.3%", "99.9%", "99.95%", ">99.99%",
        ">99.99%", "100%",
    ]  # fmt: skip


def test_counts_and_sizes() -> None:
    assert evaluate("[count(49152), count(7)]") == ["49,152", "7"]
    assert evaluate("[bytesize(512), bytesize(3774873)]") == ["512 B", "3.6 MB"]
    assert evaluate("[null, 7.25, 55.4, 1250].map(milliseconds)") == ["–", "7.3 ms", "55 ms", "1.25 s"]


def test_a_roll_is_shown_with_as_many_digits_as_tell_it_from_its_edges() -> None:
    low, high, roll = evaluate("interval(0.86912, 0.869171, 0.86915)")
    assert low < roll < high
    assert evaluate("interval(0.833, 0.955, 0.869)") == ["0.833", "0.955", "0.869"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" Paris", " Paris"), ("\n", "⏎"), ("\t", "⇥"), ("\x00", "␀"), ("\xa0", "⍽"), ("\u200b", "‹U+200B›"),
        ("\u202eabc", "‹U+202E›abc"), ("\u0301", "◌\u0301"), ("say \"it's\"", "say \"it's\""), ("👩", "👩"),
    ],
)  # fmt: skip
def test_b06_what_leaves_no_ink_gets_a_sign(text: str, shown: str) -> None:
    assert evaluate("flowing(text)", text=text) == shown


def pieces(*tokens: str, special: int | None = None) -> list[dict]:
    rows = [{"hex": token, "special": index == special} for index, token in enumerate(tokens)]
    return evaluate("piecesOf(rows)", rows=rows)


def test_b01_tokens_that_share_a_character_are_grouped() -> None:
    first, second, third, last = pieces("f09f", "91", "a9", "2041")
    assert [(p["part"], p["parts"], p["text"]) for p in (first, second, third)] == [
        (1, 3, "👩"), (2, 3, "👩"), (3, 3, "👩"),
    ]  # fmt: skip
    assert last == {"text": " A"}


def test_b01_an_incomplete_character_waits() -> None:
    assert [(p["part"], p["parts"]) for p in pieces("41", "f09f", "91")[1:]] == [(1, None), (2, None)]


def test_bytes_that_are_no_character_stand_alone() -> None:
    assert pieces("a1", "a2") == [{"text": "\ufffd", "broken": True}] * 2
    assert pieces("f09f", "2050") == [{"text": "\ufffd", "broken": True}, {"text": " P"}]
    assert pieces("efbfbd") == [{"text": "\ufffd"}]  # the model wrote the mark itself


def test_a_control_token_ends_a_broken_run() -> None:
    assert pieces("f09f", "3c7c3e", special=1) == [{"text": "\ufffd", "broken": True}, {"text": "<|>"}]


STEP = {
    "text": "␣played", "id": 7, "rank": 3, "prob": 0.1, "finalProb": 0.12, "removedBy": None, "stages": [],
    "candidates": [{"id": 1, "text": "␣been", "prob": 0.458}, {"id": 7, "text": "␣played", "prob": 0.1}],
    "draw": {"method": "sampled", "u": 0.869, "low": 0.833, "high": 0.955},
}  # fmt: skip


def said(**changes: object) -> str:
    parts = evaluate("decisionOf(step)", step={**STEP, **changes})
    return "".join(part if isinstance(part, str) else next(iter(part.values())) for part in parts)


def test_the_decision_in_one_sentence() -> None:
    assert said() == (
        "The roll 0.869 fell between 0.833 and 0.955, the stretch of ␣played. "
        "Not the likeliest: the 3rd choice."
    )
    assert said(rank=1).endswith("It was also the likeliest.")


def test_greedy_and_forced_say_so() -> None:
    nothing = {"u": None, "low": 0.0, "high": 1.0}
    greedy = said(draw={"method": "greedy", **nothing})
    assert greedy == "No dice: the likeliest is taken. ␣played had 10.0%, ahead of ␣been with 45.8%."
    assert "was forced. By itself it had a chance of 12.0%." in said(draw={"method": "forced", **nothing})
    cut = said(draw={"method": "forced", **nothing}, removedBy="top_p")
    assert cut == "␣played was forced. The settings had cut it (top-p)."


def test_reasons_are_the_samplers_own_words() -> None:
    stages = [{"name": "top_p", "setting": "0.9", "cutoff": 0.913, "kept": 7, "mass": 0.9}]

    def reason(removed_by: str | None, removed_why: str | None) -> str:
        candidate = {"id": 1, "rank": 51, "removedBy": removed_by, "removedWhy": removed_why}
        return evaluate("reasonOf(step, candidate)", step={**STEP, "stages": stages}, candidate=candidate)

    assert reason("min_p", "0.8% is under 5% of 31%") == "0.8% is under 5% of 31%"
    assert reason("top_p", None) == "cut by top-p 0.9"
    assert reason("bans", "") == "cut by banned"
    assert reason(None, None) == ""
