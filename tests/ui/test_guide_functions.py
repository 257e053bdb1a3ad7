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


def step_ticks(*times: float) -> list[dict[str, object]]:
    return [{"index": i + 1, "own": time > 0, "time": time} for i, time in enumerate(times)]


def test_reading_and_writing_are_counted_apart() -> None:
    prefill = {"tokens": 37, "reused": 20, "time": 112.0}
    spent = evaluate("spentOf(passes)", passes={"prefill": prefill, "ticks": step_ticks(52, 0, 72)})
    assert spent["read"] == {"tokens": 17, "passes": 1, "time": 112.0}
    assert spent["written"] == {"tokens": 2, "passes": 2, "time": 124.0}  # the given one had no pass
    known = evaluate("spentOf(passes)", passes={"prefill": {**prefill, "reused": 37, "time": 0}, "ticks": []})
    assert known["read"] == {"tokens": 0, "passes": 0, "time": 0}


@pytest.mark.parametrize(
    ("prompt", "written", "returned", "calls"), [(37, 46, 46, 8), (5, 1, 0, 3), (9, 3, 2, 1)]
)
def test_an_agent_reads_what_no_pass_has_read_yet(
    prompt: int, written: int, returned: int, calls: int
) -> None:
    told = evaluate("agentCalls(p, w, r, n)", p=prompt, w=written, r=returned, n=calls)
    row = ["given"] * prompt
    kept = 0  # tokens whose keys and values are there
    for call in told:
        assert call == {"tokens": len(row), "fresh": len(row) - kept, "kept": kept}
        row += ["written"] * written
        kept = len(row) - 1  # the newest is read by the pass after it, if there is one
        row += ["returned"] * returned
    sums = evaluate("callSums(calls)", calls=told)
    assert sums["anew"] == sum(call["tokens"] for call in told)
    assert sums["anew"] - sums["kept"] == sum(call["kept"] for call in told)


def test_the_call_that_no_longer_fits_is_told() -> None:
    calls = [{"tokens": 37}, {"tokens": 129}, {"tokens": 221}]
    told = evaluate("[175, 174, 9999, null].map((context) => callTooLong(calls, 46, context))", calls=calls)
    assert told == [3, 2, 0, 0]


def test_turns_of_a_chat_are_counted_until_the_context_is_full() -> None:
    chat = [["system message", 20], ["you", 10], ["assistant", 30], ["you", 12], ["generation prompt", 4]]
    # two turns took 10 + 30 + 12 + 4 + 24 of 100 tokens, 40 each
    assert evaluate("turnsThatFit(parts, 100, 1000)", parts=chat) == 24
    assert evaluate("turnsThatFit(parts, 100, 1000)", parts=[["your text", 5]]) is None


def test_prices_have_three_digits() -> None:
    told = evaluate("prices.map(priceWords)", prices=[0, 0.0368421, 0.2, 12.3456, 123456])
    assert told == ["0", "0.0368", "0.2", "12.3", "123,456"]
