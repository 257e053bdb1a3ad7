"""Messages and roles that do not fit, and how that is said."""

from __future__ import annotations

from typing import Any

import pytest

from playground.text.chat import PromptError, chat_prompt
from tests.text.talk import STRICT, VOCAB, chatting, parts, user


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ([], "no message yet"),
        ("Hi", "must be a list"),
        ({"role": "user"}, "must be a list"),
        (["Hi"], "message 1 must be an object"),
        ([{"role": "user", "content": None}], "message 1 needs a content that is a text"),
        ([{"role": "user", "content": ["a"]}], "message 1 needs a content"),
        ([{"content": "a"}], "message 1 needs a role"),
        ([{"role": "", "content": "a"}], "message 1 needs a role"),
        ([{"role": "user", "content": "a", "x": object()}], "not plain JSON"),
        ([{"role": "user", "content": "a", "x": {1: 2}}], "not plain JSON"),
        ([{"role": "user", "content": "a", 5: "b"}], "message 1 has a field whose name is not a text"),
        ([{"role": "user", "content": "a", None: None}], "message 1 has a field whose name"),
        ([{"role": "user", "content": "a", ("b",): "c"}], "message 1 has a field whose name"),
        ([{"role": "user", "content": "a", "n": 10**5000}], "message 1 holds a number of more than 308"),
        ([{"role": "user", "content": "a", "n": [{"m": -(10**308)}]}], "message 1 holds a number"),
        ([{"role": "user", "content": "a" * 2_000_001}], "more than 2,000,000 characters"),
        ([{"role": "user", "content": "a"}] * 10_001, "10,001 messages"),
    ],
)
def test_b12_messages_that_are_none(messages: Any, sentence: str) -> None:
    with pytest.raises(PromptError, match=sentence):
        chat_prompt(VOCAB, messages)


def test_b12_nesting_has_an_end() -> None:
    deep: Any = []
    deep.append(deep)
    with pytest.raises(PromptError, match="nested too deeply"):
        chat_prompt(VOCAB, [{"role": "user", "content": "a", "x": deep}])


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        (["system", "user"], "the chat template refuses these messages: System role not supported"),
        (["user", "user"], "the chat template refuses these messages: Roles must alternate"),
        (["assistant"], "the chat template refuses these messages: Roles must alternate"),
        (["system\nX"], "the chat template refuses these messages: Roles must alternate"),
    ],
)
def test_b12_the_templates_own_words(roles: list[str], sentence: str) -> None:
    vocab = chatting(STRICT)
    with pytest.raises(PromptError) as caught:
        chat_prompt(vocab, [{"role": role, "content": "a"} for role in roles])
    assert str(caught.value) == sentence
    assert caught.value.__cause__ is None
    assert chat_prompt(vocab, user("a")).text == "a"


def test_b12_a_role_of_ones_own_is_ones_own_text() -> None:
    prompt = chat_prompt(VOCAB, [{"role": "system\nX", "content": "a"}])
    assert ("user", "system\nX") in parts(prompt)


def test_a_model_without_a_template() -> None:
    with pytest.raises(PromptError, match="use raw mode"):
        chat_prompt(chatting(None), user("Hi"))
    assert chat_prompt(chatting(None), user("Hi"), template="chatml").template == "chatml"


def test_other_fields_reach_the_template() -> None:
    template = "{{ messages[0].tool_calls[0].function.name }}{{ messages[0].reasoning_content }}"
    call = {"function": {"name": "add", "arguments": {"a": 1}}}
    messages = [{"role": "assistant", "content": "", "tool_calls": [call], "thinking": "hm", "name": None}]
    prompt = chat_prompt(VOCAB, messages, template=template)
    assert parts(prompt) == [("assistant", "addhm")]


def test_broken_characters_are_replaced_and_said() -> None:
    prompt = chat_prompt(VOCAB, user("a\ud83d"))
    assert ("user", "a\ufffd") in parts(prompt)
    assert prompt.notes == ("1 broken character replaced by U+FFFD",)


def test_text_of_unknown_origin_is_said() -> None:
    prompt = chat_prompt(VOCAB, user("ab"), template="{{ messages[0].content | title }}!")
    assert parts(prompt) == [("raw", "Ab"), ("template", "!")]
    assert prompt.notes == (
        "who wrote 2 characters cannot be told: shown as raw, and markers there are just text",
    )
