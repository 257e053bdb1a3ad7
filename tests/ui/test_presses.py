"""Presses of a page that overtake each other on their way to the server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from playground.ui.lanes import Bench
from playground.ui.stream import Outbox, Session, messages, press_of

STOPPED = {"op": "status", "state": "idle", "text": "Stopped."}


async def say(outbox: Outbox) -> None:
    outbox.post({"op": "status", "state": "writing", "text": "here"})
    await asyncio.sleep(0)


async def told(session: Session, press: int, work: Any = say) -> list[dict[str, Any]]:
    return [op async for text in messages(session, work, press) for op in json.loads(text)["ops"]]


def test_a_stop_that_comes_before_its_run_still_stops_it() -> None:
    async def story() -> None:
        session = Session()
        session.stop(press=2)
        assert await told(session, 1) == [STOPPED]  # the page would wait for ever without a word
        assert (await told(session, 3))[0]["text"] == "here"  # pressed after the stop

    asyncio.run(story())


def test_a_run_that_arrives_late_does_not_end_a_newer_one() -> None:
    async def story() -> None:
        session, gate = Session(), asyncio.Event()

        async def long(outbox: Outbox) -> None:
            await gate.wait()
            await say(outbox)

        newer = asyncio.ensure_future(told(session, 5, long))
        await asyncio.sleep(0)
        assert await told(session, 4) == []  # nothing is said into the newer run either
        gate.set()
        assert (await newer)[0]["text"] == "here"

    asyncio.run(story())


def test_a_run_that_is_stopped_before_its_first_moment_says_so() -> None:
    async def story() -> None:
        session, begun = Session(), []

        async def work(outbox: Outbox) -> None:
            begun.append(outbox)

        reading = asyncio.ensure_future(told(session, 1, work))
        await asyncio.sleep(0)  # the task is made and has not run yet
        session.stop(press=2)
        assert await asyncio.wait_for(reading, 5) == [STOPPED]
        assert not begun

    asyncio.run(story())


def test_a_halt_that_comes_before_its_comparison_still_stops_it() -> None:
    async def story() -> None:
        bench = Bench()
        bench.halt(press=2)
        assert bench.overtaken(1)
        assert not bench.overtaken(3)
        async with bench.turn(1, instead=True):
            assert await told(bench, 1) == [STOPPED]

    asyncio.run(story())


@pytest.mark.parametrize(
    "asked", [None, [], {}, {"press": "1"}, {"press": -1}, {"press": 1.5}, {"press": True}]
)
def test_who_sends_no_number_is_never_overtaken(asked: Any) -> None:
    session = Session()
    session.stop(press=7)
    assert press_of(asked) == 0
    assert not session.overtaken(press_of(asked))
