"""Settings links of strangers: each is refused in one sentence, whatever it holds."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from playground.links import (
    LARGEST_FILE,
    LARGEST_LINK,
    LONGEST_LINK,
    MOST_CHARACTERS,
    LinkError,
    LinkTooLong,
    Setup,
)
from playground.packing import RAW, deflate


def link_of(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    return "#s=" + base64.urlsafe_b64encode(deflate(data, RAW)).rstrip(b"=").decode()


def refused(fragment: str) -> str:
    """What a visitor reads about this link: one bearable sentence."""
    with pytest.raises(LinkError) as caught:
        Setup.from_fragment(fragment)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    assert len(said) < 400
    return said


HOSTILE: list[tuple[str, Any]] = [
    ("a list", []), ("null", None), ("a number", 1), ("no version", {}), ("version 2", {"v": 2}),
    ("version 1.0", {"v": 1.0}), ("version true", {"v": True}), ("version in words", {"v": "1"}),
    ("huge version", {"v": 10**4000}), ("unknown", {"v": 1, "evil": 1}),
    ("__proto__", {"v": 1, "__proto__": {"admin": True}}), ("constructor", {"v": 1, "constructor": {}}),
    ("long name", {"v": 1, "x" * 10**5: 1}), ("broken name", {"v": 1, "\ud800\n": 1}),
    ("prompt 5", {"v": 1, "prompt": 5}), ("prompt null", {"v": 1, "prompt": None}),
    ("prompt list", {"v": 1, "prompt": ["a"]}), ("mode", {"v": 1, "mode": "shell"}),
    ("mode list", {"v": 1, "mode": ["chat"]}), ("kind", {"v": 1, "kind": "magic"}),
    ("thinking", {"v": 1, "thinking": 1}), ("same_dice", {"v": 1, "same_dice": 0}),
    ("watched", {"v": 1, "watched": "Paris"}), ("watched ids", {"v": 1, "watched": [5]}),
    ("lanes", {"v": 1, "lanes": {}}), ("no lane", {"v": 1, "lanes": []}), ("lane", {"v": 1, "lanes": [1]}),
    ("many lanes", {"v": 1, "lanes": [{}] * 7}), ("lane params", {"v": 1, "lanes": [{"params": []}]}),
    ("lane name", {"v": 1, "lanes": [{"name": "n" * 81}]}),
    ("messages", {"v": 1, "messages": [{"role": "root", "content": ""}]}),
    ("half a message", {"v": 1, "messages": [{"role": "user"}]}),
    ("more of a message", {"v": 1, "messages": [{"role": "user", "content": "", "name": ""}]}),
    ("many messages", {"v": 1, "messages": [{"role": "user", "content": ""}] * 1001}),
    ("many bans", {"v": 1, "banned": [""] * 1001}),
    ("reference", {"v": 1, "reference": 1}), ("samples", {"v": 1, "samples": 0}),
    ("huge samples", {"v": 1, "samples": 10**3000}), ("half samples", {"v": 1, "samples": 1.5}),
    ("seed", {"v": 1, "seed": -1}), ("seed 2^64", {"v": 1, "seed": str(2**64)}),
    ("huge seed", {"v": 1, "seed": 2**64}), ("seed in words", {"v": 1, "seed": "one"}),
    ("seed ٣", {"v": 1, "seed": "٣"}), ("long seed", {"v": 1, "seed": "1" * 5000}),
    ("model up", {"v": 1, "model": "../../etc"}), ("model root", {"v": 1, "model": "/etc/passwd"}),
    ("model dots", {"v": 1, "model": "a/..b"}), ("model url", {"v": 1, "model": "http://evil/x"}),
    ("model deep", {"v": 1, "model": "a/b/c"}), ("model line", {"v": 1, "model": "org/name\n"}),
    ("model NUL", {"v": 1, "model": "org/\0"}), ("model long", {"v": 1, "model": "a" * 100_000}),
    ("sweep", {"v": 1, "sweep": {"setting": "temperature"}}),
    ("sweep from nowhere",
     {"v": 1, "sweep": {"setting": "top_k", "low": None, "high": 1, "steps": 2, "tokens": 3}}),
    ("sweep of none",
     {"v": 1, "sweep": {"setting": "top_k", "low": 0, "high": 1, "steps": 0, "tokens": 3}}),
    *((f"{name} {value!r:.20}", {"v": 1, "lanes": [{"params": {name: value}}]}) for name, value in [
        ("temperature", 1e9), ("temperature", "1"), ("temperature", None), ("temperature", 10**400),
        ("temperature", True), ("top_k", -5), ("top_k", 2.5), ("top_p", 0), ("top_p", 1.4), ("seed", 2**64),
        ("seed", "-1"), ("stop", [""]), ("stop", "x"), ("banned", [-1]), ("logit_bias", {"-1": 1}),
        ("logit_bias", {"x" * 10**5: 1}), ("logit_bias", {"5": 1e31}), ("logit_bias", {"9" * 5000: 1}),
        ("logit_bias", [1]), ("max_tokens", 0), ("min_tokens", 300), ("__proto__", {}), ("evil", 1),
    ]),
]  # fmt: skip


@pytest.mark.parametrize("value", [value for _, value in HOSTILE], ids=[name for name, _ in HOSTILE])
def test_b40_hostile_values_are_refused_in_one_sentence(value: Any) -> None:
    said = refused(link_of(json.dumps(value)))
    assert said.startswith("These settings")


@pytest.mark.parametrize(
    "text",
    [
        b"", b"nothing", b"{", b'{"v":NaN}', b'{"v":1,"samples":Infinity}', b'{"v":1,"seed":-Infinity}',
        b'{"v":1,"lanes":[{"params":{"temperature":1e999}}]}', b"[" * 10**6, b'{"v":' * 10**5,
        b'{"v":1,"messages":' + b"[" * 900 + b"]" * 900 + b"}", b"9" * 10_000, b'{"v":1}{"v":1}',
        b'\xef\xbb\xbf{"v":1}', '{"v":1}'.encode("utf-16"), b'{"v":1,"prompt":"\xed\xa0\xbd"}', b"\0",
        b'{"v":1,"prompt":"\x00"}', b'{"v":1,"prompt":"\xff"}',
    ],
    ids=range(18),
)  # fmt: skip
def test_b40_what_is_no_json_is_refused_in_one_sentence(text: bytes) -> None:
    refused(link_of(text))


@pytest.mark.parametrize(
    "fragment",
    [
        "", "#", "#s", "#s=", "#S=q1YqU7IyrAUA", "#t=q1YqU7IyrAUA", "q1YqU7IyrAUA", "##s=q1YqU7IyrAUA",
        "#s=q1YqU7IyrAU", "#s=q1YqU7IyrAUA=", "#s=q1YqU7Iy+AUA", "#s=q1YqU7Iy/AUA", "#s=q1YqU7IyrAUA\n",
        "#s=q1Yq U7IyrAUA", "#s=%71YqU7IyrAUA", "#s=q1YqU7IyrAUé", "#s=\0", "#s=\ud800", "#s=A", "#s=AAAA",
        "#s=q1YqU7IyrAUAAAAA", "#s=q1YqU7IyrAUA&x=1", "#s=" + "A" * 10**6, "#s=" + "_" * 7997,
    ],
    ids=range(24),
)  # fmt: skip
def test_b40_a_link_that_was_changed_on_its_way_is_refused(fragment: str) -> None:
    assert refused(fragment).startswith("This link")


def test_b40_a_link_cut_anywhere_is_refused() -> None:
    whole = Setup(prompt="What is the capital of France?", seed=2**60).to_fragment()
    for length in range(len(whole)):
        refused(whole[:length])


def test_b40_a_bomb_is_refused_before_it_goes_off() -> None:
    for size in (LARGEST_LINK + 1, 5 * 2**20):  # the latter about fills a link
        bomb = link_of(bytes(size))
        assert len(bomb) <= LONGEST_LINK
        assert "unpacks to more than" in refused(bomb)


def test_what_reading_would_refuse_is_not_written() -> None:
    """A million equal letters pack well, but nobody would unpack them."""
    setup = Setup(prompt="a" * LARGEST_LINK)
    assert len(deflate(setup.to_json().encode(), RAW)) < 2000
    with pytest.raises(LinkTooLong):
        setup.to_fragment()
    with pytest.raises(LinkError, match="more than"):
        Setup.from_fragment(link_of(setup.to_json()))


def test_a_file_and_all_its_texts_are_bounded() -> None:
    with pytest.raises(LinkError, match="too large"):
        Setup.from_json(" " * (LARGEST_FILE + 1))
    with pytest.raises(LinkError, match="all texts together"):
        Setup.from_json(json.dumps({"v": 1, "prompt": "a" * MOST_CHARACTERS, "system": "b"}))
