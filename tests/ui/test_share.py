"""Runs kept under a link, handed out as files, and shown again."""

from __future__ import annotations

import asyncio
import base64
import csv
import gzip
import io
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playground.findings import Comparison
from playground.links import Setup
from playground.pages.standalone import standalone_page
from playground.settings import Settings
from playground.trace import SamplingParams, Trace
from playground.ui.form import Form
from playground.ui.host import Host
from playground.ui.lanes import Bench, compare
from playground.ui.recorded import recorded_trace
from playground.ui.records import SHORT_SHA
from playground.ui.run import Server, generate, go_on
from playground.ui.serving import make_server
from playground.ui.share import Page, address_of, file, page_op, reopen, replay, save
from playground.ui.stream import Session, messages
from playground.ui.visitors import Visitor
from tests.hostile import hostile_trace
from tests.ui.asking import Received, asking, named
from tests.ui.fake_engine import FakeEngine

FORM = Form([{"role": "user", "content": "What is the capital of France?"}], SamplingParams(seed=4))
BY = Visitor("a" * 32, "1.1.1.1")


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return serve(tmp_path)


def serve(folder: Path, engine: FakeEngine | None = None, **settings: Any) -> Server:
    made = engine or FakeEngine()
    return make_server(Host(lambda progress: made), Settings(store=str(folder), **settings), standalone_page)


def other_engine() -> FakeEngine:
    engine = FakeEngine(name="Other-7B")
    engine.info = replace(engine.info, sha256="f" * 64)
    return engine


def new_page() -> Page:
    return Page(Session(), Bench())


def asked(server: Server, work: Any, page: Page, request: Any, by: Visitor = BY) -> Received:
    """What the panel is told, once the model is there."""

    async def told() -> Received:
        await server.host.engine()
        answers = messages(Session(), lambda outbox: work(server, outbox, page, request, by))
        return [op async for text in answers for op in json.loads(text)["ops"]]

    return asyncio.run(told())


def ran(server: Server, page: Page, form: Form = FORM, **more: Any) -> dict[str, Any]:
    """A run of the Playground, and how the page points at it."""

    async def run() -> Received:
        sent = messages(
            page.session,
            lambda outbox: generate(server, outbox, lambda: form, recent=page.session.recent, **more),
        )
        return [op async for text in sent for op in json.loads(text)["ops"]]

    ops = asyncio.run(run())
    (prompt,), (reset,) = named(ops, "prompt"), named(ops, "reset")
    rows = [row for op in named(ops, "tokens") for row in op["steps"]]
    return {
        "what": "run", "model": reset["model"], "prompt_ids": [token[0] for token in prompt["tokens"]],
        "ids": [row["k"] for row in rows],
    }  # fmt: skip


def goes_on(server: Server, page: Page, pointed: dict[str, Any], **order: Any) -> list[int]:
    """What the board orders of a run; the new ids."""

    async def run() -> Received:
        said = {"model": pointed["model"], "prompt_ids": pointed["prompt_ids"], "seed": "4", **order}
        sent = messages(
            page.session,
            lambda outbox: go_on(
                server, outbox, said, lambda anew: FORM, page.session.transport, BY, page.session.recent
            ),
        )
        return [op async for text in sent for op in json.loads(text)["ops"]]

    return [row["k"] for op in named(asyncio.run(run()), "tokens") for row in op["steps"]]


def trace_of(server: Server, page: Page, pointed: dict[str, Any]) -> Trace:
    (op,) = asked(server, file, page, {**pointed, "format": "json"})
    return Trace.from_json(unpacked(op))


def compared(server: Server, page: Page) -> dict[str, Any]:
    async def run() -> None:
        async for _ in messages(page.bench, lambda outbox: compare(server, outbox, page.bench, asking())):
            pass

    asyncio.run(run())
    return {"what": "comparison"}


def unpacked(op: dict[str, Any]) -> str:
    return gzip.decompress(base64.b64decode(op["data"])).decode()


def packed(text: str | bytes) -> dict[str, Any]:
    data = text.encode() if isinstance(text, str) else text
    return {"data": base64.b64encode(gzip.compress(data)).decode()}


