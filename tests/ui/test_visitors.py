"""Limits of each visitor of a hosted server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from playground.ui.visitors import MOST_BODY, Busy, Door, Visitors, read_owner


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


def asked(
    door: Door, path: str, method: str = "POST", client: Any = ("1.1.1.1", 9), headers: Any = ()
) -> Any:
    """What the door answers: (status, body), once it has."""

    async def work() -> tuple[int, bytes]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request"}

        await door(
            {"type": "http", "method": method, "path": path, "client": client, "headers": headers},
            receive,
            send,
        )
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


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([(b"content-length", b"1000")], 200),
        ([(b"content-length", b"%d" % MOST_BODY)], 200),
        ([(b"content-length", b"%d" % (MOST_BODY + 1))], 413),
        ([(b"content-length", b"-1")], 413),
        ([(b"transfer-encoding", b"chunked")], 413),
    ],
)
def test_a_request_without_bounds_is_not_read(headers: Any, status: int) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    found, body = asyncio.run(asked(Door(app, Visitors()), "/gradio_api/queue/join", headers=headers))
    assert found == status
    assert body == b"ok" or "at most 41,943,040 bytes" in json.loads(body)["detail"]


def test_saved_runs_are_counted_by_the_hour() -> None:
    now = 0.0
    visitors = Visitors(most_saves=2, clock=lambda: now)
    visitors.save("1.1.1.1")
    now = 600.0
    visitors.save("1.1.1.1")
    with pytest.raises(Busy, match=r"keeps 2 runs of each visitor in an hour.*come back in 50 minutes"):
        visitors.save("1.1.1.1")
    visitors.save("2.2.2.2")
    now = 3540.0
    with pytest.raises(Busy, match="in 1 minute\\."):
        visitors.save("1.1.1.1")
    now = 3600.0  # the first is an hour old
    visitors.save("1.1.1.1")
    now = 10_000.0
    visitors.save("3.3.3.3")
    assert list(visitors._saves) == ["3.3.3.3"]  # nothing is remembered of who left


def test_an_owner_is_what_a_page_names_or_drawn() -> None:
    assert read_owner({"owner": "0f" * 16}) == read_owner("0f" * 16) == "0f" * 16
    for said in (None, {}, {"owner": "0F" * 16}, {"owner": "0f" * 15}, {"owner": "0f" * 16 + "\n"}, 5, [1]):
        owner = read_owner(said)
        assert len(owner) == 32
        assert owner != read_owner(said)
