"""Limits of each visitor of a hosted server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.types import Message

from playground.ui.visitors import Busy, Door, Visitors


def test_runs_are_counted_by_visitor() -> None:
    visitors = Visitors(most_runs=3)
    with visitors.run("1.1.1.1", 2), visitors.run("2.2.2.2", 3):
        with (
            visitors.run("1.1.1.1"),
            pytest.raises(Busy, match="3 runs at once and you have 3"),
            visitors.run("1.1.1.1"),
        ):
            pass
        with visitors.run("1.1.1.1"):
            pass
    with pytest.raises(Busy, match="this asks for 4"), visitors.run("1.1.1.1", 4):
        pass
    assert not visitors._runs  # nothing is remembered of who left


def test_a_failure_inside_gives_the_place_back() -> None:
    visitors = Visitors(most_calls=1)
    for _ in range(3):
        with pytest.raises(KeyError), visitors.call("1.1.1.1"):
            raise KeyError
    assert not visitors._calls


def test_without_limits_nobody_waits() -> None:
    visitors = Visitors()
    for _ in range(100):
        visitors.run(None).__enter__()


def asked(door: Door, path: str, method: str = "POST", client: Any = ("1.1.1.1", 9)) -> Any:
    """What the door answers: (status, body), once it has."""

    async def work() -> tuple[int, bytes]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request"}

        await door({"type": "http", "method": method, "path": path, "client": client}, receive, send)
        return sent[0]["status"], sent[1]["body"]

    return work()


def test_the_door_counts_calls_in_flight() -> None:
    open_door = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "POST" and "/assets" not in scope["path"]:
            await open_door.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def work() -> None:
        door = Door(app, Visitors(most_calls=2))
        slow = [asyncio.ensure_future(asked(door, "/gradio_api/component_server")) for _ in range(2)]
        await asyncio.sleep(0)
        status, body = await asked(door, "/gradio_api/call/generate")
        assert status == 429
        assert "2 requests at once" in json.loads(body)["detail"]
        assert (await asked(door, "/", "GET"))[0] == 200  # the page itself, and what it is made of
        assert (await asked(door, "/assets/x.js", "POST"))[0] == 200
        other = asyncio.ensure_future(asked(door, "/gradio_api/call/generate", client=("2.2.2.2", 1)))
        open_door.set()
        assert [await each for each in (*slow, other)] == [(200, b"ok")] * 3
        assert (await asked(door, "/gradio_api/component_server"))[0] == 200

    asyncio.run(work())