def test_a_saved_run_is_shown_to_whoever_has_its_link(server: Server) -> None:
    page = new_page()
    pointed = ran(server, page)
    (saved,) = asked(server, save, page, pointed)
    assert (saved["op"], saved["what"], saved["days"]) == ("saved", "run", 30)
    guest = new_page()
    show, opened = asked(server, replay, guest, {"id": saved["id"]})
    assert (show["op"], show["what"]) == ("show", "run")
    (reset,), (prompt,) = named(show["ops"], "reset"), named(show["ops"], "prompt")
    assert reset["recorded"] == {"model": "Fake-12M", "seed": 4}
    assert (reset["live"], reset["why"], reset["params"]["seed"]) == (True, "", 4)
    assert [token[0] for token in prompt["tokens"]] == pointed["prompt_ids"]
    assert [row["k"] for op in named(show["ops"], "tokens") for row in op["steps"]] == pointed["ids"]
    assert show["ops"][-1] == {"op": "status", "state": "idle", "text": ""}
    assert (opened["what"], opened["live"], opened["why"]) == ("run", True, None)
    setup = Setup.from_json(json.dumps(opened["setup"]))
    assert (setup.prompt, setup.seed, setup.mode) == ("What is the capital of France?", 4, "chat")
    engine = server.host.ready
    assert isinstance(engine, FakeEngine)
    assert engine.opened == 1  # nothing ran for the guest
    (again,) = asked(server, save, guest, pointed)  # who was shown it may hand it on
    assert again["id"] != saved["id"]


def test_another_models_run_can_only_be_looked_at(tmp_path: Path) -> None:
    first, page = serve(tmp_path), new_page()
    (saved,) = asked(first, save, page, ran(first, page))
    other = serve(tmp_path, other_engine())
    show, opened = asked(other, replay, new_page(), {"id": saved["id"]})
    assert show["ops"][0]["live"] is False
    assert show["ops"][0]["weights"] is None
    assert opened["why"] == "Recorded with Fake-12M, read-only: Other-7B runs now."
    assert [row["i"] for op in named(show["ops"], "tokens") for row in op["steps"]]  # shown all the same


def test_the_shipped_run_is_saved_like_any_other(server: Server) -> None:
    trace = recorded_trace()
    pointed = {
        "what": "run", "model": trace.model.sha256[:SHORT_SHA], "prompt_ids": list(trace.prompt.ids),
        "ids": list(trace.answer_ids),
    }  # fmt: skip
    made = trace_of(server, new_page(), pointed)
    assert made.id != trace.id
    assert replace(made, id=trace.id) == trace
    links = {named(asked(server, save, new_page(), pointed), "saved")[0]["id"] for _ in range(2)}
    assert len(links) == 2
    for change in ({"ids": pointed["ids"][:-1]}, {"model": "0" * SHORT_SHA}):
        (refused,) = named(asked(server, save, new_page(), pointed | change), "refused")
        assert "no longer has this run" in refused["why"]


def test_nobody_saves_what_another_page_made(server: Server) -> None:
    pointed = ran(server, new_page())
    (told,) = asked(server, save, new_page(), pointed)
    assert told == {"op": "refused", "why": "The server no longer has this run: run it again, then save it."}
    (told,) = asked(server, save, new_page(), {"what": "comparison"})
    assert "nothing to save" in told["why"]
    assert server.store is not None
    assert server.store.ids() == []


def test_forks_and_steps_are_saved_with_what_they_share(server: Server) -> None:
    page = new_page()
    pointed = ran(server, page)
    first = trace_of(server, page, pointed)
    forced = [*pointed["ids"][:5], pointed["ids"][20]]
    fork = pointed["ids"][:5] + goes_on(server, page, pointed, kind="fork", forced=forced, known=5)
    one = goes_on(server, page, pointed, kind="step", forced=forced[:3], known=3)
    assert len(one) == 1
    stepped = [*forced[:3], *one]
    after = {"fork": fork, "stepped": stepped}
    made = {name: trace_of(server, page, {**pointed, "ids": ids}) for name, ids in after.items()}
    assert made["fork"].steps[:5] == first.steps[:5]
    assert made["fork"].steps[5].draw.method == "forced"
    assert made["fork"].prompt == first.prompt
    assert list(made["fork"].answer_ids) == fork
    assert (made["stepped"].finished.reason, made["stepped"].answer_ids) == ("stopped", tuple(stepped))
    assert trace_of(server, page, pointed).finished == first.finished


