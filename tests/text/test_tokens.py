from __future__ import annotations

import codecs
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from playground.text.tokens import TextStream, Vocabulary, fix_pretokenizer
from tests.text import makers

TEXTS = ["hello world", "  hello  world ", "Größe 你好 👍🏽!", "a\n\n\nb\tc", "", "x"]


def stream(vocabulary: Vocabulary, ids: list[int], *, from_start: bool = True) -> str:
    made = TextStream(vocabulary, from_start=from_start)
    return "".join(made.push(token_id) for token_id in ids) + made.flush()


LOSSLESS = {
    "byte level": makers.byte_level,
    "byte fallback": makers.byte_fallback,
    "with a space first": lambda: makers.byte_fallback(prepend=True),
    "unigram": lambda: makers.byte_fallback(unigram=True),
}


@pytest.mark.parametrize("kind", LOSSLESS)
@pytest.mark.parametrize("text", TEXTS)
def test_b04_the_stream_is_the_text(kind: str, text: str) -> None:
    vocabulary = makers.vocabulary(LOSSLESS[kind]())
    ids = vocabulary.encode(text)
    assert stream(vocabulary, ids) == text
    assert vocabulary.tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text


def test_b04_metaspace_loses_one_space_of_the_first_token_only() -> None:
    vocabulary = makers.vocabulary(makers.metaspace())
    ids = vocabulary.encode("hello world")
    assert stream(vocabulary, ids) == "hello world"
    assert vocabulary.tokenizer.decode(ids, clean_up_tokenization_spaces=False) == "hello world"
    assert stream(vocabulary, ids, from_start=False) == " hello world"


def test_b04_clean_up_takes_no_spaces() -> None:
    text = "x != y . n't"
    vocabulary = makers.vocabulary(makers.word_level(text.split()))
    ids = vocabulary.encode(text)
    assert stream(vocabulary, ids) == text
    assert vocabulary.tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text


def test_word_pieces_join_without_a_space() -> None:
    vocabulary = makers.vocabulary(makers.word_piece())
    assert [vocabulary.bytes_of(token_id) for token_id in range(1, 4)] == [b" hello", b" world", b"ing"]
    assert stream(vocabulary, vocabulary.encode("hello singing worlds")) == "hello singing worlds"


def test_bytes_of_byte_fallback_pieces() -> None:
    vocabulary = makers.vocabulary(makers.byte_fallback())
    assert [vocabulary.bytes_of(1 + byte) for byte in range(256)] == [bytes([byte]) for byte in range(256)]
    token_id = vocabulary.backend.token_to_id("▁world")
    assert (vocabulary.bytes_of(token_id), vocabulary.visible(token_id)) == (b" world", "␣world")


def test_added_tokens_are_literal() -> None:
    # The decoder of byte-level BPE would take these letters for bytes.
    tokenizer = makers.byte_level()
    tokenizer.add_tokens(["Ġé"])
    vocabulary = makers.vocabulary(tokenizer)
    assert vocabulary.bytes_of(vocabulary.encode("Ġé")[0]) == "Ġé".encode()


def test_special_is_what_the_tokenizer_marks_so_though_it_does_not_list_it() -> None:
    tokenizer = makers.byte_level()
    vocabulary = makers.vocabulary(tokenizer)
    ids = [vocabulary.backend.token_to_id(content) for content in (*makers.SPECIALS, *makers.PLAIN_ADDED)]
    assert [vocabulary.is_special(token_id) for token_id in ids] == [True] * 22 + [False] * 4
    assert len(tokenizer.all_special_ids) < 22
    assert vocabulary.visible(ids[1]) == "<|im_start|>"


def test_ids_that_the_tokenizer_does_not_know() -> None:
    vocabulary = Vocabulary(makers.byte_level(), 5000)
    assert vocabulary.size == 5000
    assert [vocabulary.bytes_of(token_id) for token_id in (4999, -1)] == [b"", b""]
    assert vocabulary.visible(4999) == "‹id 4999›"
    assert TextStream(vocabulary).push(4999) == ""


