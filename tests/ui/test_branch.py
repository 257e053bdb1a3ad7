"""Orders of the board: what is refused, and how a run goes on from ids."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from playground.trace import SamplingParams
from playground.ui.branch import Order, Part, prompt_of_ids, read_order, room
from playground.ui.form import Form
from playground.ui.run import Server, generate, go_on
from playground.ui.stream import Outbox, Session, messages
from tests.ui.fake_engine import HOSTILE, FakeEngine
from tests.ui.test_run import FORM, collect, named, ops_of, serve


async def ordered(
    server: Server, order: Order, form: Form = FORM, session: Session | None = None
) -> list[str]:
    session = session or Session()

    async def work(outbox: Outbox) -> None:
        await generate(server, outbox, lambda: form, order, session.transport)

    return [text async for text in messages(session, work)]


def rows(received: list[str]) -> list[dict[str, Any]]:
    return [row for op in named(received, "tokens") for row in op["steps"]]


def ids(received: list[str]) -> list[int]:
    return [row["k"] for row in rows(received)]


def prompt_ids(received: list[str]) -> tuple[int, ...]:
    return tuple(token[0] for token in named(received, "prompt")[0]["tokens"])


def begun(engine: FakeEngine, form: Form = FORM) -> tuple[Server, tuple[int, ...], list[int]]:
    """A server, and prompt and answer ids of a run that ended there."""
    server = serve(engine)
    received = asyncio.run(collect(server, form=form))
    return server, prompt_ids(received), ids(received)


def test_a_fork_keeps_the_ids_before_it_and_sends_only_what_is_new() -> None:
    server, prompt, answer = begun(FakeEngine())
    other = answer[20]
    order = Order("fork", prompt, (*answer[:5], other), 5, node=3)
    received = asyncio.run(ordered(server, order))
    (branch,) = named(received, "branch")
    assert (branch["node"], branch["at"]) == (3, 5)
    assert [given[0] for given in branch["given"]] == [other]
    assert not named(received, "reset")
    assert not named(received, "prompt")
    made = rows(received)
    assert [row["i"] for row in made] == list(range(5, 5 + len(made)))
    assert made[0]["k"] == other
    assert made[0]["d"][0] == "f"
    assert made[1]["d"][0] == "s"


def test_a_fork_rolls_the_dice_of_its_parent() -> None:
    engine = FakeEngine()
    free = Form(FORM.said, replace(FORM.params, seed=None))
    server = serve(engine)
    received = asyncio.run(collect(server, form=free))
    seed = named(received, "reset")[0]["params"]["seed"]
    first = rows(received)
    order = Order("fork", prompt_ids(received), tuple(ids(received)[:4]), 4, seed=seed)
    forked = asyncio.run(ordered(server, order, free))
    assert named(forked, "branch")[0]["params"]["seed"] == seed
    assert [row["d"] for row in rows(forked)] == [row["d"] for row in first[4:]]
    typed = asyncio.run(ordered(server, order, Form(FORM.said, replace(FORM.params, seed=seed + 1))))
    assert named(typed, "branch")[0]["params"]["seed"] == seed + 1  # somebody asked for another


def test_a_large_seed_survives_javascript() -> None:
    form = Form("x", SamplingParams(seed=2**64 - 1, max_tokens=2))
    received = asyncio.run(collect(serve(FakeEngine()), form=form))
    assert named(received, "reset")[0]["params"]["seed"] == "18446744073709551615"


def test_forced_text_is_encoded_here_and_its_ids_are_told() -> None:
    engine = FakeEngine()
    server, prompt, answer = begun(engine)
    order = Order("force", prompt, tuple(answer[:3]), 3, text=" Lyon is")
    received = asyncio.run(ordered(server, order))
    wanted = engine.vocabulary.encode(" Lyon is")
    assert [given[0] for given in named(received, "branch")[0]["given"]] == wanted
    assert ids(received)[:2] == wanted
    assert [row["d"][0] for row in rows(received)][:3] == ["f", "f", "s"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_b38_hostile_forced_text_travels_letter_for_letter(hostile: str) -> None:
    server, prompt, answer = begun(FakeEngine())
    received = asyncio.run(ordered(server, Order("force", prompt, tuple(answer[:3]), 3, text=hostile)))
    forced = [bytes.fromhex(row["b"]) for row in rows(received) if row["d"][0] == "f"]
    assert b"".join(forced).decode() == hostile


def test_an_edited_prompt_keeps_the_ids_before_the_change() -> None:
    engine = FakeEngine()
    server, prompt, _ = begun(engine, Form("The capital of France", FORM.params))
    received = asyncio.run(ordered(server, Order("prompt", prompt[:3], text=" Lyon")))
    assert named(received, "reset")
    assert prompt_ids(received) == (*prompt[:3], *engine.vocabulary.encode(" Lyon"))
    (note,) = named(received, "prompt")[0]["notes"]
    assert "3 tokens kept" in note
    assert "1 read anew" in note


PARTS = (Part("template", True, 2), Part("user", False, 3), Part("generation_prompt", True, 2))


def test_one_exchanged_id_leaves_the_others_and_who_wrote_them() -> None:
    engine = FakeEngine()
    server = serve(engine)
    ids = tuple(engine.vocabulary.encode("The capital of France is Paris,"))
    other = engine.vocabulary.ids[b" Lyon"]
    exchanged = (*ids[:3], other, *ids[4:])
    received = asyncio.run(ordered(server, Order("exchange", exchanged, parts=PARTS)))
    assert named(received, "reset")[0]["beside"] is True
    (prompt,) = named(received, "prompt")
    assert tuple(token[0] for token in prompt["tokens"]) == exchanged
    assert [token[2] for token in prompt["tokens"]] == [0, 0, 1, 1, 1, 2, 2]
    assert prompt["segments"] == [["template", 1], ["user", 0], ["generation_prompt", 1]]
    assert prompt["notes"] == ["One token exchanged; the 6 others kept as they were."]
    made = engine.seen[-1][0]
    assert [made.text[each.start : each.end] for each in made.segments] == [
        "The capital", " of Lyon is", " Paris,",
    ]  # fmt: skip


def test_typed_text_belongs_to_the_last_part() -> None:
    engine = FakeEngine()
    parts = (Part("template", True, 1), Part("raw", False, 0))
    received = asyncio.run(ordered(serve(engine), Order("prompt", (0,), text=" Lyon is", parts=parts)))
    (prompt,) = named(received, "prompt")
    assert [token[2] for token in prompt["tokens"]] == [0, 1, 1]
    assert prompt["segments"] == [["template", 1], ["raw", 0]]


def test_a_changed_message_is_a_run_beside_the_one_it_came_from_and_rolls_its_dice() -> None:
    free = Form(FORM.said, replace(FORM.params, seed=None))
    received = asyncio.run(ordered(serve(FakeEngine()), Order("prompt", seed=77), free))
    (reset,) = named(received, "reset")
    assert (reset["beside"], reset["params"]["seed"]) == (True, 77)
    assert named(received, "turn")[0]["messages"] == FORM.said
    first = asyncio.run(collect(serve(FakeEngine())))
    assert "beside" not in named(first, "reset")[0]


def test_segments_of_half_characters_and_of_none() -> None:
    engine = FakeEngine()
    parts = (Part("user", False, 2), Part("tool", False, 0), Part("raw", False, 2), Part("template", True, 0))
    made = prompt_of_ids(engine, engine.halves(), parts=parts)
    assert made.text == "👩🏽"
    spans = [(each.kind, made.text[each.start : each.end]) for each in made.segments]
    assert spans == [("user", "👩"), ("tool", ""), ("raw", "🏽"), ("template", "")]
    broken = prompt_of_ids(engine, engine.halves()[:1])
    assert (broken.text, broken.segments[0].end) == ("\ufffd", 1)


def test_a_prompt_of_ids_spans_its_text() -> None:
    engine = FakeEngine()
    made = prompt_of_ids(engine, [*engine.vocabulary.encode("a Paris "), *engine.halves()])
    assert made.text == "a Paris 👩🏽"
    assert [made.text[token.start : token.end] for token in made.tokens[:2]] == ["a", " Paris"]
    assert made.tokens[-1].end == len(made.text)


def test_going_on_may_be_longer_than_the_setting_but_not_than_the_server_allows() -> None:
    assert room(128, 20, 1024) == 128
    assert room(128, 128, 1024) == 256
    assert room(128, 1000, 1024) == 1024
    with pytest.raises(ValueError, match="writes at most 1,024"):
        room(128, 1024, 1024)


def test_a_run_at_its_limit_goes_on_by_as_many_again() -> None:
    form = Form(FORM.said, replace(FORM.params, max_tokens=6))
    server, prompt, answer = begun(FakeEngine(), form)
    assert len(answer) == 6
    received = asyncio.run(ordered(server, Order("play", prompt, tuple(answer), 6), form))
    assert [row["i"] for row in rows(received)] == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (None, "no order"),
        ([], "no order"),
        ({"kind": "dance"}, "kind must be one of"),
        ({"kind": ["step"]}, "kind must be one of"),
        ({"kind": "fork"}, "no run to go on with"),
        ({"kind": "step", "forced": [1]}, "no run to go on with"),
        ({"kind": "fork", "prompt_ids": "12"}, "prompt_ids must be a list"),
        ({"kind": "fork", "prompt_ids": [1], "forced": [1.5]}, "forced must be a list"),
        ({"kind": "fork", "prompt_ids": [1], "forced": [True]}, "forced must be a list"),
        ({"kind": "fork", "prompt_ids": [1], "forced": {"0": 1}}, "forced must be a list"),
        ({"kind": "fork", "prompt_ids": [1], "forced": [1], "known": 2}, "known must be"),
        ({"kind": "fork", "prompt_ids": [1], "forced": [1], "known": -1}, "known must be"),
        ({"kind": "fork", "prompt_ids": [1], "node": "x"}, "node must be"),
        ({"kind": "force", "prompt_ids": [1], "text": 5}, "text must be"),
        ({"kind": "force", "prompt_ids": [1], "text": "x" * 100_001}, "text must be"),
        ({"kind": "fork", "prompt_ids": [1], "seed": 5}, "seed must be"),
        ({"kind": "fork", "prompt_ids": [1], "seed": "-5"}, "seed must be"),
        ({"kind": "exchange"}, "no run to go on with"),
        ({"kind": "prompt", "forced": [1]}, "no run to go on with"),
        ({"kind": "exchange", "prompt_ids": [1], "parts": {"raw": 1}}, "parts must be a list"),
        ({"kind": "exchange", "prompt_ids": [1], "parts": [["raw", 0, 0]] * 10_001}, "parts must be a list"),
        ({"kind": "exchange", "prompt_ids": [1], "parts": ["raw"]}, "a part must be"),
        ({"kind": "exchange", "prompt_ids": [1], "parts": [["<b>", 0, 1]]}, "a part must be"),
        ({"kind": "exchange", "prompt_ids": [1], "parts": [["raw", 2, 1]]}, "a part must be"),
        ({"kind": "exchange", "prompt_ids": [1], "parts": [["raw", 0, "1"]]}, "a part must be"),
        ({"kind": "exchange", "prompt_ids": [1], "parts": [["raw", 0, 2], ["raw", 0, -1]]}, "a part must be"),
        ({"kind": "exchange", "prompt_ids": [1], "parts": [["raw", 0, 2]]}, "must have its 1 tokens in all"),
    ],
)
def test_wrong_orders_are_refused_in_a_sentence(said: Any, words: str) -> None:
    async def story() -> list[str]:
        async def work(outbox: Outbox) -> None:
            await go_on(serve(FakeEngine()), outbox, said, lambda anew: FORM, Session().transport)

        return [text async for text in messages(Session(), work)]

    with pytest.raises(ValueError, match=words):
        read_order(said)
    (op,) = ops_of(asyncio.run(story()))
    assert (op["op"], op["state"]) == ("status", "error")


@pytest.mark.parametrize("where", ["prompt_ids", "forced"])
@pytest.mark.parametrize("wrong", [-1, 10**6])
def test_ids_that_the_model_does_not_have_leave_the_screen_as_it_was(where: str, wrong: int) -> None:
    given: dict[str, tuple[int, ...]] = {"prompt_ids": (3,), "forced": (4,), where: (wrong,)}
    engine = FakeEngine()
    received = asyncio.run(ordered(serve(engine), Order("fork", **given)))
    (op,) = ops_of(received)
    assert op["state"] == "error"
    assert f"token {wrong}" in op["text"]
    assert engine.opened == 0


def test_limits_hold_for_orders_too() -> None:
    long = Order("fork", (3,) * 50, (4,), 0)
    (op,) = ops_of(asyncio.run(ordered(serve(FakeEngine(), max_prompt_tokens=20), long)))
    assert "reads at most 20" in op["text"]
    many = Order("fork", (3,), (4,) * 50, 0)
    (op,) = ops_of(asyncio.run(ordered(serve(FakeEngine(), max_new_tokens=40), many)))
    assert "max_tokens must be at most 40" in op["text"] or "writes at most 40" in op["text"]
