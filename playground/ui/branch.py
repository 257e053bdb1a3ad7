"""Going on with a run from the board: a step, play, a fork, forced text, an edit.

The board owns the tokens of its runs and sends their ids; ids are the truth, and only text that somebody
typed is encoded here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playground.trace import ModelInfo, Prompt, PromptToken, Segment
from playground.ui.host import Engine
from playground.ui.records import SHORT_SHA

KINDS = ("step", "play", "fork", "force", "edit", "prompt")
MOST_IDS = 1_000_000  # in one list from the board
MOST_CHARACTERS = 100_000  # typed into a run


@dataclass(frozen=True)
class Order:
    """What the board asks for. Without `prompt_ids` it begins a new run from the form."""

    kind: str = "play"
    prompt_ids: tuple[int, ...] | None = None
    forced: tuple[int, ...] = ()  # the first ids of the answer
    known: int = 0  # of which the board has so many steps
    text: str = ""  # typed after them: forced, too
    seed: int | None = None  # of the run that goes on
    node: int = 0  # which of its branches that is
    model: Any = None  # of the run, as the board was told
    wait: bool = False  # pause when what is forced is there

    @property
    def goes_on(self) -> bool:
        """Whether a run on the screen goes on; otherwise a new one takes its place."""
        return self.prompt_ids is not None and self.kind != "prompt"


NEW_RUN = Order()


def read_order(said: Any) -> Order:
    """Checks what came from the page, as any stranger's. Raises ValueError in a sentence."""
    if not isinstance(said, dict):
        raise ValueError("The page sent something that is no order: please load it anew.")
    kind, seed, text = said.get("kind"), said.get("seed"), said.get("text") or ""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r:.40}")
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise ValueError(f"text must be a text of at most {MOST_CHARACTERS:,} characters")
    if seed is not None and not (
        isinstance(seed, str) and seed.isascii() and seed.isdecimal() and len(seed) <= 20
    ):
        raise ValueError(f"seed must be the digits of a whole number, got {seed!r:.40}")
    prompt_ids = said.get("prompt_ids")
    forced = _ids("forced", said.get("forced") or [])
    order = Order(
        kind,
        None if prompt_ids is None else _ids("prompt_ids", prompt_ids),
        forced,
        _whole("known", said.get("known") or 0, len(forced)),
        text,
        None if seed is None else int(seed),
        _whole("node", said.get("node") or 0, MOST_IDS),
        said.get("model"),
        wait=said.get("wait") is True,
    )
    if order.prompt_ids is None and (kind not in ("step", "play") or forced):
        raise ValueError("There is no run to go on with: press Generate first.")
    return order


def _ids(name: str, ids: Any) -> tuple[int, ...]:
    if not isinstance(ids, list) or len(ids) > MOST_IDS or not all(type(each) is int for each in ids):
        raise ValueError(f"{name} must be a list of token ids, got {ids!r:.40}")
    return tuple(ids)


def _whole(name: str, number: Any, most: int) -> int:
    if type(number) is not int or not 0 <= number <= most:
        raise ValueError(f"{name} must be a whole number from 0 to {most}, got {number!r:.40}")
    return number


def typed_ids(engine: Engine, order: Order) -> list[int]:
    """The ids of the text that was typed, by the model's own tokenizer."""
    return list(engine.vocabulary.encode(order.text)) if order.text else []


def check_model(info: ModelInfo, model: Any) -> None:
    """Raises ValueError, in a sentence, for a run of another model: to this one its ids mean other tokens."""
    if model != info.sha256[:SHORT_SHA]:
        raise ValueError(
            f"This run was made by another model than the one that runs now, {info.name}: "
            "press Generate to begin anew."
        )


def check_ids(info: ModelInfo, *lists: Sequence[int]) -> None:
    """Raises ValueError, in a sentence, for an id that the model does not have."""
    for ids in lists:
        for token_id in ids:
            if not 0 <= token_id < info.vocabulary:
                raise ValueError(
                    f"This run has token {token_id}, which {info.name} does not know: its ids are 0 to "
                    f"{info.vocabulary - 1:,}. Press Generate to begin anew."
                )


def prompt_of_ids(engine: Engine, ids: Sequence[int], note: str = "") -> Prompt:
    """A raw prompt that is these very ids, whatever the tokenizer would make of their text."""
    words = engine.vocabulary
    tokens: list[PromptToken] = []
    data = b""
    for position, token_id in enumerate(ids):
        start = len(data.decode("utf-8", "ignore"))
        data += words.bytes_of(token_id)
        end = len(data.decode("utf-8", "ignore"))
        special = words.is_special(token_id)
        tokens.append(
            PromptToken(position, token_id, words.bytes_of(token_id), start, end, 0, special, None, None)
        )
    text = data.decode("utf-8", "replace")
    segment = Segment("raw", 0, len(text), False)
    return Prompt(text, (segment,), tuple(tokens), tuple(ids), None, (note,) if note else ())


def room(max_tokens: int, given: int, most: int) -> int:
    """How many tokens the answer may have in all: the setting; where it is used up, as many again.

    `most` is the server's own limit. Raises ValueError, in a sentence, where nothing can be added.
    """
    if given >= most:
        raise ValueError(f"This answer has {given:,} tokens and this server writes at most {most:,}.")
    return max_tokens if given < max_tokens else min(given + max_tokens, most)
