"""Texts cut into tokens, and words piece by piece, as the Prompt board asks for them."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from playground.engine.local import LocalEngine
from playground.engine.sources import LoadError
from playground.engine.tokenizers import Tokenizers
from playground.text.tokens import Vocabulary
from playground.trace import SamplingParams
from playground.ui.models_menu import OFFERS
from playground.ui.run import Server
from playground.ui.spelling import CONTEXT, LONGEST_WORD, MOST_CHARACTERS, MOST_WORDS, speller, tokenizer_of
from tests.engines import engine_of
from tests.fakes import IM_END, tiny_llama
from tests.hostile import HOSTILE
from tests.text.makers import byte_fallback, byte_level
from tests.ui.asking import serve
from tests.ui.fake_engine import FakeEngine

Ask = Callable[[Any], Awaitable[str]]
OTHER = OFFERS[1].name


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    with engine_of(tiny_llama()) as made:
        yield made


def answered(engine: Any, make: Callable[[Server], Ask], asked: Any, **settings: Any) -> dict[str, Any]:
    async def ask() -> str:
        server = serve(engine, **settings)
        await server.host.engine()
        return await make(server)(asked)

    return json.loads(asyncio.run(ask()))


def load(name: str) -> Vocabulary:
    if name != OTHER:
        raise LoadError(f"there is no {name}")
    tokenizer = byte_fallback()
    return Vocabulary(tokenizer, len(tokenizer))


def cut(engine: Any, text: Any, other: Any = None, **settings: Any) -> dict[str, Any]:
    asked = {"text": text, "with": other}
    return answered(engine, lambda server: tokenizer_of(server, Tokenizers(load)), asked, **settings)


def spelled(engine: Any, text: Any) -> dict[str, Any]:
    return answered(engine, speller, {"text": text})


def slices(text: str, tokens: list[dict[str, Any]]) -> list[str]:
    data = text.encode("utf-16-le")
    return [data[2 * each["start"] : 2 * each["end"]].decode("utf-16-le") for each in tokens]


# -- a text under one tokenizer or two --------------------------------------------------------------


def test_a_text_under_the_models_own_tokenizer(engine: LocalEngine) -> None:
    text = "né 👍!"
    told = cut(engine, text)
    [side] = told["sides"]
    assert [each["id"] for each in side["tokens"]] == list(text.encode())
    assert slices(text, side["tokens"]) == ["n", "é", "é", " ", "👍", "👍", "👍", "👍", "!"]
    assert [each["bytes"] for each in side["tokens"]] == [f"{byte:02x}" for byte in text.encode()]
    assert (side["characters"], side["bytes"], side["per_token"]) == (5, 9, round(5 / 9, 3))
    assert (side["name"], side["first"]) == (engine.info.name, [])
    assert OTHER in told["offered"]


def test_the_same_text_under_another_models(engine: LocalEngine) -> None:
    text = "hello world é"
    first, second = cut(engine, text, OTHER)["sides"]
    assert len(first["tokens"]) == len(text.encode())
    assert second["name"] == OTHER
    assert [each["text"] for each in second["first"]] == ["<bos>"]  # before every text, and not of this one
    assert [each["text"] for each in second["tokens"]] == ["hello", "␣world", "␣", "é"]
    assert slices(text, second["tokens"]) == ["hello", " world", " ", "é"]
    assert second["per_token"] == len(text) / 4


def test_a_marker_that_was_typed_is_a_control_token_and_it_is_said(engine: LocalEngine) -> None:
    [side] = cut(engine, "a<|im_end|>")["sides"]
    assert [(each["id"], each["special"]) for each in side["tokens"]] == [(97, False), (IM_END, True)]
    assert side["notes"] == ["typed, taken as control tokens: <|im_end|>"]


def test_no_text_has_no_tokens(engine: LocalEngine) -> None:
    for side in cut(engine, "", OTHER)["sides"]:
        assert (side["tokens"], side["characters"], side["per_token"]) == ([], 0, None)


def test_a_tokenizer_that_cannot_be_had_is_told_beside_the_other(engine: LocalEngine) -> None:
    told = cut(engine, "hi", "org/lost")
    assert told["missing"] == "there is no org/lost"
    assert [side["name"] for side in told["sides"]] == [engine.info.name]


def test_strangers_choose_among_what_is_offered(engine: LocalEngine) -> None:
    assert "only" in cut(engine, "hi", "org/lost", hosted=True)["error"]
    assert "only" in cut(engine, "hi", "/etc", hosted=True)["error"]
    assert len(cut(engine, "hi", OTHER, hosted=True)["sides"]) == 2


@pytest.mark.parametrize("text", [*HOSTILE, "\x00", "\r\n", "👩🏽‍🔬"])
def test_b38_any_text_may_be_cut(engine: LocalEngine, text: str) -> None:
    [side] = cut(engine, text)["sides"]
    data = b"".join(bytes.fromhex(each["bytes"]) for each in side["tokens"])
    assert data.decode() == text.replace("\ud800", "\ufffd")
    assert side["tokens"][-1]["end"] == len(text.encode("utf-16-le", "surrogatepass")) // 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (None, "a text must be an object"),
        ({"text": 7}, "the text must be a text"),
        ({"text": "x" * (MOST_CHARACTERS + 1)}, "the text has 20,001 characters"),
        ({"text": "x", "with": 7}, "Please type the name of a model"),
        ({"text": "x", "with": "x" * 1000}, "Please type the name of a model"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(engine: LocalEngine, asked: Any, words: str) -> None:
    told = answered(engine, tokenizer_of, asked)
    assert set(told) == {"error"}
    assert words in told["error"]


# -- words ------------------------------------------------------------------------------------------


def test_the_surprise_at_each_piece_is_the_models(engine: LocalEngine) -> None:
    told = spelled(engine, "cat né")
    assert told["context"] == CONTEXT
    for word in told["words"]:
        ids = list(f" {word['word']}".encode())
        assert [each["id"] for each in word["pieces"]] == ids
        bits = 0.0
        for place, piece in enumerate(word["pieces"]):
            before = [*CONTEXT.encode(), *ids[:place]]
            true = engine.redistribute_ids(before, (), 0, SamplingParams(seed=0), token_id=ids[place])
            assert math.isclose(piece["logprob"], true.logprob, abs_tol=1e-4)
            assert math.isclose(piece["prob"], true.prob, rel_tol=1e-3)
            assert piece["rank"] == true.rank
            bits -= true.logprob / math.log(2)
        assert math.isclose(word["bits"], bits, rel_tol=1e-4)


def test_pieces_have_the_letters_that_they_cover() -> None:
    tokenizer = byte_level()
    with engine_of(tiny_llama(len(tokenizer)), tokenizer=tokenizer) as engine:
        [word] = spelled(engine, "hello")["words"]
        assert "".join(piece["letters"] for piece in word["pieces"]) == "hello"
        assert len(word["pieces"]) < 5
        assert [piece["id"] for piece in word["pieces"]] == engine.vocabulary.encode(" hello")
        assert [piece["id"] for piece in word["alone"]] == engine.vocabulary.encode("hello")
        assert word["reversed"]["word"] == "olleh"
        turned = word["reversed"]["pieces"]
        assert [piece["id"] for piece in turned] == engine.vocabulary.encode(" olleh")
        assert "".join(piece["letters"] for piece in turned) == "olleh"


def test_what_the_tokenizer_puts_first_is_no_piece_of_the_word() -> None:
    tokenizer = byte_fallback()
    with engine_of(tiny_llama(len(tokenizer)), tokenizer=tokenizer) as engine:
        [word] = spelled(engine, "world")["words"]
        assert [piece["text"] for piece in word["pieces"]] == ["␣world"]
        assert "<bos>" not in [piece["text"] for piece in word["alone"]]
        assert "".join(piece["letters"] for piece in word["alone"]) == "world"


def test_the_letters_of_strawberry(engine: LocalEngine) -> None:
    [word] = spelled(engine, "strawberry")["words"]
    assert word["letters"] == list("strawberry")
    assert word["counts"][0] == ["r", 3]
    assert word["reversed"]["word"] == "yrrebwarts"


def test_words_are_looked_at_once_and_leave_nothing_running(engine: LocalEngine) -> None:
    told = spelled(engine, " one  two\none ")
    assert [word["word"] for word in told["words"]] == ["one", "two"]
    fake = FakeEngine()
    assert len(spelled(fake, "one two three")["words"]) == 3
    assert (fake.opened, fake.closed) == (3, 3)
    assert fake.steps_made == 0


def test_words_wait_for_a_seat() -> None:
    engine = FakeEngine()

    async def both() -> tuple[bool, dict[str, Any]]:
        server = serve(engine, 1)
        await server.host.engine()
        async with server.seats.seat():
            asked = asyncio.ensure_future(speller(server)({"text": "one"}))
            await asyncio.sleep(0.1)
            waited = not asked.done() and engine.opened == 0
        return waited, json.loads(await asked)

    waited, told = asyncio.run(both())
    assert waited
    assert len(told["words"]) == 1


def test_whose_words_they_are_is_told_to_the_engine() -> None:
    engine = FakeEngine()
    answered(engine, speller, {"text": "one", "owner": "a" * 32}, hosted=True)
    assert engine.owners == ["a" * 32]


@pytest.mark.parametrize(
    "text", [text for text in (*HOSTILE, "👩🏽‍🔬") if "\ud800" not in text and text.split()]
)
def test_b38_any_word_may_be_asked_for(engine: LocalEngine, text: str) -> None:
    for word in spelled(engine, text)["words"]:
        assert (
            b"".join(bytes.fromhex(piece["bytes"]) for piece in word["pieces"]).decode() == " " + word["word"]
        )


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (None, "words must be an object"),
        ({}, "Please type a word first."),
        ({"text": "  \n "}, "Please type a word first."),
        ({"text": ["a"]}, "the list of words must be a text"),
        ({"text": " ".join(map(str, range(MOST_WORDS + 1)))}, "At most 20 words at once, got 21."),
        ({"text": "x" * (LONGEST_WORD + 1)}, "A word has at most 60 characters here, got 61."),
        ({"text": "x " * 5000}, "the list of words has 10,000 characters"),
        ({"text": "\ud800"}, "whole characters"),
    ],
)
def test_what_is_wrong_with_words_is_said(engine: LocalEngine, asked: Any, words: str) -> None:
    told = answered(engine, speller, asked)
    assert set(told) == {"error"}
    assert words in told["error"]


def test_a_model_that_fails_is_told_in_a_sentence() -> None:
    class Broken(FakeEngine):
        def _scored(self, prompt: Any) -> Any:
            raise ValueError("The model ran out of memory.")

    assert spelled(Broken(), "one") == {"error": "The model ran out of memory."}


@pytest.mark.model
def test_strawberry_as_the_bundled_model_gets_it(bundled: Any) -> None:
    engine = LocalEngine(bundled, max_lanes=2, kv_mb=256, logits_pool_mb=16)
    try:
        words = {word["word"]: word for word in spelled(engine, "strawberry definitely definately")["words"]}
    finally:
        engine.close()
    straw = words["strawberry"]
    assert [piece["id"] for piece in straw["pieces"]] == [35199]  # one token, in a sentence
    assert [(piece["id"], piece["letters"]) for piece in straw["alone"]] == [
        (302, "st"), (1709, "raw"), (9500, "berry"),
    ]  # fmt: skip
    assert [piece["letters"] for piece in straw["reversed"]["pieces"]] == ["yr", "reb", "w", "arts"]
    assert [piece["letters"] for piece in words["definately"]["pieces"]] == ["defin", "ately"]
    assert len(words["definitely"]["pieces"]) == 1
    assert words["definately"]["bits"] > words["definitely"]["bits"] + 5  # a slip of the pen surprises it
