"""The pure functions of the guide, in node."""

from __future__ import annotations

import json

import pytest

from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node
NAMES = ["story", "tokens", "cache"]


@pytest.mark.parametrize(
    "text", [None, "", "{broken", "null", "7", '"story"', "[]", '{"page": 3, "tried": 1}']
)
def test_broken_progress_begins_anew(text: str | None) -> None:
    fresh = {"page": "story", "tried": {}, "answered": {}}
    assert evaluate("guideProgressOf(text, names)", text=text, names=NAMES) == fresh


def test_progress_keeps_what_is_known() -> None:
    kept = {
        "page": "cache",
        "tried": {"story": True, "gone": True, "tokens": "yes"},
        "answered": {"cache": True},
    }
    told = evaluate("guideProgressOf(text, names)", text=json.dumps(kept), names=NAMES)
    assert told == {"page": "cache", "tried": {"story": True}, "answered": {"cache": True}}


def test_looks_are_told_apart_by_what_is_asked_alone() -> None:
    one = {"what": "row", "layer": 0, "head": 1, "owner": "a", "press": 1, "model": "x"}
    same = {"press": 9, "head": 1, "layer": 0, "what": "row"}
    other = {"what": "row", "layer": 1, "head": 0}
    keys = evaluate("[one, same, other].map(lookKey)", one=one, same=same, other=other)
    assert keys[0] == keys[1] != keys[2]
