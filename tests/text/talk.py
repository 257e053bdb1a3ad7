"""What tests of prompts share: vocabularies with a template, messages, and a prompt's parts to look at."""

from __future__ import annotations

from typing import Any

from playground.text.tokens import Vocabulary
from playground.trace import Prompt, PromptToken
from tests.text import families, makers

Messages = list[dict[str, Any]]


def chatting(template: str | None, kind: Any = makers.byte_level) -> Vocabulary:
    tokenizer = kind()
    tokenizer.chat_template = template
    return makers.vocabulary(tokenizer)


def user(*contents: str) -> Messages:
    return [
        {"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(contents)
    ]


def parts(prompt: Prompt) -> list[tuple[str, str]]:
    return [(segment.kind, prompt.text[segment.start : segment.end]) for segment in prompt.segments]


def over_borders(prompt: Prompt) -> list[PromptToken]:
    """The tokens that have characters of more than one segment."""
    return [
        token
        for token in prompt.tokens
        if token.start < prompt.segments[token.segment].start
        or token.end > prompt.segments[token.segment].end
    ]


def count(vocab: Vocabulary, prompt: Prompt, content: str) -> int:
    return prompt.ids.count(vocab.backend.token_to_id(content))


VOCAB = chatting(families.CHATML)
GEMMA = chatting(families.GEMMA, makers.byte_fallback)

# Roles in turns, no system message: anything else is refused.
STRICT = (
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}{{ m.content }}{% endfor %}"
)
