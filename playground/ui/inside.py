"""What the Inside tab asks: looks inside the model at the ids of a run, each with its figure.

The board sends ids and numbers, which are checked as any stranger's; the engine says in a sentence what
cannot be shown. Nothing is run on and no run is changed.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from playground.codec import to_plain
from playground.figures import attention, cache, embedding, influence, lens, position
from playground.text.short import short
from playground.trace import ModelInfo
from playground.ui.answers import answerer
from playground.ui.asked import (
    check_same_model,
    read_choice,
    read_ids,
    read_list,
    read_object,
    read_text,
    read_whole,
)
from playground.ui.compared import both_themes
from playground.ui.host import Engine
from playground.ui.records import Op
from playground.ui.run import Server

MOST_WAITING = 16  # questions of all visitors together
THREADS = 2  # the looks themselves are worked out on the engine's one worker
MOST_CHARACTERS = 500  # of a text whose words are shuffled
LONGEST_WORD = 60
MOST_WORDS = 60
MOST_PARTS = 400  # messages that the cache is told by
MOST_HEADS = 4096  # no model has so many layers, or heads
METHODS = {"gradient": "input x gradient", "integrated": "integrated gradients", "rollout": "rollout"}
_DIGITS = 5  # of numbers on the page


@dataclass(frozen=True)
class Question:
    """A look to be taken: what works it out, and what draws it."""

    see: Callable[[Any], Any]  # the engine's Inside to findings
    draw: Callable[..., Any] | None = None  # findings, and `dark`, to a figure
    drawn: tuple[str, ...] = ()  # fields that the figure alone tells: too large to be sent twice


def insider(server: Server) -> Callable[[Any], Awaitable[str]]:
    """The server function `inside` of the board: {"look", "figure", "bound"}, or {"error": one sentence}."""
    answer = answerer(server, read_question, see, threads=THREADS, most=MOST_WAITING)

    async def inside(asked: Any) -> str:
        return await answer(asked)

    return inside


def see(engine: Engine, question: Question) -> Op:
    """The look as plain data, with its figure in both themes and the most positions that a look reads."""
    inside = engine.inside
    assert inside is not None  # read_question refused it
    found = question.see(inside)
    rest = replace(found, **dict.fromkeys(question.drawn, ()))
    told: Op = {"look": rounded(to_plain(rest)), "bound": inside.most}
    if question.draw is not None:
        told["figure"] = both_themes(question.draw, found)
    return told


def rounded(value: Any) -> Any:
    """Plain data with its numbers as short as the page needs them."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return value


# -- what was asked -----------------------------------------------------------------------------------


def read_question(asked: Any, engine: Engine, server: Server) -> Question:
    """Checks what came from the page. Raises ValueError in a sentence."""
    asked = read_object(asked, "a look")
    check_same_model(asked.get("model"), engine.info)
    if engine.inside is None:
        raise ValueError("Not available here: this server's engine cannot look inside its model.")
    what = read_choice(asked.get("what"), "what", tuple(_READERS))
    return _READERS[what](_Asked(asked, engine, server))


class _Asked:
    """A request's fields, checked as they are read."""

    def __init__(self, fields: dict[str, Any], engine: Engine, server: Server) -> None:
        self._fields, self._server = fields, server
        self._info: ModelInfo = engine.info
        self._size = engine.vocabulary.size
        self.visible = engine.vocabulary.visible
        self.owner = server.owner(fields)

    def __getitem__(self, name: str) -> Any:
        return self._fields.get(name)

    def ids(self, least: int = 1) -> list[int]:
        limits = self._server.settings
        most = limits.max_prompt_tokens + limits.max_new_tokens
        return read_ids(self["ids"], "ids", least, most, self._size)

    def token(self, name: str) -> int:
        return read_ids([self[name]], name, 1, 1, self._size)[0]

    def whole(self, name: str, most: int, least: int = 0) -> int:
        return read_whole(self[name], name, least, most)

    def head(self, name: str) -> int | None:
        return None if self[name] is None else self.whole(name, MOST_HEADS)

    def side(self) -> str:
        return read_choice(self["side"], "side", ("input", "output"))

    def place(self) -> int:
        """A position that may lie past any run: what it is put at, not what is read there."""
        return self._info.context or 10**6

    def text(self, name: str) -> str:
        text = read_text(self[name], name, MOST_CHARACTERS)
        if not text.strip():
            raise ValueError("Please type a text first.")
        return _whole_text(text, "a text")

    def words(self) -> list[str]:
        words = read_list(self["words"], "words", 2, MOST_WORDS)
        for word in words:
            if not isinstance(word, str) or not word.strip() or len(word) > LONGEST_WORD:
                raise ValueError(
                    f"a word must be a text of 1 to {LONGEST_WORD} characters, got {short(word)}"
                )
            _whole_text(word, "a word")
        return list(dict.fromkeys(word.strip() for word in words))

    def parts(self) -> list[tuple[str, int]]:
        """(name, tokens) of the messages, in order."""
        parts = []
        for part in read_list(self["parts"], "parts", 1, MOST_PARTS):
            name, tokens = read_list(part, "a part", 2, 2)
            parts.append((read_text(name, "a part's name", 100), read_whole(tokens, "tokens", 0, 10**7)))
        return parts


