"""Step, pace and pause: the same tokens as in one go, and nothing held while a visitor reads."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from playground.ui.branch import NEW_RUN, Order, read_order
from playground.ui.form import Form
from playground.ui.stream import Session
from tests.ui.fake_engine import FakeEngine
from tests.ui.test_branch import ids, ordered, prompt_ids, rows
from tests.ui.test_run import FORM, collect, named, ops_of, serve, until


def text_of(received: list[str]) -> str:
    """What the strip would have let through, step by step."""
    return "".join(row["x"] if "x" in row else bytes.fromhex(row["b"]).decode() for row in rows(received))


def test_a_step_makes_one_pass_and_waits() -> None:
    engine = FakeEngine()
    server = serve(engine)
    received = asyncio.run(ordered(server, Order("step")))
    assert [op["op"] for op in ops_of(received) if op["op"] not in ("status", "turn")] == [
        "reset", "prompt", "tokens", "pause",
    ]  # fmt: skip
    assert len(rows(received)) == engine.steps_made == 1
    assert ops_of(received)[-1]["state"] == "paused"
    assert server.seats.free == 2
    assert engine.closed == engine.opened == 1


@pytest.mark.parametrize("stops", [(), (" played a role",), (" has played a city",)])
def test_step_by_step_comes_to_the_same_as_in_one_go(stops: tuple[str, ...]) -> None:
    form = Form(FORM.said, replace(FORM.params, temperature=0, stop=stops))
    server = serve(FakeEngine(answer="It has played a role in the"))
    whole = asyncio.run(collect(server, form=form))
    last = asyncio.run(ordered(server, Order("step"), form))
    prompt, made, texts, branches = prompt_ids(last), rows(last), [text_of(last)], 0
    while not named(last, "end"):
        known = tuple(row["k"] for row in made)
        last = asyncio.run(ordered(server, Order("step", prompt, known, len(known)), form))
        assert len(rows(last)) == 1
        made += rows(last)
        texts.append(text_of(last))
        branches += len(named(last, "branch"))
    plain = ("i", "k", "b", "d", "r", "z")
    assert [[row[key] for key in plain] for row in made] == [
        [row[key] for key in plain] for row in rows(whole)
    ]
    assert branches == len(made) - 1
    if not stops:  # the fake engine holds nothing back, the page does
        assert "".join(texts) == text_of(whole)
        assert "👩🏽" in "".join(texts)


def test_a_pace_gives_the_same_tokens_by_a_run_each() -> None:
    engine = FakeEngine()
    server = serve(engine)
    whole = asyncio.run(collect(server))
    opened = engine.opened
    session = Session()
    session.transport.pace = 1000.0
    paced = asyncio.run(ordered(server, NEW_RUN, session=session))
    assert ids(paced) == ids(whole)
    assert text_of(paced) == text_of(whole)
    assert engine.opened - opened == len(ids(whole))
    assert [op["reason"] for op in named(paced, "end")] == ["end_token"]
    assert len(named(paced, "prompt")) == 1


def test_between_two_tokens_no_seat_is_held() -> None:
    async def story() -> None:
        engine = FakeEngine()
        server, session = serve(engine, lanes=1), Session()
        session.transport.pace = 0.01  # the next token is due in minutes
        slow = asyncio.ensure_future(ordered(server, NEW_RUN, session=session))
        await until(lambda: engine.steps_made == 1 and server.seats.free == 1)
        assert named(await collect(server), "end")  # another visitor's whole run
        assert engine.opened == engine.closed == 2
        session.pause()
        assert named(await slow, "pause")

    asyncio.run(story())


@pytest.mark.parametrize("paces", [(0.01, 0.0), (0.0, 500.0)])
def test_the_pace_can_change_while_it_runs(paces: tuple[float, float]) -> None:
    async def story() -> tuple[list[str], int]:
        engine = FakeEngine(step_s=0.005)
        session = Session()
        session.transport.pace = paces[0]
        server = serve(engine)
        reading = asyncio.ensure_future(ordered(server, NEW_RUN, session=session))
        await until(lambda: engine.steps_made >= 1 and (paces[0] == 0 or server.seats.free == 2))
        session.transport.pace = paces[1]
        return await reading, engine.opened

    received, opened = asyncio.run(story())
    whole = asyncio.run(collect(serve(FakeEngine())))
    assert ids(received) == ids(whole)
    assert text_of(received) == text_of(whole)
    assert opened > 1


def test_pause_keeps_what_was_made_and_says_so() -> None:
    async def story() -> tuple[list[str], Any]:
        gate = threading.Semaphore(5)
        engine, session = FakeEngine(gate=gate), Session()
        server = serve(engine)
        reading = asyncio.ensure_future(ordered(server, NEW_RUN, session=session))
        await until(lambda: engine.steps_made == 5)
        session.pause()
        received = await reading
        gate.release(100)
        await until(lambda: engine.closed == 1 and server.seats.free == 2)
        return received, await ordered(server, NEW_RUN, session=session)

    received, after = asyncio.run(story())
    assert 0 < len(rows(received)) <= 5  # the last ones may have been on their way
    assert named(received, "pause")
    assert not named(received, "end")
    assert ops_of(received)[-1] == {"op": "status", "state": "paused", "text": "Paused."}
    assert named(after, "end")  # the next one is not paused


def test_pausing_a_run_that_waits_for_its_turn_leaves_nothing_paused() -> None:
    async def story() -> list[str]:
        gate = threading.Semaphore(1)
        engine = FakeEngine(gate=gate)
        server, hers, his = serve(engine, lanes=1), Session(), Session()
        running = asyncio.ensure_future(ordered(server, NEW_RUN, session=hers))
        await until(lambda: engine.steps_made == 1)
        waiting = asyncio.ensure_future(ordered(server, NEW_RUN, session=his))
        await until(lambda: server.seats.waiting == 1)
        his.pause()
        told = await waiting
        hers.stop()
        gate.release(100)
        await running
        return told

    received = asyncio.run(story())
    assert ops_of(received)[-1] == {"op": "status", "state": "idle", "text": "Stopped."}
    assert not named(received, "pause")


def test_forced_text_can_be_written_and_then_wait() -> None:
    engine = FakeEngine()
    server = serve(engine)
    whole = asyncio.run(collect(server))
    prompt, answer = prompt_ids(whole), ids(whole)
    typed = engine.vocabulary.encode(" Lyon has been")
    written = Order("force", prompt, tuple(answer[:4]), 4, text=" Lyon has been", wait=True)
    opened = engine.opened
    waits = asyncio.run(ordered(server, written))
    assert ids(waits) == typed
    assert [row["d"][0] for row in rows(waits)] == ["f"] * len(typed)
    assert [op["op"] for op in ops_of(waits)][-2:] == ["pause", "status"]
    assert ops_of(waits)[-1] == {
        "op": "status", "state": "paused", "text": "What you wrote is there. The run waits.",
    }  # fmt: skip
    assert not named(waits, "end")
    assert (engine.opened - opened, server.seats.free) == (1, 2)
    given = (*answer[:4], *typed)
    later = asyncio.run(ordered(server, Order("play", prompt, given, len(given))))
    at_once = asyncio.run(ordered(server, replace(written, wait=False)))
    assert ids(waits) + ids(later) == ids(at_once)
    assert text_of(waits) + text_of(later) == text_of(at_once)


@pytest.mark.parametrize("kept", [0, 4])
def test_an_edit_that_only_cuts_waits_without_a_pass(kept: int) -> None:
    engine = FakeEngine()
    server = serve(engine)
    whole = asyncio.run(collect(server))
    opened = engine.opened
    order = Order("edit", prompt_ids(whole), tuple(ids(whole)[:kept]), kept, wait=True)
    received = asyncio.run(ordered(server, order))
    assert [op["op"] for op in ops_of(received) if op["op"] != "status"] == ["branch", "pause"]
    assert named(received, "branch")[0]["at"] == kept
    assert ops_of(received)[-1]["state"] == "paused"
    assert engine.opened == opened


def test_forced_text_that_ends_the_answer_ends_it_though_it_was_to_wait() -> None:
    server = serve(FakeEngine())
    whole = asyncio.run(collect(server))
    form = Form(FORM.said, replace(FORM.params, stop=(" Lyon",)))
    order = Order("force", prompt_ids(whole), tuple(ids(whole)[:4]), 4, text=" Lyon has", wait=True)
    received = asyncio.run(ordered(server, order, form))
    assert [op["reason"] for op in named(received, "end")] == ["stop_string"]
    assert not named(received, "pause")


def test_only_true_means_wait() -> None:
    asked = {"kind": "force", "prompt_ids": [2], "forced": [3], "known": 1, "text": "x"}
    assert not read_order(asked).wait
    assert read_order({**asked, "wait": True}).wait
    assert not any(read_order({**asked, "wait": said}).wait for said in (1, "true", None, [], {}))
