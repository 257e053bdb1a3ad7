"""A server for strangers, asked over HTTP: its password, its limits, and whose is whose."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from playground.settings import Settings
from playground.trace import SamplingParams, Trace
from playground.ui.form import Form
from playground.ui.host import Host, load_engine
from playground.ui.lanes import Bench, compare
from playground.ui.page import build, launch_options
from playground.ui.recorded import recorded_trace
from playground.ui.run import Server, generate
from playground.ui.serving import access, make_server, without_files
from playground.ui.stream import Session, messages
from playground.ui.visitors import Visitor
from tests.ui.asking import asking
from tests.ui.fake_engine import FakeEngine

ASKED = json.dumps([{"role": "user", "content": "Hi"}])


@contextlib.contextmanager
def served(folder: Path, engine: FakeEngine, **settings: Any) -> Iterator[tuple[str, Server]]:
    """The address of a page for strangers."""
    server = make_server(Host(lambda progress: engine), Settings(store=str(folder), hosted=True, **settings))
    page = without_files(build(server))
    _, url, _ = page.launch(
        server_name="127.0.0.1", server_port=None, prevent_thread_lock=True, quiet=True, **access(server),
        **launch_options(),
    )  # fmt: skip
    try:
        yield url, server
    finally:
        page.close()


def status(url: str, data: bytes | None = None) -> int:
    headers = {"content-type": "application/json"} if data and data[:1] == b"{" else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_password_closes_the_page_and_the_api(tmp_path: Path) -> None:
    with served(tmp_path, FakeEngine(), password="pässword") as (url, _):
        assert status(url + "config") == 401
        assert status(url + "gradio_api/call/tokenize", b'{"data": ["Hi"]}') == 401
        assert status(url + "gradio_api/component_server", b"{}") == 401
        wrong = urllib.parse.urlencode({"username": "me", "password": "other"}).encode()
        assert status(url + "login", wrong) == 400
        assert status(url + "login", b"username=me&password=%ED%A0%80") == 400  # half a character
        client = Client(url, auth=("whoever", "pässword"), verbose=False)
        assert client.predict("Hi", api_name="/tokenize")
        assert status(url + "health") == 200  # which says nothing of anybody


def test_nothing_runs_or_is_told_without_the_password(tmp_path: Path) -> None:
    """Of Gradio's routes those that answer without it know nothing of a run."""
    engine = FakeEngine(gate=threading.Semaphore(0))
    with served(tmp_path, engine, password="secret") as (url, _):
        client = Client(url, auth=("whoever", "secret"), verbose=False)
        job = client.submit(json.dumps("my own words"), "{}", api_name="/generate")
        next(iter(job))  # it has begun
        assert engine.gate is not None
        asked = ("", "?view=api", "openapi.json", "theme.css", "manifest.json", "health", "gradio_api/app_id")
        for path in asked:
            with urllib.request.urlopen(url + path) as answer:
                assert b"my own" not in answer.read(), path
        closed = (
            "config", "info", "runs", "call/generate/x", f"queue/data?session_hash={client.session_hash}",
            "queue/status", "file=README.md", "dev/reload", "run-history/records",
            f"deep_link?session_hash={client.session_hash}", "upload_progress?upload_id=a",
        )  # fmt: skip
        for path in closed:
            assert status(url + "gradio_api/" + path) in (401, 404), path
        body = {"data": ["Hi"], "session_hash": client.session_hash, "fn_index": 0, "event_id": "x"}
        asking = json.dumps(body).encode()
        for path in (
            "run/tokenize", "api/tokenize", "call/tokenize", "call/v2/tokenize", "queue/join", "upload",
            "component_server", "process_recording", "stream/x", "run-history/connect",
        ):  # fmt: skip
            assert status(url + "gradio_api/" + path, asking) in (401, 404), path
        assert status(url + "gradio_api/cancel", asking) == 200  # of an event that nobody has
        engine.gate.release(1000)
        assert job.result(timeout=20)["reason"] == "end_token"
        assert engine.opened == 1