def _whole_text(text: str, what: str) -> str:
    if re.search("[\ud800-\udfff]", text):  # JavaScript may cut a character in two
        raise ValueError(f"{what} must be made of whole characters")
    return text


def _shape(asked: _Asked) -> Question:
    return Question(lambda inside: inside.shape())


def _embedding(asked: _Asked) -> Question:
    token_id, side = asked.token("id"), asked.side()
    return Question(lambda inside: inside.embedding(token_id, side=side))


def _map(asked: _Asked) -> Question:
    words, side = asked.words(), asked.side()
    return Question(
        lambda inside: inside.embedding_map(words, side=side),
        lambda found, dark: embedding.word_map(found, dark=dark),
    )


def _positions(asked: _Asked) -> Question:
    ids, owner = asked.ids(), asked.owner
    first, second = asked.whole("first", len(ids) - 1), asked.whole("second", asked.place() - 1)
    layer, head = asked.whole("layer", MOST_HEADS), asked.whole("head", MOST_HEADS)
    return Question(
        lambda inside: inside.positions(ids, first, second, layer=layer, head=head, owner=owner),
        lambda found, dark: position.positions(found, dark=dark),
    )


def _order(asked: _Asked) -> Question:
    texts, owner = (asked.text("before"), asked.text("after")), asked.owner
    return Question(lambda inside: inside.order(texts, owner=owner))


def _grid(asked: _Asked) -> Question:
    ids, owner = asked.ids(), asked.owner
    return Question(lambda inside: inside.attention_grid(ids, owner=owner))


def _map_of(asked: _Asked) -> Question:
    ids, layer, head, owner = asked.ids(), asked.head("layer"), asked.head("head"), asked.owner
    names = _names(ids, asked.visible)
    return Question(
        lambda inside: inside.attention_map(ids, layer=layer, head=head, owner=owner),
        lambda found, dark: attention.head_map(found, names, dark=dark),
        drawn=("weights",),
    )


def _row(asked: _Asked) -> Question:
    ids, owner = asked.ids(), asked.owner
    at = asked.whole("position", len(ids) - 1)
    layer, head = asked.whole("layer", MOST_HEADS), asked.whole("head", MOST_HEADS)
    return Question(lambda inside: inside.attention_row(ids, at, layer=layer, head=head, owner=owner))


def _lens(asked: _Asked) -> Question:
    ids, owner = asked.ids(), asked.owner
    at = asked.whole("position", len(ids) - 1)
    return Question(
        lambda inside: inside.lens(ids, at, owner=owner),
        lambda found, dark: lens.lens(found, dark=dark),
    )


def _influence(asked: _Asked) -> Question:
    ids, owner = asked.ids(2), asked.owner
    at = asked.whole("position", len(ids) - 1, 1)
    method = METHODS[read_choice(asked["method"], "method", tuple(METHODS))]
    names = _names(ids, asked.visible)

    def look(inside: Any) -> Any:
        if method == "rollout":
            return inside.rollout(ids, at, owner=owner)
        return inside.influence(ids, at, method=method, owner=owner)

    return Question(look, lambda found, dark: influence.influence(found, names, dark=dark))


def _cache(asked: _Asked) -> Question:
    ids, parts, owner = asked.ids(), asked.parts(), asked.owner
    if sum(tokens for _, tokens in parts) != len(ids):
        raise ValueError("the parts must have as many tokens as there are ids")
    return Question(
        lambda inside: inside.cache(len(ids), ids=ids, owner=owner),
        lambda found, dark: cache.growth(found, parts, dark=dark),
    )


def _names(ids: Sequence[int], visible: Callable[[int], str]) -> list[str]:
    return [visible(token_id) for token_id in ids]


_READERS: dict[str, Callable[[_Asked], Question]] = {
    "shape": _shape, "embedding": _embedding, "map": _map, "positions": _positions, "order": _order,
    "grid": _grid, "map_of": _map_of, "row": _row, "lens": _lens, "influence": _influence, "cache": _cache,
}  # fmt: skip
