"""The form behind a stored run: what a person typed and set to get it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from playground.links import Lane, Message, Setup
from playground.trace import Prompt, Trace
from playground.ui.conversation import LARGEST_BIAS
from playground.ui.host import Words

_ROLES = ("system", "user", "assistant")


def setup_of(trace: Trace, words: Words | None) -> Setup | None:
    """What makes this run when it is typed and set; None where a form cannot say it.

    `words`: the vocabulary of the model at work, if it is the trace's. Without it nobody can tell how banned
    tokens are typed.
    """
    params = trace.params
    said, banned, biases = _said(trace.prompt), _typed(params.banned, words), _lines(params.logit_bias)
    if said is None or banned is None or biases is None:
        return None
    lane = Lane(params=replace(params, banned=(), logit_bias={}, seed=None))
    try:
        return replace(said, seed=params.seed, banned=banned, biases=biases, lanes=(lane,))
    except ValueError:  # more than a form may hold
        return None


def _said(prompt: Prompt) -> Setup | None:
    """The messages of a prompt, or its text, by who wrote which part."""
    typed = [part for part in prompt.segments if not part.added_by_template]
    texts: list[tuple[Any, str]] = [(part.kind, prompt.text[part.start : part.end]) for part in typed]
    try:
        if [kind for kind, _ in texts] == ["raw"]:
            return Setup(mode="raw", prompt=texts[0][1])
        if not texts or texts[-1][0] != "user" or not all(kind in _ROLES for kind, _ in texts):
            return None
        before = tuple(Message(kind, text) for kind, text in texts[:-1])
        system = before[0].content if before and before[0].role == "system" else ""
        turns = before if any(message.role != "system" for message in before) else ()
        return Setup(system=system, messages=turns, prompt=texts[-1][1])
    except ValueError:
        return None


def _typed(banned: Sequence[int], words: Words | None) -> tuple[str, ...] | None:
    """Banned tokens as texts that are these single tokens again."""
    texts = []
    for token_id in banned:
        text = words.bytes_of(token_id).decode("utf-8", "replace") if words else ""
        if words is None or "\n" in text or words.encode(text) != [token_id]:
            return None
        texts.append(text)
    return tuple(texts)


def _lines(biases: Any) -> tuple[str, ...] | None:
    """Biases as the lines of their box."""
    if not all(math.isfinite(value) and abs(value) <= LARGEST_BIAS for value in biases.values()):
        return None
    numbers = {token_id: f"{value:.17f}".rstrip("0").rstrip(".") for token_id, value in biases.items()}
    return tuple(f"#{token_id} = {number}" for token_id, number in numbers.items())
