"""The form behind a stored run: what a person typed and set to get it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from playground.links import Lane, Message, Setup
from playground.trace import Prompt, Trace
from playground.ui.host import Words

_ROLES = ("system", "user", "assistant")


def setup_of(trace: Trace, words: Words | None) -> Setup | None:
    """What makes this run when it is typed and set; None where nobody could type its prompt.

    `words`: the vocabulary of the model at work, if it is the trace's. Without it banned tokens stay ids.
    """
    said, params = _said(trace.prompt), replace(trace.params, seed=None)
    if said is None:
        return None
    banned = _typed(params.banned, words)
    lane = Lane(params=params if banned is None else replace(params, banned=()))
    try:
        return replace(said, seed=trace.params.seed, banned=banned or (), lanes=(lane,))
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
