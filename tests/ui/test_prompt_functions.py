"""The pure functions of the Prompt tab."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node


def span(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"start": start, "end": end, **more}


def stretches(text: str, segments: list[dict[str, Any]], tokens: list[dict[str, Any]]) -> Any:
    return evaluate("stretchesOf(text, segments, tokens)", text=text, segments=segments, tokens=tokens)


def test_stretches_end_where_a_token_or_a_segment_ends() -> None:
    found = stretches("abcdef", [span(0, 2), span(2, 6)], [span(0, 1), span(1, 4), span(4, 6)])
    assert [(each["start"], each["end"], each["segment"], each["tokens"]) for each in found] == [
        (0, 1, 0, [0]), (1, 2, 0, [1]), (2, 4, 1, [1]), (4, 6, 1, [2]),
    ]  # fmt: skip


def test_tokens_that_share_a_character_share_its_stretch() -> None:
    found = stretches("👍a", [span(0, 3)], [span(0, 2), span(0, 2), span(2, 3)])
    assert [each["tokens"] for each in found] == [[0, 1], [2]]


def test_a_character_without_a_token_keeps_its_place() -> None:
    found = stretches("a\u0004b", [span(0, 3)], [span(0, 1), span(2, 3)])
    assert [each["tokens"] for each in found] == [[0], [], [1]]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=12), st.lists(st.integers(1, 4), min_size=1, max_size=12)
)
def test_stretches_are_the_whole_text_in_order(first: list[int], second: list[int]) -> None:
    def spans(lengths: list[int], size: int) -> list[dict[str, Any]]:
        ends = [min(size, sum(lengths[: i + 1])) for i in range(len(lengths))]
        ends[-1] = size
        return [span(start, end) for start, end in zip([0, *ends], ends, strict=False) if start < end]

    text = "x" * max(sum(first), sum(second))
    segments, tokens = spans(first, len(text)), spans(second, len(text))
    found = stretches(text, segments, tokens)
    assert [each["start"] for each in found] == [0, *(each["end"] for each in found[:-1])]
    assert found[-1]["end"] == len(text)
    for each in found:
        assert segments[each["segment"]]["start"] <= each["start"] < segments[each["segment"]]["end"]
        assert [
            tokens[index]["start"] <= each["start"] < tokens[index]["end"] for index in each["tokens"]
        ] == [True]


def test_a_form_becomes_messages() -> None:
    ask = "messagesOfForm(history, system, prompt)"
    hello = {"role": "user", "content": "Hello"}
    assert evaluate(ask, history=[], system="", prompt="") == [
        {"role": "user", "content": "What is the capital of France?"}
    ]
    assert evaluate(ask, history=[], system="Be brief", prompt="Hello") == [
        {"role": "system", "content": "Be brief"}, hello,
    ]  # fmt: skip
    past = [hello, {"role": "assistant", "content": "Hi"}]
    assert evaluate(ask, history=past, system="Be brief", prompt="") == past


def test_empty_messages_are_not_sent() -> None:
    ask = "messagesToSend(messages)"
    empty = {"role": "user", "content": ""}
    full = {"role": "user", "content": " "}
    assert evaluate(ask, messages=[empty, full]) == [full]
    assert evaluate(ask, messages=[empty, empty]) == [empty]


def test_first_tokens_of_both_sides_by_the_larger_share() -> None:
    def step(*rows: tuple[int, float]) -> dict[str, Any]:
        return {
            "candidates": [
                {"id": id_, "text": str(id_), "special": False, "prob": prob} for id_, prob in rows
            ]
        }

    rows = evaluate(
        "firstTokens(steps, 2)",
        steps=[step((1, 0.6), (2, 0.3), (3, 0.1)), step((3, 0.9), (4, 0.05), (1, 0.01))],
    )
    assert [(row["id"], row["probs"]) for row in rows] == [
        (3, [0.1, 0.9]), (1, [0.6, 0.01]), (2, [0.3, None]), (4, [None, 0.05]),
    ]  # fmt: skip


def test_letters_in_words() -> None:
    assert evaluate("lettersInWords(counts)", counts=[["r", 3], ["s", 1]]) == "r × 3, s × 1"
    assert evaluate("plural(number, 'token')", number=1) == "1 token"
    assert evaluate("plural(number, 'token')", number=1200) == "1,200 tokens"
