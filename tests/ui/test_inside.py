"""What the Inside tab asks: every look of a real tiny engine, with its figure, and strangers' requests."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from playground.codec import to_plain
from playground.engine.local import LocalEngine
from playground.settings import Settings
from playground.ui.host import Host
from playground.ui.inside import insider, rounded
from playground.ui.run import Server
from playground.ui.seats import Seats
from tests import fakes
from tests.engines import engine_of
from tests.ui.fake_engine import FakeEngine

IDS = [72, 105, 32, 116, 104, 101, 114, 101]
MODEL = "0" * 64
LOOKS: list[dict[str, Any]] = [
    {"what": "shape"},
    {"what": "embedding", "id": 97, "side": "input"},
    {"what": "map", "words": ["a", "bc", "d"], "side": "output"},
    {"what": "positions", "ids": IDS, "first": 3, "second": 6, "layer": 1, "head": 2},
    {"what": "order", "before": "a b", "after": "b a"},
    {"what": "grid", "ids": IDS},
    {"what": "map_of", "ids": IDS, "layer": 1, "head": 0},
    {"what": "map_of", "ids": IDS, "layer": None, "head": None},
    {"what": "row", "ids": IDS, "position": 4, "layer": 0, "head": 3},
    {"what": "lens", "ids": IDS, "position": 4},
    {"what": "influence", "ids": IDS, "position": 7, "method": "gradient"},
    {"what": "influence", "ids": IDS, "position": 7, "method": "integrated"},
    {"what": "influence", "ids": IDS, "position": 7, "method": "rollout"},
    {"what": "cache", "ids": IDS, "parts": [["you", 5], ["model", 3]]},
]
DRAWN = {"map", "positions", "map_of", "lens", "influence", "cache"}


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    with engine_of(fakes.tiny_llama()) as made:
        yield made


def served(engine: Any) -> Server:
    server = Server(Host(lambda progress: engine), Seats(2), Settings())
    asyncio.run(server.host.engine())
    return server


def ask(engine: Any, asked: Any) -> dict[str, Any]:
    if isinstance(asked, dict):
        asked = {"model": engine.info.sha256[:16], **asked}
    return json.loads(asyncio.run(insider(served(engine))(asked)))


@pytest.mark.parametrize(
    "look", LOOKS, ids=lambda look: "-".join(str(look[key]) for key in ("what", "method") if key in look)
)
def test_every_look_is_answered_with_its_figure(engine: LocalEngine, look: dict[str, Any]) -> None:
    told = ask(engine, look)
    assert "error" not in told
    assert told["bound"] == engine.inside.most
    assert ("figure" in told) == (look["what"] in DRAWN)
    if "figure" in told:
        assert set(told["figure"]) == {"light", "dark"}
        assert told["figure"]["light"]["data"]
        assert told["figure"]["light"] != told["figure"]["dark"]


def test_numbers_are_the_engines_own(engine: LocalEngine) -> None:
    inside = engine.inside
    for look, found in (
        (LOOKS[0], inside.shape()),
        (LOOKS[1], inside.embedding(97)),
        (LOOKS[2], inside.embedding_map(["a", "bc", "d"], side="output")),
        (LOOKS[8], inside.attention_row(IDS, 4, layer=0, head=3)),
        (LOOKS[9], inside.lens(IDS, 4)),
        (LOOKS[13], inside.cache(8, ids=IDS)),
    ):
        assert ask(engine, look)["look"] == json.loads(json.dumps(rounded(to_plain(found))))


def test_a_map_is_sent_once_in_its_figure(engine: LocalEngine) -> None:
    told = ask(engine, LOOKS[6])
    assert told["look"] == {"layer": 1, "head": 0, "window": None, "weights": []}
    sent = told["figure"]["light"]["data"][0]["z"]
    drawn = np.frombuffer(base64.b64decode(sent["bdata"]), np.float32).reshape(len(IDS), len(IDS))
    weights = np.array(engine.inside.attention_map(IDS, layer=1, head=0).weights, np.float32)
    np.testing.assert_array_equal(np.nan_to_num(drawn), weights)


def test_rounding_keeps_five_digits_and_whole_numbers() -> None:
    assert rounded({"a": [1.23456789, 7, "x", None], "b": 1e-9 / 3}) == {
        "a": [1.2346, 7, "x", None],
        "b": 3.3333e-10,
    }


@pytest.mark.parametrize(
    "bad",
    [
        {"what": "weights"},
        {"what": None},
        {"what": "embedding", "id": 10**9, "side": "input"},
        {"what": "embedding", "id": 1.5, "side": "input"},
        {"what": "embedding", "id": 1, "side": "../"},
        {"what": "map", "words": ["one"], "side": "input"},
        {"what": "map", "words": "king, queen", "side": "input"},
        {"what": "map", "words": ["a", "b" * 61], "side": "input"},
        {"what": "map", "words": ["a", " "], "side": "input"},
        {"what": "map", "words": ["a", "\ud83d"], "side": "input"},
        {"what": "map", "words": ["a"] * 61, "side": "input"},
        {"what": "order", "before": "", "after": "b"},
        {"what": "order", "before": "a", "after": "b" * 501},
        {"what": "order", "before": "a", "after": "\udc00"},
        {"what": "order", "before": {"a": 1}, "after": "b"},
        {"what": "grid"},
        {"what": "grid", "ids": []},
        {"what": "grid", "ids": [1, -1]},
        {"what": "grid", "ids": [True]},
        {"what": "grid", "ids": [0] * 100_000},
        {"what": "grid", "ids": {"0": 1}},
        {"what": "map_of", "ids": IDS, "layer": 99, "head": 0},
        {"what": "map_of", "ids": IDS, "layer": "0", "head": 0},
        {"what": "row", "ids": IDS, "position": 8, "layer": 0, "head": 0},
        {"what": "row", "ids": IDS, "position": 1, "layer": 0, "head": None},
        {"what": "row", "ids": IDS, "position": 1, "layer": -1, "head": 0},
        {"what": "lens", "ids": IDS, "position": 10**30},
        {"what": "lens", "ids": IDS, "position": None},
        {"what": "positions", "ids": IDS, "first": 0, "second": 10**9, "layer": 0, "head": 0},
        {"what": "influence", "ids": IDS, "position": 0, "method": "gradient"},
        {"what": "influence", "ids": IDS, "position": 3, "method": "guess"},
        {"what": "cache", "ids": IDS, "parts": [["you", 5]]},
        {"what": "cache", "ids": IDS, "parts": [["you"]]},
        {"what": "cache", "ids": IDS, "parts": [["x" * 101, 8]]},
        {"what": "cache", "ids": IDS, "parts": []},
        {"what": "shape", "model": "another"},
        [],
        None,
        "grid",
    ],
)
def test_a_strangers_request_is_refused_in_a_sentence(engine: LocalEngine, bad: Any) -> None:
    told = ask(engine, bad)
    assert set(told) == {"error"}
    assert 5 < len(told["error"]) < 300
    assert "\n" not in told["error"]


def test_an_engine_that_cannot_look_says_so() -> None:
    told = ask(FakeEngine(), {"what": "shape"})
    assert told["error"].startswith("Not available here")


def test_no_sign_with_a_meaning_to_plotly_is_left_in_names(engine: LocalEngine) -> None:
    ids = [ord("<"), ord("b"), ord(">"), ord("$"), ord("%"), ord("{")]
    for look in (
        {"what": "map_of", "ids": ids, "layer": 0, "head": 0},
        {"what": "lens", "ids": ids, "position": 4},
        {"what": "influence", "ids": ids, "position": 5, "method": "rollout"},
        {"what": "map", "words": ["<b>", "$x$"], "side": "input"},
        {"what": "cache", "ids": ids, "parts": [["<b>%{x}", 6]]},
    ):
        for trace in ask(engine, look)["figure"]["light"]["data"]:
            names = json.dumps([trace.get(key) for key in ("text", "customdata", "name")])
            assert not set(names) & set("<>$%"), look
