"""Ten template families: the library's ids for honest messages, no forged markers for hostile ones."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.text.chat import chat_prompt
from playground.text.tokens import Vocabulary
from playground.trace import Prompt
from tests.text import makers
from tests.text.families import FAMILIES

Messages = list[dict[str, Any]]
KINDS = {
    "byte level": makers.byte_level,
    "byte fallback": makers.byte_fallback,
    "with a space first": lambda: makers.byte_fallback(prepend=True, bos="<s>"),
    "unigram": lambda: makers.byte_fallback(unigram=True),
}
PAIRS = [
    (family, kind)
    for family in FAMILIES
    for kind in KINDS
    if kind == "byte level" or family in ("gemma", "llama2")
]

BITS = ["hello", " world", "\n", "\n\n", "  ", "é", "👍🏽", "[x]", "5 < 6", "|", "{{ a }}", "\r\n"]


def unmarked(text: str) -> bool:
    """Whether nobody typed a marker: hypothesis also draws texts that it finds in our source."""
    return not any(marker in text for marker in (*makers.SPECIALS, *makers.PLAIN_ADDED))


HONEST = st.lists(st.sampled_from(BITS) | st.text(max_size=4), max_size=6).map("".join).filter(unmarked)
PIECES = [
    *makers.SPECIALS,
    "<think>",
    "<|im_",
    "end|>",
    "<|",
    "|>",
    "<",
    ">",
    "[INST",
    "]",
    "end_of_turn",
    "hello",
    "\n",
]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


def conversations(contents: st.SearchStrategy[str]) -> st.SearchStrategy[Messages]:
    """An optional system message, then user and assistant in turns."""

    def made(system: str | None, turns: list[str]) -> Messages:
        opening = [] if system is None else [{"role": "system", "content": system}]
        roles = ("user", "assistant")
        return opening + [{"role": roles[i % 2], "content": text} for i, text in enumerate(turns)]

    return st.builds(made, st.none() | contents, st.lists(contents, min_size=1, max_size=4))


@cache
def vocabulary(family: str, kind: str) -> Vocabulary:
    tokenizer = KINDS[kind]()
    tokenizer.chat_template = FAMILIES[family]
    return makers.vocabulary(tokenizer)


def controls(vocab: Vocabulary, prompt: Prompt) -> list[int]:
    return [token_id for token_id in prompt.ids if vocab.is_special(token_id)]


def check(vocab: Vocabulary, prompt: Prompt) -> None:
    """What holds for every prompt: segments cover the text, spans lie in it in order, bytes add up."""
    assert prompt.segments[0].start == 0
    assert prompt.segments[-1].end == len(prompt.text)
    assert all(
        a.end == b.start and a.start < a.end
        for a, b in zip(prompt.segments, prompt.segments[1:], strict=False)
    )
    assert prompt.ids == tuple(token.token_id for token in prompt.tokens)
    assert [token.position for token in prompt.tokens] == list(range(len(prompt.ids)))
    assert all(0 <= token.start <= token.end <= len(prompt.text) for token in prompt.tokens)
    assert all(
        a.start <= b.start and a.end <= b.end for a, b in zip(prompt.tokens, prompt.tokens[1:], strict=False)
    )
    if vocab.rules.byte_level:
        assert b"".join(token.bytes for token in prompt.tokens).decode() == prompt.text


@pytest.mark.parametrize(("family", "kind"), PAIRS)
@settings(max_examples=15, deadline=None)
@given(messages=conversations(HONEST))
def test_ids_are_those_of_the_library(family: str, kind: str, messages: Messages) -> None:
    vocab = vocabulary(family, kind)
    prompt = chat_prompt(vocab, messages)
    expected = vocab.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert list(prompt.ids) == expected
    check(vocab, prompt)
    assert "raw" not in {segment.kind for segment in prompt.segments}  # everything could be traced


@pytest.mark.parametrize("family", ["chatml", "llama3", "qwen3", "zephyr"])
@settings(max_examples=15, deadline=None)
@given(messages=conversations(HONEST))
def test_segments_hold_what_each_party_wrote(family: str, messages: Messages) -> None:
    prompt = chat_prompt(vocabulary(family, "byte level"), messages)
    written = [(s.kind, prompt.text[s.start : s.end]) for s in prompt.segments if not s.added_by_template]
    trims = family == "llama3"
    expected = [(m["role"], m["content"].strip() if trims else m["content"]) for m in messages]
    # A message may be empty, and then has no segment.
    assert written == [(role, text) for role, text in expected if text]


@pytest.mark.parametrize(("family", "kind"), PAIRS)
@settings(max_examples=15, deadline=None)
@given(messages=conversations(HOSTILE))
def test_typed_markers_are_never_control_tokens(family: str, kind: str, messages: Messages) -> None:
    vocab = vocabulary(family, kind)
    benign = [{**message, "content": "x"} for message in messages]
    prompt = chat_prompt(vocab, messages)
    assert controls(vocab, prompt) == controls(vocab, chat_prompt(vocab, benign))
    check(vocab, prompt)
    text = prompt.text
    for token in prompt.tokens:
        if token.is_special:
            assert text[token.start : token.end].strip() == vocab.added[token.token_id]


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"macros"}))  # that one writes a message twice
@settings(max_examples=8, deadline=None)
@given(messages=conversations(HONEST))
def test_going_on_with_the_last_message(family: str, messages: Messages) -> None:
    vocab = vocabulary(family, "byte level")
    last = "assistant" if messages[-1]["role"] == "user" else "user"
    messages = [*messages, {"role": last, "content": "x"}]
    prompt = chat_prompt(vocab, messages, continue_last=True)
    expected = vocab.tokenizer.apply_chat_template(messages, continue_final_message=True, return_dict=False)
    assert list(prompt.ids) == expected
    assert Counter(segment.kind for segment in prompt.segments)["generation_prompt"] == 0
    assert prompt.text.endswith("x")
    assert not prompt.segments[-1].added_by_template
