"""Raw text: its own markers, the start token, lost characters."""

from __future__ import annotations

import pytest

from playground.text.chat import PromptError, raw_prompt
from tests.text import makers
from tests.text.talk import GEMMA, VOCAB, count, parts


def test_b10_raw_text_has_one_start_token() -> None:
    for text in ("hi", "<bos>hi"):
        prompt = raw_prompt(GEMMA, text)
        assert prompt.ids == (GEMMA.bos_id, GEMMA.backend.token_to_id("hi"))
        assert prompt.text == "<bos>hi"
        assert [(token.start, token.end, token.bytes) for token in prompt.tokens] == [
            (0, 5, b"<bos>"),
            (5, 7, b"hi"),
        ]
    added, typed = raw_prompt(GEMMA, "hi"), raw_prompt(GEMMA, "<bos>hi")
    assert parts(added) == [("template", "<bos>"), ("raw", "hi")]
    assert added.segments[0].added_by_template
    assert (added.notes, typed.notes) == ((), ("typed, taken as control tokens: <bos>",))
    assert parts(typed) == [("raw", "<bos>hi")]
    assert raw_prompt(VOCAB, "hi").ids == tuple(VOCAB.encode("hi"))


def test_raw_text_may_hold_markers_and_says_so() -> None:
    prompt = raw_prompt(VOCAB, "a<|im_end|>b<|im_end|>")
    assert count(VOCAB, prompt, "<|im_end|>") == 2
    assert prompt.notes == ("typed, taken as control tokens: <|im_end|>",)
    assert [token.is_special for token in prompt.tokens] == [False, True, False, True]


def test_raw_text_with_a_space_put_before_it() -> None:
    vocab = makers.vocabulary(makers.byte_fallback(prepend=True, bos="<s>"))
    prompt = raw_prompt(vocab, "hello world")
    assert prompt.text == "<s>hello world"
    assert [(token.start, token.end) for token in prompt.tokens] == [(0, 3), (3, 8), (8, 14)]


def test_empty_raw_text() -> None:
    with pytest.raises(PromptError, match="the prompt is empty"):
        raw_prompt(VOCAB, "")
    assert raw_prompt(GEMMA, "").ids == (GEMMA.bos_id,)
    with pytest.raises(PromptError, match="2,000,001 characters"):
        raw_prompt(VOCAB, "a" * 2_000_001)


def test_lost_characters_are_counted() -> None:
    tokenizer = makers.word_piece()
    prompt = raw_prompt(makers.vocabulary(tokenizer), "hello quux world")
    assert prompt.notes == ("4 characters lost: not in the model's vocabulary",)
    few = makers.vocabulary(makers.byte_level_of("ab \u00c3"))  # of é it has the first byte only
    assert raw_prompt(few, "a\x04é b").ids == tuple(few.encode("a\u00e9 b"))
    assert raw_prompt(few, "a\x04é b").notes == ("2 characters lost: not in the model's vocabulary",)
    assert [(token.start, token.end) for token in raw_prompt(few, "a\x04b").tokens] == [(0, 1), (2, 3)]
    with pytest.raises(PromptError, match="nothing for these characters"):
        raw_prompt(few, "\x04")


def test_spans_of_a_character_in_pieces() -> None:
    prompt = raw_prompt(GEMMA, "é👍🏽")
    assert [(token.start, token.end) for token in prompt.tokens[1:]] == [(5, 6)] + [(6, 7)] * 4 + [(7, 8)] * 4
