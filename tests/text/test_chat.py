"""Segments, thinking, going on with a message, templates by name."""

from __future__ import annotations

import pytest

from playground.text import templates
from playground.text.chat import PromptError, chat_prompt, raw_prompt
from playground.text.tokens import Vocabulary
from tests.text import families, makers
from tests.text.talk import STRICT, VOCAB, chatting, over_borders, parts, user


def test_segments_say_who_wrote_what() -> None:
    prompt = chat_prompt(VOCAB, [*user("Hi", "Yes?", "Go"), {"role": "tool", "content": "5"}])
    assert parts(prompt) == [
        ("template", "<|im_start|>system\n"),
        ("system", "You are a helpful assistant."),
        ("template", "<|im_end|>\n<|im_start|>user\n"),
        ("user", "Hi"),
        ("template", "<|im_end|>\n<|im_start|>assistant\n"),
        ("assistant", "Yes?"),
        ("template", "<|im_end|>\n<|im_start|>user\n"),
        ("user", "Go"),
        ("template", "<|im_end|>\n<|im_start|>tool\n"),
        ("tool", "5"),
        ("template", "<|im_end|>\n"),
        ("generation_prompt", "<|im_start|>assistant\n"),
    ]
    by_template = [segment.added_by_template for segment in prompt.segments]
    assert by_template == [
        kind in ("template", "generation_prompt") or i == 1 for i, (kind, _) in enumerate(parts(prompt))
    ]
    assert (prompt.template, prompt.notes) == ("model's own", ())
    assert prompt.tokens[0].logprob is None
    assert prompt.tokens[0].rank is None


def test_a_system_message_of_ones_own_is_not_the_templates() -> None:
    prompt = chat_prompt(VOCAB, [{"role": "system", "content": "Be brief."}, *user("Hi")])
    assert parts(prompt)[1] == ("system", "Be brief.")
    assert not prompt.segments[1].added_by_template


@pytest.mark.parametrize(
    ("family", "opening"),
    [
        ("phi3", "<|assistant|>\n"),
        ("llama2", None),
        ("mistral", None),
        ("llama3", "<|start_header_id|>assistant<|end_header_id|>\n\n"),
        ("deepseek", "<｜Assistant｜>"),
        ("zephyr", "<|assistant|>\n"),
        ("alike", "<|assistant|>"),
    ],
)
def test_the_generation_prompt(family: str, opening: str | None) -> None:
    alike = "x{% if add_generation_prompt %}<|assistant|>{% else %}<|end|>{% endif %}"
    prompt = chat_prompt(chatting({**families.FAMILIES, "alike": alike}[family]), user("Hi"))
    found = [text for kind, text in parts(prompt) if kind == "generation_prompt"]
    assert found == ([] if opening is None else [opening])


def test_tokens_over_a_border_belong_to_the_larger_part() -> None:
    prompt = chat_prompt(chatting(families.LLAMA2), user("hello"))
    mixed = over_borders(prompt)
    assert [token.bytes for token in mixed] == [b" hello"]
    assert parts(prompt)[mixed[0].segment] == ("user", "hello")


def test_b15_the_thinking_switch() -> None:
    vocab = chatting(families.QWEN3)
    opening = {
        thinking: [
            text
            for kind, text in parts(chat_prompt(vocab, user("Hi"), thinking=thinking))
            if kind == "generation_prompt"
        ]
        for thinking in (None, True, False)
    }
    start = "<|im_start|>assistant\n"
    assert opening == {None: [start], True: [start + "<think>\n"], False: [start + "<think>\n\n</think>\n\n"]}
    on = chat_prompt(vocab, user("Hi"), thinking=True)
    expected = vocab.tokenizer.apply_chat_template(
        user("Hi"), add_generation_prompt=True, enable_thinking=True, return_dict=False
    )
    assert list(on.ids) == expected
    assert on.notes == ()


def test_a_template_without_the_switch_says_so() -> None:
    assert chat_prompt(VOCAB, user("Hi"), thinking=True).notes == (
        "this template has no switch for thinking",
    )


