"""A conversation as the page sends it back, thinking, and texts to be watched, banned or biased."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playground.text.templates import own_template
from playground.ui.host import Engine

MOST_TURNS = 500
MOST_WATCHED = 8
MOST_BIASED = 300
LARGEST_BIAS = 100.0  # on the page: odds change by e^100, which is as good as certain or impossible
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
    return tuple(dict.fromkeys(_single_token(engine, text, "banned") for text in texts))


@dataclass(frozen=True)
class Bias:
    """One line of the bias box: what is added to the logit of the token it names."""

    line: str
    token: str  # a text that is a single token, or an id as #123
    value: float


def read_biases(lines: Sequence[str]) -> tuple[Bias, ...]:
    """Lines such as " Paris = -5": the spaces before the equals sign but one belong to the token.

    The last equals sign counts, so that one can be biased too. Raises ValueError, naming the line.
    """
    if len(lines) > MOST_BIASED:
        raise ValueError(f"At most {MOST_BIASED} tokens can be biased at once, got {len(lines)}.")
    return tuple(_read_bias(line) for line in lines)


def _read_bias(line: str) -> Bias:
    token, sign, number = line.rpartition("=")
    token, number = token.removesuffix(" "), number.strip()
    if not sign or not token or not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", number):
        raise ValueError(f"A bias is a token, = and a number, such as “ Paris = -5”, got {line!r:.80}.")
    value = float(number)
    if abs(value) > LARGEST_BIAS:
        raise ValueError(f"A bias must be in [-{LARGEST_BIAS:g}, {LARGEST_BIAS:g}], got {line!r:.80}.")
    return Bias(line, token, value)


def bias_by_id(engine: Engine, biases: Sequence[Bias]) -> dict[int, float]:
    """The bias of each token. Raises ValueError, naming the line, for what is no token or comes twice."""
    made: dict[int, float] = {}
    for bias in biases:
        typed = re.fullmatch("#([0-9]{1,9})", bias.token)
        token_id = int(typed[1]) if typed else _single_token(engine, bias.token, "biased")
        if token_id >= engine.vocabulary.size:
            last = engine.vocabulary.size - 1
            raise ValueError(f"The ids of this model are 0 to {last}, so {bias.line!r:.80} names no token.")
        if token_id in made:
            raise ValueError(f"Token {token_id} has a bias already: {bias.line!r:.80} is one too many.")
        made[token_id] = bias.value
    return made


def _single_token(engine: Engine, text: str, what: str) -> int:
    made = engine.vocabulary.encode(text)
    if len(made) != 1:
        raise ValueError(
            f"Only single tokens can be {what}, and {text!r:.80} is {len(made)}: "
            "mind the space before a word."
        )
    return made[0]
