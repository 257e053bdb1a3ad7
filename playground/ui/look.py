"""Looks at one step of a run on the board: other settings, another roll, any token of the vocabulary.

A token of the prompt is looked at as the first of an answer to the ids before it. Everything is computed from
the step's logits by the engine; the run itself stays as it is. The board sends ids and settings, which are
checked as any stranger's.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from playground.trace import SamplingParams
from playground.ui.host import Engine, Words
from playground.ui.records import SHORT_SHA, Op, Recorder, compact
from playground.ui.run import Server, sentence

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


def looker(server: Server) -> Callable[[Any], Awaitable[str]]:
    """The server function `look` of the board: a request as JavaScript sends it, JSON as the board reads it.

    Never raises for what a visitor sent: the answer is then {"error": one sentence}.
    """
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="look")
    waiting = 0

    async def look(asked: Any) -> str:
        nonlocal waiting
        if waiting >= MOST_WAITING:
            return compact({"error": "Too many people look at once: please try again in a second."})
        waiting += 1
        try:
            engine = server.host.ready
            if engine is None:
                raise ValueError(server.host.failure or "Not available yet: the model is still loading.")
            made = read_look(asked, engine, server)
            answer = await asyncio.get_running_loop().run_in_executor(threads, see, engine, made)
        except ValueError as error:
            answer = {"error": sentence(error)}
        finally:
            waiting -= 1
        return compact(answer)

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
    if not isinstance(asked, dict):
        raise ValueError("a look must be an object of names and values")
    if asked.get("model") not in (None, engine.info.sha256[:SHORT_SHA]):
        raise ValueError(
            "Not available here: this run was made by another model than the one that runs now, "
            f"{engine.info.name}."
        )
    most, size = server.settings.max_prompt_tokens, engine.vocabulary.size
    prompt_ids = _ids(asked, "prompt_ids", 1, most, size)
    answer_ids = _ids(asked, "answer_ids", 0, server.settings.max_new_tokens, size)
    given, u, text = asked.get("given"), asked.get("u"), asked.get("find") or ""
    if given is not None:
        _check_id("given", given, size)
    if u is not None and (type(u) not in (int, float) or not 0 <= u < 1):
        raise ValueError(f"u must be a number in [0, 1), got {u!r:.80}")
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise ValueError(f"a text to find must have at most {MOST_CHARACTERS} characters")
    if any("\ud800" <= character <= "\udfff" for character in text):  # JavaScript may cut one in two
        raise ValueError("a text to find must be made of whole characters")
    return Look(prompt_ids, answer_ids, server.check(_params(asked.get("params"))), given, u, text)


def _params(values: Any) -> SamplingParams:
    seed = values.get("seed") if isinstance(values, dict) else None
    if isinstance(seed, str):  # the numbers of JavaScript end at 2^53
        if not re.fullmatch(r"\d{1,20}", seed, re.ASCII):
            raise ValueError(f"seed must be a whole number, got {seed!r:.80}")
        values = {**values, "seed": int(seed)}
    return SamplingParams.from_dict(values)


def _ids(asked: Any, name: str, least: int, most: int, size: int) -> list[int]:
    ids = asked.get(name)
    if not isinstance(ids, list) or not least <= len(ids) <= most:
        raise ValueError(f"{name} must be a list of {least} to {most} token ids, got {_short(ids)}")
    for token_id in ids:
        _check_id(name, token_id, size)
    return ids


def _check_id(name: str, token_id: Any, size: int) -> None:
    if type(token_id) is not int or not 0 <= token_id < size:
        raise ValueError(f"{name} must hold ids from 0 to {size - 1}, got {_short(token_id)}")


def _short(value: Any) -> str:
    return (
        f"{len(value)} of them"
        if isinstance(value, Sequence) and not isinstance(value, str)
        else repr(value)[:80]
    )
