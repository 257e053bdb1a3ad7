"""Choosing another model: what is offered, and that the old one stays until the new one is there."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from playground.engine import bundled
from playground.settings import Settings
from playground.ui import models_menu
from playground.ui.header import choose_model, header_json
from playground.ui.host import Host, Progress
from playground.ui.models_menu import BUNDLED, Menu
from playground.ui.run import Server
from playground.ui.seats import Seats
from tests.ui.fake_engine import HOSTILE, FakeEngine
from tests.ui.test_run import until


def serve(other: Callable[[str, Progress], Any] | None = None, **settings: Any) -> Server:
    engine = FakeEngine(name="old")
    server = Server(Host(lambda progress: engine, other), Seats(1), Settings(**settings))
    asyncio.run(server.host.engine())
    return server


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def choose(server: Server, asked: Any) -> list[dict[str, Any]]:
    async def story() -> list[dict[str, Any]]:
        return [json.loads(shown) async for shown in choose_model(server, asked)]

    return asyncio.run(story())


def test_a_model_takes_over_when_it_is_there_and_progress_is_told() -> None:
    go = threading.Event()

    def other(name: str, progress: Progress) -> FakeEngine:
        progress("Fetching", 0.25)
        go.wait(20)
        return FakeEngine(name=name)

    server = serve(other)
    old = server.host.ready

    async def story() -> list[dict[str, Any]]:
        told = []
        async for text in choose_model(server, {"model": "org/new"}):
            told.append(json.loads(text))
            if told[-1].get("coming", {}).get("share") == 0.25:
                assert server.host.ready is old
                with pytest.raises(ValueError, match="being loaded already"):
                    server.host.switch("org/third")
                go.set()
        return told

    told = asyncio.run(story())
    assert [told[-2]["name"], told[-2]["coming"]["text"]] == ["old", "Fetching 25%"]
    assert (told[-1]["name"], told[-1].get("coming")) == ("org/new", None)
    assert isinstance(old, FakeEngine)
    assert old.retired


def test_a_failed_load_says_one_sentence_and_the_old_model_goes_on() -> None:
    def other(name: str, progress: Progress) -> FakeEngine:
        raise RuntimeError("There is no\nsuch model.")

    server = serve(other)
    told = choose(server, {"model": "org/new"})
    assert told[-1]["coming"]["failure"] == "There is no such model."
    assert told[-1]["name"] == "old"
    assert server.host.ready is not None
    assert not server.host.ready.retired  # type: ignore[attr-defined]
    choose(server, {"model": "org/new"})  # may be tried again


def test_after_a_failed_start_another_model_can_be_chosen() -> None:
    def broken(progress: Progress) -> Any:
        raise RuntimeError("No weights.")

    async def story() -> None:
        server = Server(Host(broken, lambda name, progress: FakeEngine(name=name)), Seats(1), Settings())
        await until(lambda: server.host.failure is not None)
        server.host.switch("org/new")
        assert (await server.host.engine()).info.name == "org/new"
        assert json.loads(header_json(server.host))["state"] == "ready"

    asyncio.run(story())


def test_a_hosted_server_loads_what_it_offers_only() -> None:
    server = serve(hosted=True, models="org/one, org/two")
    assert Menu(server).names == ("org/one", "org/two")
    for name in ("org/three", "/etc", *HOSTILE):
        (told,) = choose(server, {"model": name})
        assert told["coming"]["failure"] == "This server offers org/one, org/two only."
    assert Menu(server).rows()["free"] is False
    assert serve(share=True).settings.closed


@pytest.mark.parametrize("asked", [None, 7, {}, {"model": None}, {"model": " "}, {"model": "x" * 301}])
def test_nonsense_is_refused_in_a_sentence(asked: Any) -> None:
    (told,) = choose(serve(), asked)
    assert "type the name of a model" in told["coming"]["failure"]


def test_offline_only_what_is_at_hand_can_be_chosen_and_it_says_why(tmp_path: Any) -> None:
    server = serve(model=str(tmp_path))
    rows = {row["name"]: row for row in Menu(server).rows()["offers"]}
    assert next(iter(rows)) == str(tmp_path)
    assert rows[str(tmp_path)]["usable"]
    for offer in models_menu.OFFERS:
        row = Menu(serve()).rows()["offers"][models_menu.OFFERS.index(offer)]
        assert row["usable"] or row["why"] == "Not on this machine, and this server works offline."
    assert rows[BUNDLED]["usable"] if BUNDLED in rows else True


def test_speeds_are_estimated_from_bytes_of_weights_and_the_pace_seen_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve()
    assert all(row["speed"] == "" for row in Menu(server).rows()["offers"])
    monkeypatch.setattr("playground.ui.host.weight_bytes", lambda engine: 500e6)
    server.host.note_speed(server.host.ready, 20.0)  # type: ignore[arg-type]
    server.host.note_speed(server.host.ready, 5.0)  # type: ignore[arg-type]  # the fastest counts
    speeds = {row["name"]: row["speed"] for row in Menu(server).rows()["offers"]}
    assert speeds["Qwen/Qwen3-0.6B"] == "about 4.2 tokens/s"  # 10 GB/s ÷ 596 million × 4 bytes
    assert BUNDLED == bundled.NAME


def test_sizes_are_told_to_fetch_and_in_memory() -> None:
    server = serve()
    sizes = {row["name"]: row["size"] for row in Menu(server).rows()["offers"]}
    assert sizes[BUNDLED] == "135 million parameters · 0.5 GB in memory"  # float32
    largest = "1.7 billion parameters · 3.4 GB to fetch · 6.8 GB in memory"
    assert sizes["HuggingFaceTB/SmolLM2-1.7B-Instruct"] == largest


def test_a_model_is_at_hand_when_its_weights_are(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"config.json"}
    monkeypatch.setattr(
        "huggingface_hub.try_to_load_from_cache", lambda name, file: file if file in kept else None
    )
    assert not models_menu.at_hand("org/name")  # a fetch that was broken off leaves the small files
    kept.add("model.safetensors.index.json")
    assert models_menu.at_hand("org/name")
