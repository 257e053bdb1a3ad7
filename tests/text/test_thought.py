from __future__ import annotations

import pytest

from playground.text.thought import split_thought


@pytest.mark.parametrize(
    ("prompt", "answer", "split"),
    [
        ("…assistant\n<think>\n", "a</think>b", ("a", "b", True)),
        ("…assistant\n<think>\n", "a", ("a", "", False)),
        ("…assistant\n<think>\n\n</think>\n\n", "b", (None, "b", True)),
        ("…assistant\n", "b", (None, "b", True)),
        ("…assistant\n", "<think>a</think>b", ("a", "b", True)),
        ("…assistant\n", "\n<think>a", ("a", "", False)),
        ("…assistant\n<think>\nfirst", " then</think>b", (" then", "b", True)),
        ("what does <think> mean?…assistant\n", "a tag", (None, "a tag", True)),
        ("…<think>", "a</think>b</think>c", ("a", "b</think>c", True)),
        ("", "", (None, "", True)),
    ],
)
def test_b15_thought_and_answer(prompt: str, answer: str, split: tuple[str | None, str, bool]) -> None:
    assert split_thought(prompt, answer) == split
