"""What the Prompt tab asks about a prompt: the text that a template makes of messages, and its tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from playground.comparing.prompts import text_changes
from playground.text import templates
from playground.text.special import MEANINGS, Control, markers_in, meaning
from playground.text.visible import visible_text
from playground.trace import Prompt
from playground.ui.answers import answerer
from playground.ui.asked import read_choice, read_list, read_object, read_switch, read_text
from playground.ui.host import Engine
from playground.ui.records import Op
from playground.ui.run import Server

MOST_MESSAGES = 200
MOST_CHARACTERS = 100_000  # of all messages together, and of a template
MOST_EXPLAINED = 48  # control tokens that the prompt does not have
MOST_WAITING = 16  # questions of one kind by all visitors together
THREADS = 2
ROLES = ("system", "user", "assistant")
TEMPLATES = ("own", *templates.KNOWN, "none", "edited")
BETWEEN = "\n\n"  # the contents of messages, where there is no template


@dataclass(frozen=True)
class Choice:
    """Which template is to make the prompt."""

    name: str  # one of TEMPLATES
    jinja: str = ""  # of an edited one

    def source(self, engine: Engine) -> str | None:
        """The template's Jinja text; None where there is none."""
        if self.name == "own":
            return templates.own_template(getattr(engine, "tokenizer", None))
        return self.jinja if self.name == "edited" else templates.KNOWN.get(self.name)


@dataclass(frozen=True)
class Rendering:
    """Messages to be rendered by a template."""

    messages: list[dict[str, str]]
    choice: Choice
    thinking: bool | None


def renderer(server: Server) -> Callable[[Any], Awaitable[str]]:
    """The server function `render` of the Prompt board.

    Templates that somebody edited have threads of their own, as they have a process of their own: one that
    uses up its time keeps nobody waiting but those who edit too.
    """

    def see(engine: Engine, asked: Rendering) -> Op:
        return shown(engine, asked, server)

    vetted, edited = (answerer(server, read_rendering, see, threads=THREADS, most=MOST_WAITING) for _ in "12")

    async def render(asked: Any) -> str:
        strange = isinstance(asked, dict) and asked.get("template") == "edited"
        return await (edited if strange else vetted)(asked)

    return render


# -- what was asked ---------------------------------------------------------------------------------


def read_rendering(asked: Any, engine: Engine, server: Server) -> Rendering:
    """Checks what came from the page. Raises ValueError in a sentence."""
    asked = read_object(asked, "a prompt")
    return Rendering(read_messages(asked.get("messages")), read_template(asked), read_thinking(asked))


def read_messages(asked: Any) -> list[dict[str, str]]:
    left, messages = MOST_CHARACTERS, []
    for message in read_list(asked, "messages", 1, MOST_MESSAGES):
        message = read_object(message, "a message")
        role = read_choice(message.get("role"), "a role", ROLES)
        content = read_text(message.get("content"), "a message", MOST_CHARACTERS)
        left -= len(content)
        if left < 0:
            raise ValueError(
                f"the messages have more than {MOST_CHARACTERS:,} characters: please shorten them"
            )
        messages.append({"role": role, "content": content})
    return messages


def read_template(asked: Any) -> Choice:
    asked = read_object(asked, "a template")
    name = read_choice(asked.get("template"), "template", TEMPLATES)
    if name != "edited":
        return Choice(name)
    jinja = read_text(asked.get("jinja"), "the template", MOST_CHARACTERS)
    if not jinja:
        raise ValueError("The edited template is empty: write one, or choose another.")
    return Choice(name, jinja)


def read_thinking(asked: dict[str, Any]) -> bool | None:
    thinking = asked.get("thinking")
    return None if thinking is None else read_switch(thinking, "thinking")


# -- the prompt -------------------------------------------------------------------------------------


def prompt_by(
    engine: Engine, choice: Choice, messages: list[dict[str, str]], thinking: bool | None
) -> Prompt:
    """The prompt that the chosen template makes of `messages`; without one, the contents as raw text.

    Blocks: templates run in another process. Raises ValueError in a sentence.
    """
    if choice.name == "none":
        return engine.raw(BETWEEN.join(message["content"] for message in messages))
    source = choice.source(engine)
    name = None if choice.name == "own" else choice.name
    switch = thinking if source is not None and "thinking" in source else None
    return engine.chat(messages, template=source if name == "edited" else name, thinking=switch)