def test_stop_loses_nothing(tmp_path: Path) -> None:
    engine = FakeEngine(gate=threading.Semaphore(4))
    server, page = serve(tmp_path, engine), new_page()

    async def run() -> Received:
        ops: Received = []
        work = messages(
            page.session, lambda outbox: generate(server, outbox, lambda: FORM, recent=page.session.recent)
        )
        async for text in work:
            ops += json.loads(text)["ops"]
            if sum(len(op["steps"]) for op in named(ops, "tokens")) == 4:
                page.session.stop()
        return ops

    ops = asyncio.run(run())
    ids = [row["k"] for op in named(ops, "tokens") for row in op["steps"]]
    prompt_ids = [token[0] for token in named(ops, "prompt")[0]["tokens"]]
    trace = page.session.recent.trace(prompt_ids, ids, named(ops, "reset")[0]["model"])
    assert (trace.answer_ids, trace.finished.reason) == (tuple(ids), "stopped")
    assert len(ids) == 4


def test_a_comparison_is_kept_as_the_page_shows_it(server: Server) -> None:
    page = new_page()
    pointed = {**compared(server, page), "lanes": [1, 0], "names": ["hot", "cold"], "reference": 0}
    (saved,) = asked(server, save, page, pointed)
    guest = new_page()
    show, opened = asked(server, replay, guest, {"id": saved["id"]})
    (reset,) = named(show["ops"], "reset")
    assert (show["what"], reset["names"], reset["reference"]) == ("comparison", ["hot", "cold"], 1)
    assert (opened["what"], opened["live"], opened["setup"]) == ("comparison", True, None)
    assert guest.bench.kept is not None
    assert guest.bench.kept.names == ("hot", "cold")


def test_files_of_a_run(server: Server) -> None:
    page = new_page()
    pointed = ran(server, page)
    made = {
        form: asked(server, file, page, {**pointed, "format": form})[0] for form in ("json", "csv", "page")
    }
    assert [(op["op"], op["name"]) for op in made.values()] == [
        ("file", "run.trace.json"), ("file", "run.csv"), ("file", "run.html"),
    ]  # fmt: skip
    trace = Trace.from_json(unpacked(made["json"]))
    assert list(trace.answer_ids) == pointed["ids"]
    rows = list(csv.DictReader(io.StringIO(unpacked(made["csv"]))))
    assert [int(row["token_id"]) for row in rows] == pointed["ids"]
    assert [float(row["prob"]) for row in rows] == [step.prob for step in trace.steps]
    assert [row["bytes"] for row in rows] == [step.bytes.hex() for step in trace.steps]
    assert unpacked(made["page"]).startswith("<!doctype html>")
    (again,) = asked(server, reopen, new_page(), packed(unpacked(made["json"])))[:1]
    assert again["what"] == "run"


def test_files_of_a_comparison(server: Server) -> None:
    page = new_page()
    pointed = compared(server, page)
    (whole,) = asked(server, file, page, {**pointed, "format": "json"})
    assert len(Comparison.from_json(unpacked(whole)).traces) == 2
    (table,) = asked(server, file, page, {**pointed, "format": "csv"})
    assert unpacked(table).startswith("name,")
    (refused,) = asked(server, file, page, {**pointed, "format": "page"})
    assert "format must be one of" in refused["why"]


