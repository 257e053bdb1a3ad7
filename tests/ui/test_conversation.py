"""What the page sends back of a conversation, and the texts that are watched or banned."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from playground.trace import SamplingParams
from playground.ui.controls import FIELDS, form_of
from playground.ui.conversation import (
    banned_ids,
    bias_by_id,
    has_thinking_switch,
    read_biases,
    read_history,
    watched_tokens,
)
from playground.ui.form import Form, read_form
from playground.ui.run import go_on
from playground.ui.stream import Outbox, Transport
from tests.ui.fake_engine import HOSTILE, FakeEngine
from tests.ui.javascript import evaluate, needs_node
from tests.ui.test_run import FORM, NUMBERS, collect, named, serve, texts

TURN = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]


def test_earlier_turns_stand_before_the_next_message_and_keep_their_system_message() -> None:
    form = read_form("chat", texts(history=json.dumps(TURN), system="late", prompt="And?"), NUMBERS)
    assert form.said == [*TURN, {"role": "user", "content": "And?"}]
    first = [{"role": "system", "content": "Be brief."}, *TURN]
    assert read_form("chat", texts(history=json.dumps(first)), NUMBERS).said[0] == first[0]
    assert read_form("raw", texts(history=json.dumps(TURN)), NUMBERS).said == "Hi"


@pytest.mark.parametrize(
    "history",
    [
        "{", "7", '{"role": "user"}', '[{"role": "user"}]', '[{"role": "tool", "content": ""}]', "[" * 9999,
        '[{"role": "user", "content": 7}]', '[{"role": "user", "content": "", "more": ""}]', "[7]",
        json.dumps(TURN * 501),
    ],
)  # fmt: skip
def test_a_forged_history_is_refused_in_a_sentence(history: str) -> None:
    with pytest.raises(ValueError, match="start a new chat"):
        read_history(history)


def test_the_board_is_told_whose_messages_a_run_is_for() -> None:
    said = [*TURN, {"role": "user", "content": "And?"}]
    received = asyncio.run(
        collect(serve(FakeEngine()), form=Form(said, SamplingParams(seed=0, max_tokens=2)))
    )
    assert named(received, "turn") == [{"op": "turn", "messages": said}]
    raw = asyncio.run(collect(serve(FakeEngine()), form=Form("Hi", SamplingParams(seed=0, max_tokens=2))))
    assert named(raw, "turn") == [{"op": "turn", "messages": None}]


def test_watched_tokens_are_listed_at_every_step_also_outside_the_top() -> None:
    engine = FakeEngine()
    form = Form("Hi", SamplingParams(seed=0, max_tokens=6), watched=(" Lyon", "the end", HOSTILE[0]))
    received = asyncio.run(collect(serve(engine), form=form))
    ((lyon, the, hostile),) = [op["tokens"] for op in named(received, "watch")]
    assert (lyon["text"], lyon["more"], lyon["typed"]) == ("␣Lyon", 0, " Lyon")
    assert the["more"] > 0
    assert hostile["typed"] == HOSTILE[0]
    for op in named(received, "tokens"):
        for step in op["steps"]:
            assert {lyon["id"], the["id"], hostile["id"]} <= {row[0] for row in step["r"]}


def test_watching_too_much_is_refused_and_the_same_token_is_followed_once() -> None:
    engine = FakeEngine()
    assert len(watched_tokens(engine, [" Lyon", " Lyon is"])) == 1
    with pytest.raises(ValueError, match="At most 8"):
        watched_tokens(engine, [str(number) for number in range(9)])


def test_only_single_tokens_can_be_banned_and_then_never_come() -> None:
    engine = FakeEngine()
    assert banned_ids(engine, [" Paris", " Paris"]) == tuple(engine.vocabulary.encode(" Paris"))
    with pytest.raises(ValueError, match="Only single tokens can be banned"):
        banned_ids(engine, ["the end"])
    asyncio.run(collect(serve(engine), form=Form("Hi", SamplingParams(seed=0), banned=(" Paris",))))
    assert engine.seen[-1][1].banned == tuple(engine.vocabulary.encode(" Paris"))


def test_biases_are_read_line_by_line_and_reach_the_engine() -> None:
    engine = FakeEngine()
    ((paris,), (comma,)) = (engine.vocabulary.encode(text) for text in (" Paris", ","))
    form = read_form("raw", texts(biases=" Paris = -5\n, =+.5\n\n#9=  100\n= = 2"), NUMBERS)
    (equals,) = engine.vocabulary.encode("=")
    asyncio.run(collect(serve(engine), form=form))
    assert engine.seen[-1][1].logit_bias == {paris: -5.0, comma: 0.5, 9: 100.0, equals: 2.0}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (" Paris", "A bias is a token"), (" Paris = ", "A bias is a token"), ("= 3", "A bias is a token"),
        (" Paris = nan", "A bias is a token"), (" Paris = 1e9", "A bias is a token"),
        (" Paris = ٣", "A bias is a token"), (" Paris = inf", "A bias is a token"),
        (" Paris = 100.5", r"must be in \[-100, 100\]"), (" Paris = -101", r"must be in \[-100, 100\]"),
        ("the end = 3", "Only single tokens can be biased"), ("#999999 = 3", "names no token"),
        (" Paris = 1\n Paris = 2", "has a bias already"), ("x = 1\n" * 301, "At most 300"),
    ],
)  # fmt: skip
def test_a_bad_bias_is_refused_in_a_sentence_that_names_it(lines: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        bias_by_id(FakeEngine(), read_biases([line for line in lines.split("\n") if line]))
    assert "300" in str(refused.value) or repr(lines.split("\n")[-1])[1:-1].split(" =")[0] in str(
        refused.value
    )


@pytest.mark.parametrize(
    ("thinks", "asked", "told"), [(True, False, False), (True, True, True), (False, True, None)]
)
def test_the_thinking_switch_reaches_templates_that_have_it(thinks: bool, asked: bool, told: Any) -> None:
    engine = FakeEngine(thinks=thinks)
    assert has_thinking_switch(engine) is thinks
    said = [{"role": "user", "content": "Hi"}]
    form = Form(said, SamplingParams(seed=0, max_tokens=1), thinking=asked)
    asyncio.run(collect(serve(engine), form=form))
    assert engine.thinking == [told]


def test_ids_of_another_models_run_are_refused() -> None:
    engine = FakeEngine()
    server = serve(engine)
    asked = {"kind": "fork", "prompt_ids": [2, 3], "forced": [4], "known": 0, "model": "f" * 16}
    outbox = Outbox()
    asyncio.run(go_on(server, outbox, asked, lambda anew: FORM, Transport()))
    (told,) = asyncio.run(outbox.collect())
    assert told["state"] == "error"
    assert "made by another model than the one that runs now, Fake-12M" in told["text"]
    assert engine.opened == 0
    asyncio.run(go_on(server, outbox, {**asked, "model": "0" * 16}, lambda anew: FORM, Transport()))
    assert engine.opened == 1


@pytest.mark.parametrize("wrong", [{"prompt_ids": [2, 10**6]}, {"forced": [4, -1]}])
def test_ids_that_the_model_lacks_are_refused(wrong: dict[str, Any]) -> None:
    engine, outbox = FakeEngine(), Outbox()
    asked = {"kind": "fork", "prompt_ids": [2, 3], "forced": [4, 5], "known": 1, **wrong}
    asyncio.run(go_on(serve(engine), outbox, asked, lambda anew: FORM, Transport()))
    (told,) = asyncio.run(outbox.collect())
    assert told["state"] == "error"
    assert f"has token {next(iter(wrong.values()))[1]}, but the ids of this model are 0 to" in told["text"]
    assert engine.opened == 0


def test_the_form_is_read_by_the_names_of_its_fields() -> None:
    sent: dict[str, Any] = dict.fromkeys(FIELDS, 0) | texts(watched=" a\n\nb ", banned="", history="")
    sent |= {"mode": "chat", "top_p": 1, "typical_p": 0.9, "repetition_penalty": 1, "max_tokens": 7.0}
    form = form_of([sent[name] for name in FIELDS])
    assert form.watched == (" a", "b ")
    assert (form.params.max_tokens, form.params.typical_p, form.params.ignore_eos) == (7, 0.9, False)


@needs_node
@pytest.mark.parametrize(
    ("prompt", "answer", "split"),
    [
        ("…assistant\n<think>\n", "a</think>b", ("a", "b", True)),
        ("…assistant\n<think>\n", "a", ("a", "", False)),
        ("…assistant\n<think>\n\n</think>\n\n", "b", (None, "b", True)),
        ("…assistant\n", "b", (None, "b", True)),
        ("…assistant\n", "<think>a</think>b", ("a", "b", True)),
        ("…assistant\n", "\n<think>a", ("a", "", False)),
        ("…assistant\n<think>\nfirst", " then</think>b", (" then", "b", True)),
        ("what does <think> mean?…assistant\n", "a tag", (None, "a tag", True)),
        ("…<think>", "a</think>b</think>c", ("a", "b</think>c", True)),
        ("", "é👩<think>no</think>", (None, "é👩<think>no</think>", True)),
        ("", "", (None, "", True)),
    ],
)
def test_b15_the_page_tells_thought_from_answer(
    prompt: str, answer: str, split: tuple[str | None, str, bool]
) -> None:
    made = evaluate("splitThought(prompt, answer)", prompt=prompt, answer=answer)
    assert (made["thought"], made["answer"], made["finished"]) == split


@needs_node
def test_the_curve_of_a_watched_token_has_a_gap_where_it_was_not_recorded() -> None:
    def step(*ids: int) -> dict[str, Any]:
        return {"candidates": [{"id": each, "prob": 0.1, "finalProb": 0, "rank": 3} for each in ids]}

    values = evaluate("watchedValues(steps, 7, 1)", steps=[step(7), step(7, 8), step(8), step(7)])
    assert values == [
        {"prob": 0.1, "finalProb": 0, "rank": 3},
        None,
        {"prob": 0.1, "finalProb": 0, "rank": 3},
    ]
    one = {"prob": 1}
    assert evaluate("watchedPath(values, 0)", values=[one, one, None, {"prob": 0}]) == (
        "M0 1.00L1 1.00M3 21.00"
    )
    assert evaluate("watchedPath(values, 1)", values=[one, one]) == "L1 1.00"  # goes on with what is drawn
