"""Looks at one step of a run on the board: other settings, another roll, any token of the vocabulary.

A token of the prompt is looked at as the first of an answer to the ids before it. Everything is computed from
the step's logits by the engine; the run itself stays as it is. The board sends ids and settings, which are
checked as any stranger's.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from playground.trace import SamplingParams
from playground.ui.answers import answerer
from playground.ui.asked import check_same_model, read_ids, read_object, read_params
from playground.ui.host import Engine, Words
from playground.ui.records import Op, Recorder
from playground.ui.run import Server

MOST_CHARACTERS = 200  # of a text to find
MOST_WAITING = 64  # looks of all visitors together
THREADS = 2  # a look takes some 10 ms, and runs should not feel it


@dataclass(frozen=True)
class Look:
    """What the board asks about a step."""

    prompt_ids: list[int]
    answer_ids: list[int]  # the tokens of the answer before the step
    params: SamplingParams
    given: int | None  # the token, where it was forced
    u: float | None  # rolled instead of the step's own dice
    text: str  # a token to find; empty for none
    owner: str = ""


def looker(server: Server) -> Callable[[Any], Awaitable[str]]:
    """The server function `look` of the boards: a request as JavaScript sends it, JSON as they read it.

    Never raises for what a visitor sent: the answer is then {"error": one sentence}.
    """
    answer = answerer(server, read_look, see, threads=THREADS, most=MOST_WAITING)

    async def look(asked: Any) -> str:
        return await answer(asked)

    return look


def see(engine: Engine, look: Look) -> Op:
    """The step under the look's settings, in the columns that the board reads, with texts of its own."""
    found = find(engine.vocabulary, look.text) if look.text else []
    step = engine.redistribute_ids(
        look.prompt_ids,
        look.answer_ids,
        len(look.answer_ids),
        look.params,
        token_id=look.given,
        u=look.u,
        watched=[each["id"] for each in found],
        owner=look.owner,
    )
    recorder = Recorder(visible=engine.vocabulary.visible, is_special=engine.vocabulary.is_special)
    return {**recorder.tokens(0, [step]), "op": "look", "found": found}


def find(words: Words, text: str) -> list[Op]:
    """The tokens that `text` may mean: {"id", "how", "more"}.

    `how` is `id`, `text`, or `space` for the text with a space before it, as a word has it inside a sentence.
    `more` counts the tokens that come after the first of a text. Raises ValueError where there is none.
    """
    found: dict[int, Op] = {}
    if named := re.fullmatch(r"\s*#?(\d{1,9})\s*", text, re.ASCII):
        found[int(named[1])] = {"id": int(named[1]), "how": "id", "more": 0}
    spellings = {"text": text} if text[0].isspace() else {"text": text, "space": " " + text}
    for how, spelling in spellings.items():
        ids = words.encode(spelling)
        if how == "space" and ids and words.bytes_of(ids[0]).isspace():
            continue  # the space is a token of its own
        if ids and ids[0] not in found:
            found[ids[0]] = {"id": ids[0], "how": how, "more": len(ids) - 1}
    known = [each for each in found.values() if 0 <= each["id"] < words.size]
    if not known:
        raise ValueError("The model has no token that begins this text.")
    return known


def read_look(asked: Any, engine: Engine, server: Server) -> Look:
    """Checks what came from the page. Raises ValueError in a sentence."""
    asked = read_object(asked, "a look")
    if asked.get("model") is not None:
        check_same_model(asked["model"], engine.info)
    most, size = server.settings.max_prompt_tokens, engine.vocabulary.size
    prompt_ids = read_ids(asked.get("prompt_ids"), "prompt_ids", 1, most, size)
    answer_ids = read_ids(asked.get("answer_ids"), "answer_ids", 0, server.settings.max_new_tokens, size)
    given, u, text = asked.get("given"), asked.get("u"), asked.get("find") or ""
    if given is not None:
        read_ids([given], "given", 1, 1, size)
    if u is not None and (type(u) not in (int, float) or not 0 <= u < 1):
        raise ValueError(f"u must be a number in [0, 1), got {u!r:.80}")
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise ValueError(f"a text to find must have at most {MOST_CHARACTERS} characters")
    if any("\ud800" <= character <= "\udfff" for character in text):  # JavaScript may cut one in two
        raise ValueError("a text to find must be made of whole characters")
    params = server.check(read_params(asked.get("params")))
    return Look(prompt_ids, answer_ids, params, given, u, text, server.owner(asked))
