"""A conversation as the page sends it back, thinking, and texts to be watched or banned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from playground.text.templates import own_template
from playground.ui.host import Engine

MOST_TURNS = 500
MOST_WATCHED = 8
_ROLES = ("system", "user", "assistant")


def read_history(text: str | None) -> list[dict[str, str]]:
    """The messages before the next one, as the page keeps them. Raises ValueError in a sentence.

    They come from a stranger's browser, so nothing about them is believed.
    """
    if not text:
        return []
    try:
        said = json.loads(text)
    except (RecursionError, json.JSONDecodeError):
        raise ValueError("The earlier turns of this chat cannot be read: start a new chat.") from None
    if not isinstance(said, list) or len(said) > 2 * MOST_TURNS:
        raise ValueError(f"A chat has at most {MOST_TURNS} turns here: start a new chat.")
    for message in said:
        fits = isinstance(message, dict) and message.keys() == {"role", "content"}
        if not fits or message["role"] not in _ROLES or not isinstance(message["content"], str):
            raise ValueError("The earlier turns of this chat cannot be read: start a new chat.")
    return said


def messages_of(history: list[dict[str, str]], system: str, prompt: str) -> list[dict[str, str]]:
    """What the model is told: the system message counts at the start of a conversation only."""
    first = [{"role": "system", "content": system}] if system and not history else []
    return [*first, *history, {"role": "user", "content": prompt}]


def has_thinking_switch(engine: Engine) -> bool:
    """Whether the model's own chat template reads the switch."""
    return "enable_thinking" in (own_template(getattr(engine, "tokenizer", None)) or "")


def watched_tokens(engine: Engine, texts: Sequence[str]) -> list[dict[str, Any]]:
    """The first token of each text: {"id", "text" (visible form), "typed", "more" (tokens after it)}."""
    if len(texts) > MOST_WATCHED:
        raise ValueError(f"At most {MOST_WATCHED} texts can be watched at once, got {len(texts)}.")
    found: dict[int, dict[str, Any]] = {}
    for text in texts:
        ids = engine.vocabulary.encode(text)
        if not ids:
            raise ValueError(f"The vocabulary has no token for the watched text {text!r:.80}.")
        shown = {"id": ids[0], "text": engine.vocabulary.visible(ids[0]), "typed": text, "more": len(ids) - 1}
        found.setdefault(ids[0], shown)
    return list(found.values())


def banned_ids(engine: Engine, texts: Sequence[str]) -> tuple[int, ...]:
    """The token of each text. Raises ValueError for a text of several: to ban its first would be too much."""
    ids = []
    for text in texts:
        made = engine.vocabulary.encode(text)
        if len(made) != 1:
            raise ValueError(
                f"Only single tokens can be banned, and {text!r:.80} is {len(made)}: "
                "mind the space before a word."
            )
        ids += made
    return tuple(dict.fromkeys(ids))
