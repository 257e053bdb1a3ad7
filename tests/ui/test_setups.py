"""The form behind a stored run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from playground.links import Message, Setup
from playground.trace import Prompt, SamplingParams, Segment, Trace
from playground.ui.conversation import banned_ids, messages_of
from playground.ui.setups import setup_of
from tests.comparisons import answer_of
from tests.ui.fake_engine import FakeEngine

ENGINE = FakeEngine()
WORDS = ENGINE.vocabulary


def trace_of(prompt: Prompt, params: SamplingParams | None = None) -> Trace:
    return answer_of([5, 6], params or SamplingParams(seed=3), prompt=prompt)


def again(setup: Setup) -> Prompt:
    """The prompt that the filled form makes."""
    if setup.mode == "raw":
        return ENGINE.raw(setup.prompt)
    history = [{"role": message.role, "content": message.content} for message in setup.messages]
    return ENGINE.chat(messages_of(history, setup.system, setup.prompt))


SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Say 👩🏽 hi\n\nnow"}
TURNS = [USER, {"role": "assistant", "content": "hi"}, {"role": "user", "content": "Again"}]


@pytest.mark.parametrize("messages", [[USER], [SYSTEM, USER], TURNS, [SYSTEM, *TURNS]])
def test_a_chat_comes_from_its_form_again(messages: list[dict[str, str]]) -> None:
    prompt = ENGINE.chat(messages)
    setup = setup_of(trace_of(prompt), WORDS)
    assert setup is not None
    assert (setup.mode, setup.prompt) == ("chat", messages[-1]["content"])
    assert setup.system == (messages[0]["content"] if messages[0]["role"] == "system" else "")
    assert again(setup).ids == prompt.ids
    assert Setup.from_fragment(setup.to_fragment()) == setup


def test_raw_text_comes_from_its_form_again() -> None:
    prompt = ENGINE.raw("Once \x00 upon")
    setup = setup_of(trace_of(prompt), None)
    assert setup is not None
    assert (setup.mode, setup.prompt, setup.messages) == ("raw", "Once \x00 upon", ())
    assert again(setup).ids == prompt.ids


def test_settings_and_seed_come_with_it() -> None:
    params = SamplingParams(
        temperature=0.3,
        top_k=7,
        seed=2**64 - 1,
        stop=("a\nb",),
        max_tokens=9,
        logit_bias={5: -2.5, 6: float("-inf")},
    )
    setup = setup_of(trace_of(ENGINE.raw("x"), params), WORDS)
    assert setup is not None
    assert setup.seed == 2**64 - 1
    assert setup.lanes[0].params == replace(params, seed=None)


def test_banned_tokens_are_typed_where_their_model_runs() -> None:
    banned = banned_ids(ENGINE, (" Paris", "<|im_end|>"))
    trace = trace_of(ENGINE.raw("x"), SamplingParams(seed=1, banned=banned))
    setup = setup_of(trace, WORDS)
    assert setup is not None
    assert (setup.banned, setup.lanes[0].params.banned) == ((" Paris", "<|im_end|>"), ())
    assert banned_ids(ENGINE, setup.banned) == banned
    elsewhere = setup_of(trace, None)
    assert elsewhere is not None
    assert (elsewhere.banned, elsewhere.lanes[0].params.banned) == ((), banned)
    half = trace_of(ENGINE.raw("x"), SamplingParams(seed=1, banned=(ENGINE.halves()[0],)))
    untyped = setup_of(half, WORDS)  # nobody can type half a character
    assert untyped is not None
    assert (untyped.banned, untyped.lanes[0].params.banned) == ((), (ENGINE.halves()[0],))


@pytest.mark.parametrize(
    "kinds", [["user", "raw"], ["user", "assistant"], ["tool", "user"], ["raw", "raw"], []]
)
def test_a_prompt_that_nobody_can_type_has_no_form(kinds: list[Any]) -> None:
    prompt = ENGINE.raw("abcd")
    segments = tuple(Segment(kind, place, place + 1, False) for place, kind in enumerate(kinds))
    assert setup_of(trace_of(replace(prompt, segments=segments)), WORDS) is None


def test_what_is_too_much_for_a_form_has_none() -> None:
    assert (
        setup_of(
            trace_of(
                replace(
                    ENGINE.raw("x"), text="y" * 3_000_000, segments=(Segment("raw", 0, 3_000_000, False),)
                )
            ),
            WORDS,
        )
        is None
    )


def test_one_turn_names_its_roles() -> None:
    setup = setup_of(trace_of(ENGINE.chat([SYSTEM, *TURNS])), WORDS)
    assert setup is not None
    assert setup.messages == (
        Message("system", "Be brief."), Message("user", USER["content"]), Message("assistant", "hi"),
    )  # fmt: skip
