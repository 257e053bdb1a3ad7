"""Limits of each visitor of a hosted server."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from playground.ui.visitors import MOST_API_BODY, MOST_BODY, Busy, Door, Visitors, read_owner


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
        if scope["method"] == "POST":
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


@pytest.mark.parametrize(
    "path", ["/gradio_api/run/trace", "/gradio_api/call/render", "/play/gradio_api/api/trace/"]
)
def test_the_api_takes_less_since_it_is_kept(path: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    for size, status in ((MOST_API_BODY, 200), (MOST_API_BODY + 1, 413)):
        headers = [(b"content-length", b"%d" % size)]
        assert asyncio.run(asked(Door(app, Visitors()), path, headers=headers))[0] == status


def saved(visitors: Visitors, address: str) -> None:
    with visitors.save(address):
        pass


def test_saved_runs_are_counted_by_the_hour() -> None:
    now = 0.0
    visitors = Visitors(most_saves=2, clock=lambda: now)
    saved(visitors, "1.1.1.1")
    now = 600.0
    saved(visitors, "1.1.1.1")
    with pytest.raises(Busy, match=r"keeps 2 runs of each visitor in an hour.*come back in 50 minutes"):
        saved(visitors, "1.1.1.1")
    saved(visitors, "2.2.2.2")
    now = 3540.0
    with pytest.raises(Busy, match="in 1 minute\\."):
        saved(visitors, "1.1.1.1")
    now = 3600.0  # the first is an hour old
    saved(visitors, "1.1.1.1")
    now = 10_000.0
    saved(visitors, "3.3.3.3")
    assert list(visitors._saves._times) == ["3.3.3.3"]  # nothing is remembered of who left


def test_a_run_that_could_not_be_saved_does_not_count() -> None:
    visitors = Visitors(most_saves=1)
    for _ in range(3):
        with pytest.raises(OSError, match="full"), visitors.save("1.1.1.1"):
            raise OSError("full")
    saved(visitors, "1.1.1.1")
    with pytest.raises(Busy):
        saved(visitors, "1.1.1.1")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2:3::1", "2001:db8:1:2:ffff::9", True),  # whoever has one of these has all of them
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("::ffff:1.2.3.4", "1.2.3.4", True),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.5", False),
        ("1.2.3.4", "1.2.3.5", False),
        ("", "testclient", False),
    ],
)
def test_visitors_are_told_apart_by_what_they_can_choose_from(one: str, other: str, same: bool) -> None:
    visitors = Visitors(most_calls=1, most_runs=1, most_saves=1)
    saved(visitors, one)
    with visitors.run(one):
        for count in (visitors.run, visitors.save, visitors.call):
            with pytest.raises(Busy) if same and count != visitors.call else nullcontext(), count(other):
                pass


def test_a_password_may_be_guessed_so_often() -> None:
    now, right = 0.0, False

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200 if right else 400, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    door = Door(app, Visitors(clock=lambda: now))  # also where visitors have no other limits
    tries = [asyncio.run(asked(door, path))[0] for path in ("/login", "/play/login/") * 6]
    assert tries == [400] * 10 + [429] * 2
    assert asyncio.run(asked(door, "/login", client=("2.2.2.2", 1)))[0] == 400
    now, right = 601.0, True
    assert [asyncio.run(asked(door, "/login"))[0] for _ in range(30)] == [200] * 30


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/upload", "/play/gradio_api/upload/", "/gradio_api/deep_link", "/monitoring",
        "/gradio_api/process_recording", "/monitoring/summary", "/gradio_api/proxy=http://example.org/",
        "/gradio_api/stream/a/b/1/x.ts",
        "/gradio_api/vibe-code", "/gradio_api/undo-vibe-edit", "/gradio_api/run-history/connect",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_the_page_has_no_use_for_is_closed(path: str, method: str) -> None:
    async def app(*called: Any) -> None:
        raise AssertionError("it came through")

    assert asyncio.run(asked(Door(app, Visitors()), path, method))[0] == 404


def test_an_owner_is_what_a_page_names_or_drawn() -> None:
    assert read_owner({"owner": "0f" * 16}) == read_owner("0f" * 16) == "0f" * 16
    for said in (None, {}, {"owner": "0F" * 16}, {"owner": "0f" * 15}, {"owner": "0f" * 16 + "\n"}, 5, [1]):
        owner = read_owner(said)
        assert len(owner) == 32
        assert owner != read_owner(said)
