"""Going on with a run from the board: a step, play, a fork, forced text, an edit, another prompt.

The board owns the tokens of its runs and sends their ids; ids are the truth, and only text that somebody
typed is encoded here.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from playground.trace import ModelInfo, Prompt, PromptToken, Segment, SegmentKind
from playground.ui.host import Engine
from playground.ui.records import SHORT_SHA

# `prompt`: its prompt was edited; `exchange`: one id of it. Both are new runs beside the one they came from.
KINDS = ("step", "play", "fork", "force", "edit", "prompt", "exchange")
ANEW = ("step", "play", "prompt")  # may begin a new run from the form
MOST_IDS = 1_000_000  # in one list from the board
MOST_CHARACTERS = 100_000  # typed into a run
MOST_PARTS = 10_000  # of a prompt


@dataclass(frozen=True)
class Part:
    """Who wrote the next so many ids of a prompt."""

    kind: SegmentKind
    added_by_template: bool
    length: int


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
    parts: tuple[Part, ...] = ()  # of `prompt_ids`; text that was typed belongs to the last
    wait: bool = False  # pause when what is forced is there

    @property
    def goes_on(self) -> bool:
        """Whether a run on the screen goes on; otherwise a new one takes its place."""
        return self.prompt_ids is not None and not self.beside

    @property
    def beside(self) -> bool:
        """Whether a new run stands beside the one whose prompt was changed."""
        return self.kind in ("prompt", "exchange")


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
        read_parts(said.get("parts") or [], len(prompt_ids or ())),
        wait=said.get("wait") is True,
    )
    if order.prompt_ids is None and (kind not in ANEW or forced):
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


def read_parts(parts: Any, length: int) -> tuple[Part, ...]:
    if not isinstance(parts, list) or len(parts) > MOST_PARTS:
        raise ValueError(f"parts must be a list of [kind, added by the template, length], got {parts!r:.40}")
    read: list[Part] = []
    for part in parts:
        match part:
            case [str(kind), (0 | 1) as added, int(own)] if kind in get_args(SegmentKind) and own >= 0:
                read.append(Part(kind, bool(added), own))  # type: ignore[arg-type]
            case _:
                raise ValueError(f"a part must be [kind, added by the template, length], got {part!r:.60}")
    if read and sum(part.length for part in read) != length:
        raise ValueError(f"the parts of a prompt must have its {length:,} tokens in all")
    return tuple(read)


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


def changed_prompt(engine: Engine, order: Order, typed: Sequence[int]) -> Prompt:
    """The prompt of an order that changed one by its ids; `typed` are those of text that follows them."""
    kept = order.prompt_ids or ()
    if order.kind == "exchange":
        others = len(kept) - 1
        note = f"One token exchanged; the {others:,} other{'' if others == 1 else 's'} kept as they were."
    else:
        note = f"{len(kept):,} tokens kept as they were, {len(typed):,} read anew"
    return prompt_of_ids(engine, (*kept, *typed), note, order.parts)


def prompt_of_ids(engine: Engine, ids: Sequence[int], note: str = "", parts: Sequence[Part] = ()) -> Prompt:
    """A prompt that is these very ids, whatever the tokenizer would make of their text.

    `parts` say who wrote it, the last one also what lies beyond them; without them it is raw text.
    """
    words, decoder = engine.vocabulary, codecs.getincrementaldecoder("utf-8")("replace")
    parts = parts or (Part("raw", False, len(ids)),)
    owners = [number for number, part in enumerate(parts) for _ in range(part.length)]
    owners += [len(parts) - 1] * (len(ids) - len(owners))
    tokens: list[PromptToken] = []
    text, length = [], 0
    for position, (token_id, owner) in enumerate(zip(ids, owners, strict=True)):
        data, start = words.bytes_of(token_id), length
        text.append(decoder.decode(data))
        length += len(text[-1])
        special = words.is_special(token_id)
        tokens.append(PromptToken(position, token_id, data, start, length, owner, special, None, None))
    text.append(decoder.decode(b"", final=True))  # half a character at the very end
    segments: list[Segment] = []
    end = length + len(text[-1])
    begins = {token.segment: token.start for token in reversed(tokens)}  # where each first stands
    for number in reversed(range(len(parts))):
        start = begins.get(number, end)
        segments.append(Segment(parts[number].kind, start, end, parts[number].added_by_template))
        end = start
    segments.reverse()
    return Prompt("".join(text), tuple(segments), tuple(tokens), tuple(ids), None, (note,) if note else ())


def room(max_tokens: int, given: int, most: int) -> int:
    """How many tokens the answer may have in all: the setting; where it is used up, as many again.

    `most` is the server's own limit. Raises ValueError, in a sentence, where nothing can be added.
    """
    if given >= most:
        raise ValueError(f"This answer has {given:,} tokens and this server writes at most {most:,}.")
    return max_tokens if given < max_tokens else min(given + max_tokens, most)
