"""What control tokens are said to mean."""

from __future__ import annotations

import re

import pytest

from playground.text import templates
from playground.text.special import MEANINGS, SPARE, Control, markers_in, meaning

NOTHING = Control()


@pytest.mark.parametrize("name", templates.KNOWN)
def test_every_marker_of_a_known_template_has_a_meaning(name: str) -> None:
    for marker in templates.MARKERS[name]:
        assert meaning(marker, 7, NOTHING, None) == MEANINGS[marker]
    assert set(templates.MARKERS[name]) == set(markers_in(templates.KNOWN[name]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<|im_start|>", "opens a message"),
        ("<|im_end|>", "closes a message"),
        ("<|eot_id|>", "ends a turn"),
        ("[/INST]", "the answer comes next"),
        ("</think>", "ends the model's thoughts"),
        ("<file_sep>", "a new file begins"),
        ("<unused42>", SPARE),
        ("<|reserved_special_token_117|>", SPARE),
        ("[unused3]", SPARE),
    ],
)
def test_markers_are_known_by_their_text(text: str, words: str) -> None:
    assert words in meaning(text, 7, NOTHING, "")


def test_what_the_model_says_of_an_id_stands_beside() -> None:
    control = Control(start=1, ends=(2, 5), padding=2, unknown=3)
    assert meaning("<|im_start|>", 1, control, "") == f"{MEANINGS['<|im_start|>']}; this model's start token"
    told = meaning("<|im_end|>", 2, control, "")
    assert "this model's answer ends when it writes it" in told
    assert "fills up the shorter texts of a batch" in told
    assert meaning("⟪stop⟫", 5, control, "") == "this model's answer ends when it writes it"
    assert meaning("⟪x⟫", 3, control, "") == "also stands for what the vocabulary lacks"


def test_a_known_meaning_is_not_said_twice() -> None:
    control = Control(start=1, padding=2, unknown=3)
    assert meaning("<s>", 1, control, "") == MEANINGS["<s>"]
    assert meaning("<pad>", 2, control, "") == MEANINGS["<pad>"]
    assert meaning("<unk>", 3, control, "") == MEANINGS["<unk>"]


def test_nothing_is_guessed_of_a_token_that_nobody_knows() -> None:
    assert meaning("⟪x⟫", 7, NOTHING, "{{ '⟪x⟫' }}") == "a control token that this model's template writes"
    unused = meaning("⟪x⟫", 7, NOTHING, "{{ '⟪y⟫' }}")
    assert unused == "a control token of this model; its template does not use it"
    assert "template to say more" in meaning("⟪x⟫", 7, NOTHING, None)
    assert "does not use" not in meaning("⟪x⟫", 7, NOTHING, None)


def test_a_token_that_is_like_a_spare_one_is_none() -> None:
    for text in ("<unused>", "x<unused1>", "<unused1>x", "<reserved_special_token_>"):
        assert meaning(text, 7, NOTHING, "") != SPARE


def test_meanings_read_as_the_rest_of_a_sentence() -> None:
    for text, words in MEANINGS.items():
        assert re.fullmatch(r"[a-z][^\n;]{4,80}[^.\s;]", words), text
