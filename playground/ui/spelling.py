"""What the Prompt tab asks about texts: their tokens under one tokenizer or two, and words piece by piece."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from playground.engine.sources import LoadError
from playground.engine.tokenizers import Tokenizers
from playground.text.chat import raw_prompt
from playground.text.counting import backwards, counts, letters
from playground.trace import Prompt, PromptToken, SamplingParams
from playground.ui.answers import answerer
from playground.ui.asked import read_object, read_text
from playground.ui.host import Engine, Words
from playground.ui.models_menu import Menu
from playground.ui.prompts import MOST_WAITING, THREADS, units
from playground.ui.records import Op
from playground.ui.run import Server, sentence

MOST_CHARACTERS = 20_000  # of a text to be cut into tokens
MOST_WORDS = 20
LONGEST_WORD = 60  # characters
# A neutral start, since how likely a word is depends on what stands before, also where it is the first.
CONTEXT = "The word is"


@dataclass(frozen=True)
class Cut:
    """A text to be cut into tokens, also by the tokenizer of another model."""

    text: str
    other: str | None


def tokenizer_of(server: Server, tokenizers: Tokenizers | None = None) -> Callable[[Any], Awaitable[str]]:
    """The server function `tokenize` of the Prompt board."""
    menu, known = Menu(server), tokenizers or Tokenizers()

    def read(asked: Any, engine: Engine, server: Server) -> Cut:
        asked = read_object(asked, "a text")
        text = read_text(asked.get("text"), "the text", MOST_CHARACTERS)
        other = asked.get("with")
        return Cut(text, None if other is None or other == "" else menu.check(other))

    def see(engine: Engine, cut: Cut) -> Op:
        offered = [name for name in menu.names if name != engine.info.name]
        prompt = engine.raw(cut.text) if cut.text else None
        told: Op = {
            "sides": [_side(engine.info.name, cut.text, prompt, engine.vocabulary)],
            "offered": offered,
        }
        if cut.other is not None:
            try:
                vocabulary = known.get(cut.other)
            except LoadError as error:
                return {**told, "missing": sentence(error)}
            prompt = raw_prompt(vocabulary, cut.text) if cut.text else None
            told["sides"].append(_side(cut.other, cut.text, prompt, vocabulary))
        return told

    answer = answerer(server, read, see, threads=THREADS, most=MOST_WAITING)

    async def tokenize(asked: Any) -> str:
        return await answer(asked)

    return tokenize


def _side(name: str, text: str, prompt: Prompt | None, words: Words) -> Op:
    """The tokens of `text`, and apart from them what the tokenizer puts before every text."""
    first: list[Op] = []
    tokens: list[Op] = []
    head = _head(prompt) if prompt else 0
    at = units(prompt.text[head:]) if prompt else ()
    for token in prompt.tokens if prompt else ():
        told = {"id": token.token_id, "text": words.visible(token.token_id)}
        if token.start < head:
            first.append(told)
            continue
        span = {"start": at[token.start - head], "end": at[token.end - head]}
        tokens.append({**told, "bytes": token.bytes.hex(), **span, "special": token.is_special})
    return {
        "name": name,
        "first": first,
        "tokens": tokens,
        "characters": len(text),
        "bytes": len(text.encode(errors="replace")),
        "per_token": round(len(text) / len(tokens), 3) if tokens else None,
        "notes": list(prompt.notes) if prompt else [],
    }


def _head(prompt: Prompt) -> int:
    """Where the text begins: after what the tokenizer puts before every text."""
    first = prompt.segments[0]
    return first.end if first.added_by_template else 0


# -- words ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """Words to be looked at piece by piece."""

    words: list[str]
    owner: str


def speller(server: Server) -> Callable[[Any], Awaitable[str]]:
    """The server function `words` of the Prompt board. It runs the model, so it waits for a seat."""
    answer = answerer(server, read_words, spell, threads=THREADS, most=MOST_WAITING, seated=True)

    async def words(asked: Any) -> str:
        return await answer(asked)

    return words


def read_words(asked: Any, engine: Engine, server: Server) -> Spelling:
    """Checks what came from the page. Raises ValueError in a sentence."""
    asked = read_object(asked, "words")
    text = read_text(asked.get("text"), "the list of words", MOST_WORDS * (LONGEST_WORD + 1))
    words = list(dict.fromkeys(text.split()))
    if not words:
        raise ValueError("Please type a word first.")
    if len(words) > MOST_WORDS:
        raise ValueError(f"At most {MOST_WORDS} words at once, got {len(words)}.")
    if long := next((word for word in words if len(word) > LONGEST_WORD), None):
        raise ValueError(f"A word has at most {LONGEST_WORD} characters here, got {len(long)}.")
    if any("\ud800" <= sign <= "\udfff" for sign in text):  # JavaScript may cut a character in two
        raise ValueError("words must be made of whole characters")
    return Spelling(words, server.owner(asked))


def spell(engine: Engine, asked: Spelling) -> Op:
    """Each word letter by letter, and as the model gets it, with how surprised it is at each piece."""
    return {"context": CONTEXT, "words": [_spelled(engine, word, asked.owner) for word in asked.words]}


def _spelled(engine: Engine, word: str, owner: str) -> Op:
    words = engine.vocabulary
    scored = _scored(engine, engine.raw(f"{CONTEXT} {word}"), owner)
    pieces = []
    bits = 0.0
    for token, part in _pieces(scored, word):
        logprob = token.logprob if token.logprob is not None and math.isfinite(token.logprob) else None
        bits += math.inf if logprob is None else -logprob / math.log(2)
        pieces.append(
            {
                "id": token.token_id,
                "text": words.visible(token.token_id),
                "bytes": token.bytes.hex(),
                "logprob": logprob and float(f"{logprob:.6g}"),
                "prob": None if logprob is None else float(f"{math.exp(logprob):.6g}"),
                "rank": token.rank,
                "letters": part,
            }
        )
    turned = backwards(word)
    return {
        "word": word,
        "pieces": pieces,
        "bits": float(f"{bits:.6g}") if math.isfinite(bits) else None,
        "alone": _told(words, _pieces(engine.raw(word), word, "")),
        "letters": letters(word),
        "counts": counts(word),
        "reversed": {
            "word": turned,
            "pieces": _told(words, _pieces(engine.raw(f"{CONTEXT} {turned}"), turned)),
        },
    }


def _told(words: Words, pieces: list[tuple[PromptToken, str]]) -> list[Op]:
    return [
        {"id": token.token_id, "text": words.visible(token.token_id), "letters": part}
        for token, part in pieces
    ]


def _scored(engine: Engine, prompt: Prompt, owner: str) -> Prompt:
    """The prompt with the model's surprise at each of its tokens: one pass over them."""
    stream = engine.stream(prompt, SamplingParams(temperature=0, max_tokens=1, seed=0), owner=owner)
    try:
        first = next(iter(stream), None)
    finally:
        stream.close()
    if isinstance(first, Prompt):
        return first
    raise ValueError(getattr(first, "message", "") or "The model could not read this word.")


def _pieces(prompt: Prompt, word: str, before: str = " ") -> list[tuple[PromptToken, str]]:
    """The tokens of the word that ends a prompt, those of `before` included, with the word's characters that
    each has a byte of."""
    start = len(prompt.text) - len(word)
    return [
        (token, prompt.text[max(start, token.start) : token.end])
        for token in prompt.tokens
        if token.end > start - len(before)
    ]
