"""Runs of labs for visitors: what a stranger may ask, what the board is told, and what Stop leaves."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from playground.codec import to_plain
from playground.engine.local import LocalEngine
from playground.experiments.bench import Bench as Measuring
from playground.experiments.lab import Progress, record, run_lab
from playground.findings.report import LabResult
from playground.trace import SamplingParams
from playground.ui.labs import Labs, labs_json
from playground.ui.lanes import Bench
from playground.ui.run import Server
from playground.ui.visitors import Visitor, Visitors
from tests.engines import engine_of
from tests.experiments.toy import TOY, Options
from tests.fakes import loaded, scripted, tiny_llama
from tests.ui.asking import Received, named, serve, served
from tests.ui.fake_engine import FakeEngine

LABS = {"toy": TOY}
BY = Visitor("", "10.0.0.1")


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    with engine_of(tiny_llama()) as made:
        yield made


@pytest.fixture
def slow() -> Iterator[LocalEngine]:
    """Twenty milliseconds a pass."""
    made = LocalEngine(loaded(scripted([120] * 200, prompt_length=3, delay=0.02)))
    yield made
    made.close()


async def measured(
    server: Server, asked: Any, own: Bench | None = None, by: Visitor = BY, labs: Labs | None = None
) -> Received:
    own, labs = own or Bench(), labs or Labs(LABS)
    async with own.turn(instead=True):
        return await served(own, lambda outbox: labs.measure(server, outbox, own, asked, by))


def run(server: Server, asked: Any) -> Received:
    return asyncio.run(measured(server, asked))


def blocks_of(ops: Received) -> list[Any]:
    """The blocks that the board shows in the end."""
    shown: dict[int, Any] = {}
    for op in named(ops, "result"):
        shown |= dict(op["blocks"])
        shown = {place: block for place, block in shown.items() if place < op["size"]}
    return [shown[place] for place in sorted(shown)]


def last_record(ops: Received) -> Any:
    [op] = named(ops, "record")
    return json.loads(op["text"])


def test_labs_are_listed_with_their_forms() -> None:
    [op] = json.loads(labs_json(LABS, serve(FakeEngine(), dtype="bfloat16")))["ops"]
    [lab] = op["labs"]
    assert (lab["name"], lab["question"], lab["method"]) == ("toy", TOY.question, list(TOY.method))
    assert [option["name"] for option in lab["options"]] == ["tokens", "warmth", "question", "seeds", "raw"]
    assert op["flags"] == [["--dtype", "bfloat16"]]


def test_a_folder_of_the_server_is_not_told_to_strangers() -> None:
    server = serve(FakeEngine(), model="/home/me/model", hosted=True)
    assert "/home/me" not in labs_json(LABS, server)
    assert "/home/me" in labs_json(LABS, serve(FakeEngine(), model="/home/me/model"))


def test_the_page_gets_what_the_command_line_gets(engine: LocalEngine) -> None:
    ops = run(serve(engine), {"lab": "toy", "options": {"tokens": 5, "warmth": 1, "seeds": [3, 4]}})
    *_, last = run_lab(TOY, Measuring(engine), Options(tokens=5, warmth=1.0, seeds=(3, 4)))
    assert isinstance(last, LabResult)
    wanted, told = to_plain(record(TOY, last)), last_record(ops)
    timed = ("seconds", "created")
    assert {k: v for k, v in told.items() if k not in timed} == {
        k: v for k, v in wanted.items() if k not in timed
    }
    assert named(ops, "result")[-1]["complete"]
    assert ops[-1] == {"op": "status", "state": "idle", "text": ""}
    assert [block["kind"] for block in blocks_of(ops)] == ["say", "table", "chart", "strips", "quote"]


def test_a_block_that_has_not_changed_is_sent_once() -> None:
    def once(bench: Any, options: Any) -> Iterator[Any]:
        found = None
        for event in TOY.measure(bench, options):
            if not isinstance(event, Progress):
                found = event
            yield event
            if found is not None:
                for _ in range(3):  # the same findings again
                    threading.Event().wait(0.3)
                    yield found
                return

    engine = LocalEngine(loaded(tiny_llama()))
    try:
        lab = replace(TOY, measure=once)
        asked = {"lab": "toy", "options": {"seeds": [1]}}
        ops = asyncio.run(measured(serve(engine), asked, labs=Labs({"toy": lab})))
    finally:
        engine.close()
    results = named(ops, "result")
    assert len(results) > 1
    assert len(results[0]["blocks"]) == 5
    assert all(not op["blocks"] for op in results[1:])


def test_what_is_found_while_the_page_is_told_of_something_else_is_told_too(engine: LocalEngine) -> None:
    telling, over = threading.Event(), threading.Event()

    def hasty(bench: Any, options: Any) -> Iterator[Any]:
        for event in TOY.measure(bench, options):
            yield event
            if not isinstance(event, Progress):
                assert telling.wait(20), "the first answer was told"
        over.set()

    def slowly(found: Any) -> Any:
        telling.set()
        if len(found.answers) == 1:
            assert over.wait(20), "all was measured before the first answer had been told"
            time.sleep(0.3)  # until the measuring thread has ended
        return TOY.report(found)

    labs = Labs({"toy": replace(TOY, measure=hasty, report=slowly)})
    ops = asyncio.run(measured(serve(engine), {"lab": "toy", "options": {"seeds": [1, 2]}}, labs=labs))
    assert [op["complete"] for op in named(ops, "result")] == [False, True]
    assert len(blocks_of(ops)[1]["rows"]) == 2


@pytest.mark.parametrize(
    ("options", "option", "why"),
    [
        ({"tokens": 0}, "tokens", "tokens must be a whole number in [1, 50], got 0"),
        ({"tokens": None}, "tokens", "tokens must be a whole number"),
        ({"tokens": 3, "seeds": ["x"]}, "seeds", "seeds must be a whole number in [0, 99], got 'x'"),
        ({"question": ""}, "question", "question must be a text of 1 to 20 characters"),
        ({"spoon": 1}, "spoon", "has no option 'spoon'"),
    ],
)
def test_a_bad_option_is_refused_by_name(engine: LocalEngine, options: Any, option: str, why: str) -> None:
    ops = run(serve(engine), {"lab": "toy", "options": options})
    [op] = ops
    assert (op["op"], op["option"]) == ("refused", option)
    assert why in op["why"]


@pytest.mark.parametrize("asked", [None, [], {}, {"lab": 3}, {"lab": "spoon"}, {"lab": "toy", "options": 3}])
def test_what_is_no_run_of_a_lab_is_refused_in_a_sentence(engine: LocalEngine, asked: Any) -> None:
    [op] = run(serve(engine), asked)
    assert (op["op"], op["state"]) == ("status", "error")


def test_an_engine_that_cannot_be_measured_is_said() -> None:
    ops = run(serve(FakeEngine()), {"lab": "toy"})
    assert ops[-1]["state"] == "error"
    assert ops[-1]["text"].startswith("Not available here: ")


def test_limits_of_the_server_hold(engine: LocalEngine) -> None:
    ops = run(serve(engine, max_new_tokens=2), {"lab": "toy", "options": {"tokens": 3}})
    assert ops[-1]["state"] == "error"
    assert "2 are the limit here" in ops[-1]["text"]
    assert not named(ops, "record")


def test_a_lab_that_fails_keeps_what_it_found(engine: LocalEngine) -> None:
    def fails(bench: Any, options: Any) -> Iterator[Any]:
        yield from TOY.measure(bench, options)
        raise ValueError("out of coffee")

    labs = Labs({"toy": replace(TOY, measure=fails)})
    ops = asyncio.run(measured(serve(engine), {"lab": "toy"}, labs=labs))
    assert ops[-1] == {"op": "status", "state": "error", "text": "out of coffee"}
    assert not last_record(ops)["complete"]
    assert len(last_record(ops)["found"]["answers"]) == 2


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came")


def test_stop_keeps_what_was_measured_and_frees_all(slow: LocalEngine) -> None:
    async def visit() -> tuple[Received, Server]:
        server, own, ops = serve(slow, 2), Bench(), []
        labs = Labs(LABS)
        asked = {"lab": "toy", "options": {"tokens": 40, "seeds": [1, 2, 3, 4]}}

        async def work(outbox: Any) -> None:
            await labs.measure(server, outbox, own, asked, BY)

        async def listen() -> None:
            async with own.turn(instead=True):
                ops.extend(await served(own, work))

        task = asyncio.ensure_future(listen())
        await until(lambda: own.stopper is not None and slow.status()["running"] == 1)
        await until(lambda: slow.model.passes >= 60)  # the first answer is there, and others are not
        own.halt()
        await task
        await until(lambda: slow.status()["running"] == 0)  # its pass may be under way
        return ops, server

    ops, server = asyncio.run(visit())
    assert ops[-1] == {"op": "status", "state": "idle", "text": "Stopped."}
    told = last_record(ops)
    assert not told["complete"]
    assert 1 <= len(told["found"]["answers"]) < 4
    assert server.seats.taken == 0


def test_a_visitor_who_leaves_stops_it(slow: LocalEngine) -> None:
    async def visit() -> None:
        server = serve(slow, 2)
        asked = {"lab": "toy", "options": {"tokens": 50, "seeds": [1, 2, 3, 4]}}
        task = asyncio.ensure_future(measured(server, asked))
        await until(lambda: slow.status()["running"] == 1)
        assert server.seats.taken == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await until(lambda: server.seats.taken == 0)
        await until(lambda: slow.status() == {"running": 0, "waiting": 0, "free": 16})

    asyncio.run(visit())


def test_the_second_who_asks_waits_for_the_first(slow: LocalEngine) -> None:
    async def visit() -> tuple[Received, Received]:
        server, labs = serve(slow, 4), Labs(LABS)
        asked = {"lab": "toy", "options": {"tokens": 20, "seeds": [1]}}
        first = asyncio.ensure_future(measured(server, asked, labs=labs))
        await until(lambda: server.seats.taken == 1)
        second = await measured(server, asked, by=Visitor("", "10.0.0.2"), labs=labs)
        return await first, second

    first, second = asyncio.run(visit())
    waits = [op["text"] for op in named(second, "status") if op["state"] == "waiting"]
    assert waits == [
        "Another lab is being measured, and two at once would disturb each other: you are number 1."
    ]
    assert last_record(first)["others"] == last_record(second)["others"] == 0
    assert last_record(first)["found"] == last_record(second)["found"]


def test_limits_of_a_visitor_hold(slow: LocalEngine) -> None:
    async def visit() -> Received:
        server = replace(serve(slow, 4), visitors=Visitors(most_runs=1))
        with server.visitors.run(BY.address):
            return await measured(server, {"lab": "toy"})

    ops = asyncio.run(visit())
    assert ops[-1]["state"] == "error"
    assert "1 runs at once" in ops[-1]["text"]


def test_lanes_of_others_are_told(slow: LocalEngine) -> None:
    params = SamplingParams(max_tokens=150, ignore_eos=True, seed=1)
    with slow.stream(slow.raw("abc"), params) as busy:
        next(iter(busy))
        ops = run(serve(slow), {"lab": "toy", "options": {"tokens": 10, "seeds": [1]}})
    assert named(ops, "result")[-1]["others"] == 1