def test_a_file_of_settings_fills_the_form_and_runs_nothing(server: Server) -> None:
    setup = Setup(prompt="Say 👩🏽 \ud83d", seed=2**64 - 1)
    (opened,) = asked(server, reopen, new_page(), packed(setup.to_json()))
    assert (opened["what"], opened["live"], opened["why"]) == ("settings", True, None)
    assert Setup.from_json(json.dumps(opened["setup"])) == setup
    engine = server.host.ready
    assert isinstance(engine, FakeEngine)
    assert engine.opened == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "must be sent as text"),
        ({"data": "é"}, "no text that was packed"),
        (packed("{"), "not JSON"),
        (packed("[" * 200_000), "nested too deeply"),
        (packed("[]"), "no run, comparison or settings"),
        (packed('{"steps": []}'), "has no version"),
        (packed('{"version": 99, "steps": []}'), "version 99"),
        (packed('{"version": 1, "traces": []}'), "no field"),
        (packed('{"v": 2}'), "version 2"),
        (packed(b"\xff\xfe"), "cannot be opened"),
        (packed('{"v": 1, "__proto__": {}}'), "unknown field"),
        (packed(" " * (2**26 + 1)), "more than"),
        (packed(recorded_trace().to_json().replace('"rank": 1,', '"rank": 0,', 1)), "rank"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(server: Server, data: Any, words: str) -> None:
    page = new_page()
    compared(server, page)
    before = page.bench.kept
    (told,) = asked(server, reopen, page, data if data else {})
    assert told["op"] == "refused"
    assert words in told["why"]
    assert "\n" not in told["why"]
    assert page.bench.kept is before


def test_hostile_texts_of_a_file_are_shown_as_they_are(server: Server) -> None:
    trace, page = hostile_trace(), new_page()
    show, opened = asked(server, reopen, page, packed(trace.to_json()))
    assert [row["k"] for op in named(show["ops"], "tokens") for row in op["steps"]] == list(trace.answer_ids)
    assert opened["live"] is False
    pointed = {"what": "run", "model": trace.model.sha256[:16], "prompt_ids": list(trace.prompt.ids)}
    made = trace_of(server, page, {**pointed, "ids": list(trace.answer_ids)})  # and can be handed on
    assert [(step.bytes, step.candidates) for step in made.steps] == [
        (step.bytes, step.candidates) for step in trace.steps
    ]


@pytest.mark.parametrize("id", [None, "", "../../etc/passwd", "0" * 31, "g" * 32, "0" * 32, 5, {}])
def test_a_link_to_nothing_is_told(server: Server, id: Any) -> None:
    (told,) = asked(server, replay, new_page(), {"id": id})
    assert told["op"] == "refused"
    assert told["why"].startswith("This link leads to nothing") or "not kept here" in told["why"]


@pytest.mark.parametrize(
    "change",
    [
        {"what": "everything"}, {"prompt_ids": []}, {"prompt_ids": [2**40]}, {"ids": [-1]}, {"ids": "abc"},
        {"model": 5}, {"shown": [[0.5, None]]}, {"shown": "x"}, {"ids": [1.5]}, {"shown": [[True, {}]] * 99},
    ],
)  # fmt: skip
def test_what_no_page_points_at_is_refused(server: Server, change: dict[str, Any]) -> None:
    page = new_page()
    (told,) = asked(server, save, page, {**ran(server, page), **change})
    assert told["op"] == "refused"
    assert server.store is not None
    assert server.store.ids() == []


def test_strangers_save_so_many_in_an_hour(tmp_path: Path) -> None:
    server, page = serve(tmp_path, hosted=True, visitor_saves=2), new_page()
    pointed = ran(server, page, by=BY)
    kinds = [asked(server, save, page, pointed)[0]["op"] for _ in range(3)]
    assert kinds == ["saved", "saved", "refused"]
    assert asked(server, save, page, pointed, Visitor("b" * 32, "2.2.2.2"))[0]["op"] == "saved"


def test_at_home_nobody_counts(tmp_path: Path) -> None:
    server, page = serve(tmp_path, visitor_saves=1), new_page()
    pointed = ran(server, page)
    assert [asked(server, save, page, pointed)[0]["op"] for _ in range(3)] == ["saved"] * 3


def test_a_server_without_a_store_says_so(tmp_path: Path) -> None:
    server, page = replace(serve(tmp_path), store=None, as_page=None), new_page()
    pointed = ran(server, page)
    assert "keeps no runs" in asked(server, save, page, pointed)[0]["why"]
    assert "keeps no runs" in asked(server, replay, page, {"id": "0" * 32})[0]["why"]
    assert "Not available here" in asked(server, file, page, {**pointed, "format": "page"})[0]["why"]
    assert page_op(server, {})["days"] is None


@pytest.mark.parametrize(
    ("url", "environment", "address"),
    [
        ("", {}, ""),
        ("", {"SPACE_HOST": "me-play.hf.space"}, "https://me-play.hf.space/"),
        ("https://example.org/play", {"SPACE_HOST": "me-play.hf.space"}, "https://example.org/play"),
    ],
)
def test_where_links_lead(url: str, environment: dict[str, str], address: str) -> None:
    assert address_of(Settings(public_url=url), environment) == address


def test_each_page_has_an_owner_where_strangers_come_and_none_at_home(tmp_path: Path) -> None:
    for hosted, owner in ((True, "a" * 32), (False, "")):
        engine = FakeEngine()
        server, page = serve(tmp_path, engine, hosted=hosted), new_page()
        ran(server, page, by=server.visitor({"owner": "a" * 32}))
        assert engine.owners == [owner]
    strangers = {
        serve(tmp_path, hosted=True).owner(said) for said in ({}, {"owner": "x"}, None, {"owner": 5})
    }
    assert len(strangers) == 4  # drawn for those who name none that fits