@pytest.mark.parametrize("where", ["elsewhere", "/etc/hostname", "README.md"])
def test_no_file_is_read_that_a_request_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Gradio takes such a value for an uploaded file, and fetches it."""
    fetched: list[Any] = []

    async def fetch(*asked: Any, **more: Any) -> str:
        fetched.append(asked)
        return str(tmp_path / "fetched")

    monkeypatch.setattr("gradio.processing_utils.async_ssrf_protected_download", fetch)
    with served(tmp_path, FakeEngine()) as (url, _):
        path = "http://example.org/file" if where == "elsewhere" else where
        for value in ({"path": path}, {"path": "x", "url": path}, [{"deep": {"path": path}}]):
            named = json.loads(json.dumps(value).replace("}", ', "meta": {"_type": "gradio.FileData"}}', 1))
            asked = json.dumps({"data": [named]}).encode()
            assert status(url + "gradio_api/run/tokenize", asked) == 500, value
    assert fetched == []


def test_why_a_model_cannot_be_loaded_names_no_place(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="log says why") as told_strangers:
        load_engine(Settings(model=str(tmp_path / "none"), hosted=True), lambda text, share: None)
    assert str(tmp_path) not in str(told_strangers.value)
    with pytest.raises(Exception, match=str(tmp_path)):
        load_engine(Settings(model=str(tmp_path / "none")), lambda text, share: None)


def test_a_saved_run_is_read_over_the_api(tmp_path: Path) -> None:
    with served(tmp_path, FakeEngine()) as (url, server):
        assert server.store is not None
        id = server.store.save(recorded_trace())
        client = Client(url, verbose=False)
        assert Trace.from_json(json.dumps(client.predict(id, api_name="/trace"))) == recorded_trace()
        with pytest.raises(AppError, match="not kept here"):
            client.predict("0" * 32, api_name="/trace")


def test_the_api_obeys_the_limits_of_the_page_and_keeps_visitors_apart(tmp_path: Path) -> None:
    engine = FakeEngine(gate=threading.Semaphore(0))
    with served(tmp_path, engine, visitor_runs=1, max_lanes=4) as (url, _):
        client = Client(url, verbose=False)
        first = client.submit(ASKED, "{}", api_name="/generate")
        next(iter(first))  # it has begun
        with pytest.raises(AppError, match="1 runs at once and you have 1"):
            client.predict(ASKED, "{}", api_name="/generate")
        assert engine.gate is not None
        engine.gate.release(1000)
        assert first.result(timeout=20)["event"] == "end"
        assert client.predict(ASKED, "{}", api_name="/generate")["event"] == "end"
        assert len(set(engine.owners)) == len(engine.owners) == 2
        assert all(map(bool, engine.owners))


def posted(url: str, name: str, *values: Any) -> Any:
    """What the API answers to a request: for /call/ the id of the event, for /run/ the values."""
    request = urllib.request.Request(
        f"{url}gradio_api/{name}", json.dumps({"data": values}).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def told(url: str, name: str, event: str) -> tuple[str, Any]:
    """The last event of a call, and what it says."""
    with urllib.request.urlopen(f"{url}gradio_api/call/{name}/{event}", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return lines[-3].removeprefix("event: "), json.loads(lines[-2].removeprefix("data: "))


@pytest.mark.parametrize(("name", "said"), [("tokenize", "Hi"), ("render", ASKED)])
def test_calls_are_counted_while_they_are_worked_on(tmp_path: Path, name: str, said: str) -> None:
    """The request that asks for one is answered before, and counts no longer."""
    engine, free = FakeEngine(), threading.Event()
    encode = engine.vocabulary.encode

    def slowly(text: str) -> list[int]:
        assert free.wait(20)
        return encode(text)

    engine.vocabulary.encode = slowly  # type: ignore[method-assign]
    with served(tmp_path, engine, visitor_calls=2) as (url, _):
        events = []
        with contextlib.suppress(urllib.error.HTTPError):  # refused at the door
            for _ in range(7):
                events.append(posted(url, f"call/{name}", said)["event_id"])
        ends = [told(url, name, event) for event in events[2:]]
        assert [end for end, _ in ends] == ["error"] * len(ends)
        assert all("2 requests at once and you have 2" in why["error"] for _, why in ends)
        free.set()
        assert [told(url, name, event)[0] for event in events[:2]] == ["complete"] * 2
        deadline = time.monotonic() + 5
        while status(url + "gradio_api/run/tokenize", b'{"data": ["Hi"]}') != 200:  # the places come back
            assert time.monotonic() < deadline


def test_b53_who_waits_for_a_seat_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    engine = FakeEngine(gate=threading.Semaphore(0))
    with served(tmp_path, engine, visitor_runs=100, max_lanes=2) as (url, server):
        events = [posted(url, "call/generate", ASKED, "{}")["event_id"] for _ in range(50)]
        deadline = time.monotonic() + 20
        while server.seats.waiting < 48:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert told(url, "tokenize", posted(url, "call/tokenize", "Hi")["event_id"])[0] == "complete"
        assert server.seats.waiting == 48
        assert engine.gate is not None
        engine.gate.release(100_000)
        assert {told(url, "generate", event)[0] for event in events} == {"complete"}


def test_a_request_that_waits_for_its_answer_counts_once(tmp_path: Path) -> None:
    with served(tmp_path, FakeEngine(), visitor_calls=1) as (url, _):
        assert len(posted(url, "run/tokenize", "Hi")["data"][0]) == 2


def test_a_stranger_has_so_many_stop_strings(tmp_path: Path) -> None:
    """Each token is held against all of them, and every lane waits meanwhile."""
    with served(tmp_path, FakeEngine()) as (url, server):
        many = SamplingParams(stop=tuple(f"{number}~" for number in range(65)))
        with pytest.raises(AppError, match="at most 64 stop strings"):
            Client(url, verbose=False).predict(
                ASKED, json.dumps({"stop": list(many.stop)}), api_name="/generate"
            )
        with pytest.raises(ValueError, match="at most 64 stop strings"):
            server.check(many)
        assert server.check(replace(many, stop=many.stop[:64]))
    assert replace(server, settings=Settings()).check(many)  # whoever runs it may take his time


def test_each_visitor_has_so_many_lanes(tmp_path: Path) -> None:
    """Of the Playground and of the Compare tab together, and others do not feel it."""
    engine = FakeEngine(gate=threading.Semaphore(0))
    server = make_server(
        Host(lambda progress: engine), Settings(store=str(tmp_path), hosted=True, visitor_runs=2)
    )
    one, other = Visitor("a" * 32, "1.1.1.1"), Visitor("b" * 32, "2.2.2.2")
    form = Form([{"role": "user", "content": "Hi"}], SamplingParams(seed=1))

    async def says(by: Visitor, lanes: bool) -> list[str]:
        bench = Bench()
        sent = messages(
            bench if lanes else Session(),
            lambda outbox: (
                compare(server, outbox, bench, asking(), by)
                if lanes
                else generate(server, outbox, lambda: form, by=by)
            ),
        )
        ops = [op async for text in sent for op in json.loads(text)["ops"]]
        return [op["text"] for op in ops if op["op"] == "status"]

    async def story() -> None:
        going = asyncio.ensure_future(says(one, lanes=False))
        while not server.seats.taken:
            await asyncio.sleep(0.01)
        assert "2 runs at once and you have 1" in (await says(one, lanes=True))[-1]
        others = asyncio.ensure_future(says(other, lanes=True))
        while server.seats.taken < 3:
            await asyncio.sleep(0.01)
        assert engine.gate is not None
        engine.gate.release(1000)
        assert (await going)[-1] == (await others)[-1] == ""
        assert engine.owners == [one.owner, other.owner]

    asyncio.run(asyncio.wait_for(story(), 30))
    assert server.seats.taken == 0


def test_two_pages_never_mix(tmp_path: Path) -> None:
    """Twenty rounds of two pages that run at once: each gets its own prompt back."""
    engine = FakeEngine()
    server = make_server(Host(lambda progress: engine), Settings(store=str(tmp_path), hosted=True))
    sessions = {"X": Session(), "Y": Session()}

    async def run(name: str, round_: int) -> tuple[str, list[int], list[int]]:
        form = Form(f"{name} number {round_}", SamplingParams(seed=round_, max_tokens=5))
        session = sessions[name]
        work = messages(
            session,
            lambda outbox: generate(
                server, outbox, lambda: form, by=Visitor(name * 32, name), recent=session.recent
            ),
        )
        ops = [op async for text in work for op in json.loads(text)["ops"]]
        prompt = next([token[0] for token in op["tokens"]] for op in ops if op["op"] == "prompt")
        ids = [row["k"] for op in ops if op["op"] == "tokens" for row in op["steps"]]
        said = b"".join(engine.vocabulary.bytes_of(token_id) for token_id in prompt).decode()
        return said, prompt, ids

    async def story() -> dict[str, list[tuple[str, list[int], list[int]]]]:
        told: dict[str, list[Any]] = {"X": [], "Y": []}
        for round_ in range(20):
            for name, found in zip(
                "XY", await asyncio.gather(run("X", round_), run("Y", round_)), strict=True
            ):
                told[name].append(found)
        return told

    told = asyncio.run(story())
    for name, other in ("XY", "YX"):
        assert [said for said, _, _ in told[name]] == [f"{name} number {number}" for number in range(20)]
        for said, prompt, ids in told[name]:
            assert sessions[name].recent.trace(prompt, ids, "0" * 16).prompt.text == said
            with pytest.raises(ValueError, match="no longer has this run"):
                sessions[other].recent.trace(prompt, ids, "0" * 16)