def test_visible_forms_of_all_ids_differ_unless_the_bytes_are_alike() -> None:
    vocabulary = makers.vocabulary(makers.byte_level())
    forms = {
        vocabulary.visible(token_id): vocabulary.bytes_of(token_id) for token_id in range(vocabulary.size)
    }
    assert len(forms) == len({vocabulary.bytes_of(token_id) for token_id in range(vocabulary.size)})
    assert all(forms)


def test_b01_half_a_character_waits() -> None:
    vocabulary = makers.vocabulary(makers.byte_fallback())
    made = TextStream(vocabulary)
    shown = [made.push(1 + byte) for byte in "👨\u200d👩".encode()]
    assert shown == ["", "", "", "👨", "", "", "\u200d", "", "", "", "👩"]
    assert [made.push(1 + byte) for byte in b"\xf0\x9f\x91"] == ["", "", ""]
    assert (made.pending, made.flush(), made.pending) == (b"\xf0\x9f\x91", "\ufffd", b"")


def test_a_control_token_ends_a_broken_character() -> None:
    vocabulary = makers.vocabulary(makers.byte_fallback())
    made = TextStream(vocabulary)
    end = vocabulary.backend.token_to_id("<end_of_turn>")
    assert [made.push(1 + 0xF0), made.push(end), made.push(1 + ord("a"))] == ["", "\ufffd<end_of_turn>", "a"]


@given(st.binary(max_size=20))
def test_any_bytes_stream_as_python_decodes_them(data: bytes) -> None:
    vocabulary = FALLBACK
    made = TextStream(vocabulary)
    shown, seen = [], b""
    for byte in data:
        shown.append(made.push(1 + byte))
        seen += bytes([byte])
        assert "".join(shown) == codecs.getincrementaldecoder("utf-8")("replace").decode(seen)
    assert "".join(shown) + made.flush() == data.decode("utf-8", "replace")


FALLBACK = makers.vocabulary(makers.byte_fallback())


def test_surrogates_become_replacement_characters() -> None:
    vocabulary = makers.vocabulary(makers.byte_level())
    assert vocabulary.encode("a\ud800b") == vocabulary.encode("a\ufffdb")


def test_a_tokenizer_without_a_fast_form_is_refused() -> None:
    with pytest.raises(ValueError, match="no fast form"):
        Vocabulary(object(), 5)


def test_digits_are_split_for_the_name_that_asks_for_it() -> None:
    tokenizer = makers.byte_level()
    before = makers.vocabulary(tokenizer).encode("a 333")
    fix_pretokenizer(tokenizer, "gpt-2")
    assert makers.vocabulary(tokenizer).encode("a 333") == before
    for _ in range(2):
        fix_pretokenizer(tokenizer, "smollm")
        vocabulary = makers.vocabulary(tokenizer)
        assert [vocabulary.bytes_of(token_id) for token_id in vocabulary.encode("a 333")] == [
            b"a", b" ", b"3", b"3", b"3",
        ]  # fmt: skip
    assert str(tokenizer.backend_tokenizer.pre_tokenizer).count("Digits") == 1


def test_b54_one_tokenizer_in_many_threads() -> None:
    """A truncating user of the same tokenizer cuts nobody else's prompts."""
    tokenizer = makers.byte_level()
    vocabulary = makers.vocabulary(tokenizer)
    text = "~" * 81

    def call(number: int) -> int:
        if number % 2:
            return len(vocabulary.encode(text))
        return len(tokenizer(text, truncation=True, max_length=8, add_special_tokens=False)["input_ids"])

    with ThreadPoolExecutor(4) as pool:
        lengths = list(pool.map(call, range(4000)))
    assert lengths == [8, 81] * 2000


def test_b54_settings_left_on_the_shared_tokenizer_do_not_count() -> None:
    tokenizer: PreTrainedTokenizerFast = makers.byte_fallback()
    tokenizer.backend_tokenizer.enable_truncation(3)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    tokenizer.backend_tokenizer.encode_special_tokens = True
    vocabulary = makers.vocabulary(tokenizer)
    assert vocabulary.encode("hello world<end_of_turn>hello") == FALLBACK.encode(
        "hello world<end_of_turn>hello"
    )
    assert vocabulary.prefix_ids == [vocabulary.bos_id]