@pytest.mark.parametrize("content", ["", "  "])
def test_going_on_with_nothing_opens_the_turn(content: str) -> None:
    vocab = chatting(families.LLAMA3)  # trims contents
    prompt = chat_prompt(vocab, user("Hi", content), continue_last=True)
    assert prompt.ids == chat_prompt(vocab, user("Hi")).ids
    assert parts(prompt)[-1][0] == "generation_prompt"


def test_going_on_keeps_blanks_that_the_template_keeps() -> None:
    assert chat_prompt(VOCAB, user("Hi", "A "), continue_last=True).text.endswith("assistant\nA ")
    assert chat_prompt(VOCAB, user("Hi", " "), continue_last=True).text.endswith("assistant\n ")


def test_a_template_that_changes_the_last_message_cannot_go_on() -> None:
    with pytest.raises(PromptError, match="cannot be continued"):
        chat_prompt(VOCAB, user("Hi", "abc"), template="{{ messages[-1].content[:2] }}", continue_last=True)


@pytest.mark.parametrize("name", sorted(templates.KNOWN))
def test_known_templates(name: str) -> None:
    messages = [{"role": "system", "content": "Be brief."}, *user("Hi", " Yes? ", "Go")]
    prompt = chat_prompt(VOCAB, messages, template=name)
    assert prompt.template == name
    assert [text.strip() for kind, text in parts(prompt) if kind in ("user", "assistant", "system")] == [
        "Be brief.", "Hi", "Yes?", "Go",
    ]  # fmt: skip
    assert [token_id for token_id in prompt.ids if VOCAB.is_special(token_id)] != []
    assert chat_prompt(VOCAB, messages, template=templates.KNOWN[name]).template == name


def test_known_templates_agree_with_the_families() -> None:
    for name in ("gemma", "llama3"):
        tokenizer = VOCAB.tokenizer
        expected = tokenizer.apply_chat_template(
            user("Hi", "Yes?", "Go"),
            chat_template=families.FAMILIES[name],
            add_generation_prompt=True,
            tokenize=False,
        )
        assert chat_prompt(VOCAB, user("Hi", "Yes?", "Go"), template=name).text == expected


def test_names_of_templates() -> None:
    assert chat_prompt(VOCAB, user("Hi"), template=families.CHATML).template == "model's own"
    assert chat_prompt(VOCAB, user("Hi"), template="x").template == "edited"
    several = chatting(None)
    several.tokenizer.chat_template = {"default": families.LLAMA3, "tool_use": families.CHATML}
    assert chat_prompt(several, user("Hi")).text.startswith("<s><|start_header_id|>")


def test_a_template_that_the_model_was_not_made_for() -> None:
    vocab = makers.vocabulary(makers.byte_level_of("<|>_\u010aHabcdefghijklmnopqrstuvwxyz"))
    assert chat_prompt(vocab, user("Hi"), template="chatml").notes == (
        "this model was not made for this template: <|im_start|>, <|im_end|> is just text to it",
    )
    assert chat_prompt(VOCAB, user("Hi"), template="chatml").notes == ()


def test_a_template_that_refuses_a_system_message_hides_none() -> None:
    prompt = chat_prompt(chatting(STRICT), user("Hi"))
    assert parts(prompt) == [("user", "Hi")]


def test_a_template_that_is_too_long() -> None:
    with pytest.raises(PromptError, match="200,001 characters"):
        chat_prompt(VOCAB, user("Hi"), template="a" * 200_001)


def test_half_characters_written_by_a_template() -> None:
    prompt = chat_prompt(VOCAB, user("Hi"), template=r"{{ '\ud83d' }}{{ '\ude00' }}{{ messages[0].content }}")
    assert parts(prompt) == [("template", "\ufffd\ufffd"), ("user", "Hi")]


def test_tokens_that_the_model_has_no_row_for() -> None:
    vocab = Vocabulary(VOCAB.tokenizer, VOCAB.backend.token_to_id("<|im_end|>"))
    with pytest.raises(PromptError, match=r"the model has no token \d+ \(<\|im_end\|>\)"):
        raw_prompt(vocab, "a<|im_end|>")
    assert raw_prompt(vocab, "a").ids