def shown(engine: Engine, asked: Rendering, server: Server) -> Op:
    """The prompt as the board shows it, and how it differs from the model's own. See `renderer`."""
    prompt = server.check_prompt(prompt_by(engine, asked.choice, asked.messages, asked.thinking))
    source = asked.choice.source(engine)
    hidden = [s for s in prompt.segments if s.kind == "system" and s.added_by_template]
    return {
        "prompt": plain(engine, prompt),
        "source": source,
        **explained(engine, prompt),
        "pieces": broken_markers(engine, prompt, source or ""),
        **_differences(engine, asked, prompt),
        "hidden": "".join(prompt.text[s.start : s.end] for s in hidden) or None,
        "added": sum(s.end - s.start for s in prompt.segments if s.added_by_template),
    }


def plain(engine: Engine, prompt: Prompt) -> Op:
    """The prompt for JavaScript: spans in UTF-16 units, bytes in hex, texts as people see them."""
    at = units(prompt.text)
    tokens: list[Op] = []
    for token in prompt.tokens:
        segment = prompt.segments[token.segment]
        told: Op = {
            "id": token.token_id,
            "text": engine.vocabulary.visible(token.token_id),
            "bytes": token.bytes.hex(),
            "start": at[token.start],
            "end": at[token.end],
            "segment": token.segment,
            "special": token.is_special,
        }
        if token.start < segment.start or token.end > segment.end:
            told["mixed"] = True
        tokens.append(told)
    segments = [
        {"kind": s.kind, "start": at[s.start], "end": at[s.end], "added": s.added_by_template}
        for s in prompt.segments
    ]
    return {
        "text": prompt.text,
        "template": prompt.template,
        "notes": list(prompt.notes),
        "segments": segments,
        "tokens": tokens,
    }


def units(text: str) -> Sequence[int]:
    """Where each character begins, and the last one ends, as JavaScript counts: in UTF-16 units."""
    if text.isascii():
        return range(len(text) + 1)
    return list(accumulate((1 + (sign > "\uffff") for sign in text), initial=0))


def _differences(engine: Engine, asked: Rendering, prompt: Prompt) -> Op:
    """What the template writes otherwise than the model's own, nothing where there is no other."""
    own = Choice("own")
    if asked.choice.name == "own" or own.source(engine) is None:
        return {}
    try:
        usual = prompt_by(engine, own, asked.messages, asked.thinking)
    except ValueError as error:
        return {"undiffed": str(error)}
    return {"diff": text_changes(usual.text, prompt.text), "same": usual.ids == prompt.ids}


# -- control tokens ---------------------------------------------------------------------------------


def explained(engine: Engine, prompt: Prompt) -> Op:
    """What each control token means: those of the prompt as they come, then the model's others."""
    words, tokenizer = engine.vocabulary, getattr(engine, "tokenizer", None)
    template = templates.own_template(tokenizer)
    control = Control(
        getattr(words, "bos_id", None),
        engine.info.end_ids,
        getattr(tokenizer, "pad_token_id", None),
        getattr(words, "unknown_id", None),
    )
    if template is not None:  # it may write these by their names
        names = getattr(tokenizer, "special_tokens_map", {})
        template += "".join(str(text) for name, text in names.items() if name in template)
    added = words.added
    here = Counter(
        token_id
        for token_id in prompt.ids
        if token_id in added and (words.is_special(token_id) or added[token_id] in MEANINGS)
    )
    others = [token_id for token_id in sorted(added) if words.is_special(token_id) and token_id not in here]
    told = [
        {
            "id": token_id,
            "text": visible_text(added[token_id]),
            "meaning": meaning(added[token_id], token_id, control, template),
            "count": here[token_id],
        }
        for token_id in [*here, *others[:MOST_EXPLAINED]]
    ]
    return {"explained": told, "unexplained": max(0, len(others) - MOST_EXPLAINED)}


def broken_markers(engine: Engine, prompt: Prompt, source: str) -> list[Op]:
    """The markers that the template wrote and that are no single token of this model, as what they became."""
    written = [(s.start, s.end) for s in prompt.segments if s.added_by_template]
    begins, starts = [start for start, _ in written], [token.start for token in prompt.tokens]
    at, words = units(prompt.text), engine.vocabulary
    broken, added = [], words.added
    for marker in markers_in(source):
        places = []
        place = prompt.text.find(marker)
        while place >= 0:
            index = bisect_right(begins, place) - 1
            if index >= 0 and place < written[index][1]:
                places.append(place)
            place = prompt.text.find(marker, place + len(marker))
        if not places:
            continue
        start, end = places[0], places[0] + len(marker)
        near = prompt.tokens[max(0, bisect_right(starts, start) - 8) : bisect_right(starts, end - 1)]
        ids = [token.token_id for token in near if token.end > start]
        if [added.get(token_id) for token_id in ids] != [marker]:
            told = {"marker": marker, "count": len(places), "start": at[start], "end": at[end]}
            broken.append({**told, "ids": ids, "texts": [words.visible(token_id) for token_id in ids]})
    return sorted(broken, key=lambda each: each["start"])
