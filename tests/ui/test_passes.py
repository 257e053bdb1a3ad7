"""Passes, ribbon, meters and the table of the loop, as the page works them out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node


def step(index: int, forward: float = 50.0, **more: Any) -> dict[str, Any]:
    return {
        "index": index, "forward": forward, "sample": 2.0, "time": forward + 2, "queue": 1.0,
        "text": f"t{index}", "special": False, "prob": 0.25, "finalProb": 0.5,
        "kvLen": 37 + index, "kvBytes": 4096, "draw": {"method": "sampled"}, **more,
    }  # fmt: skip


STEPS = [step(0, 110.0), step(1), step(2, 0.0, draw={"method": "forced"}), step(3, 70.0)]
END = {
    "reason": "max_tokens", "prefill": 112.0, "first": 120.0, "each": 61.0, "reused": 20,
    "speed": [151.8, 16.4],
}  # fmt: skip


def passes(end: Any = None) -> Any:
    return evaluate("passesOf(37, steps, end)", steps=STEPS, end=end)


def test_one_pass_reads_the_prompt_and_then_one_makes_each_token() -> None:
    made = passes(END)
    assert made["prefill"] == {"tokens": 37, "reused": 20, "time": 112.0, "speed": 151.8}
    assert [tick["index"] for tick in made["ticks"]] == [1, 2, 3]  # the first token came out of prefill
    assert [tick["own"] for tick in made["ticks"]] == [True, False, True]  # the given one had no pass
    assert (made["decodes"], made["each"], made["speed"], made["slowest"]) == (2, 61.0, 16.4, 72.0)


def test_while_it_runs_only_what_is_known_is_said() -> None:
    made = passes()
    assert made["prefill"] == {"tokens": 37, "reused": None, "time": 110.0, "speed": None}
    assert made["each"] == pytest.approx((53 + 73) / 2)  # between tokens: waiting, forward pass, sampling
    assert made["speed"] == pytest.approx(1000 / 63)
    assert evaluate("passesOf(5, [], null)")["each"] is None


@pytest.mark.parametrize(
    ("width", "prompt", "ticks"), [(650, 37, 46), (650, 3000, 200), (330, 5, 1000), (650, 8, 0)]
)
def test_the_ribbon_fits_and_its_widths_count_tokens(width: int, prompt: int, ticks: int) -> None:
    made = evaluate("ribbonLayout(width, prompt, ticks)", width=width, prompt=prompt, ticks=ticks)
    columns = -(-ticks // made["group"])
    assert made["block"] + (8 + columns * made["pitch"] if ticks else 0) <= width + made["pitch"]
    assert made["block"] >= 0.3 * width or made["block"] >= 118
    assert not ticks or made["pitch"] >= 2  # thinner ones share a column
    longer = evaluate("ribbonLayout(width, prompt, ticks)", width=width, prompt=prompt * 2, ticks=ticks)
    assert longer["block"] >= made["block"]


def test_columns_are_as_high_as_the_slowest_of_their_passes() -> None:
    ticks = [{"index": i + 1, "own": i != 2, "time": float(10 * i)} for i in range(5)]
    made = evaluate("columnsOf(ticks, 40, 2)", ticks=ticks)
    assert [(c["from"], c["to"], c["height"], c["own"]) for c in made] == [
        (0, 2, 0.25, True), (2, 4, 0.75, True), (4, 5, 1, True),
    ]  # fmt: skip
    path = evaluate("barsPath(columns, 10, 50, (column) => column.from > 0)", columns=made)
    assert path == "M10.00 50v-37.50h8.00V50zM20.00 50v-50.00h8.00V50z"


def test_the_words_beside_the_ribbon() -> None:
    made = passes(END)
    assert evaluate("prefillWords(p.prefill)", p=made) == [
        "37 tokens in one pass, 20 of them known from before", "152 tokens/s",
    ]  # fmt: skip
    assert evaluate("decodeWords(p)", p=made) == ["2 passes, 61 ms each", "16.4 tokens/s"]
    assert evaluate("[0, 1, 2].map((index) => passWords(p, index))", p=made) == [
        "prefill, 112 ms", "pass 2, 52 ms", "given, no pass of its own",
    ]  # fmt: skip
    weights = evaluate("[weightWords(538000000, p.prefill), weightWords(null, p.prefill)]", p=made)
    assert weights[0].startswith("Weights read per pass: 513 MB")
    assert "among 17 tokens" in weights[0]
    assert weights[1] == "Weights read per pass: not available here."


def test_meters_keep_prefill_and_decode_apart() -> None:
    run = {"prompt": [0] * 37, "context": 8192}
    meters = dict(evaluate("metersOf(run, lane)", run=run, lane={"steps": STEPS, "end": END}))
    assert meters == {
        "read + written": "37 + 4", "first token": "120 ms", "prefill": "152 tokens/s",
        "decode": "16.4 tokens/s", "per token": "61 ms", "context": "41 / 8,192", "KV cache": "4.0 KB",
        "stopped by": "token limit",
    }  # fmt: skip
    live = dict(evaluate("metersOf(run, lane)", run=run, lane={"steps": STEPS, "end": None}))
    assert (live["prefill"], live["stopped by"]) == ("–", "…")


def test_the_loop_as_a_table() -> None:
    rows = evaluate(
        "steps.map((step, place) => loopRow(37, steps, place, passesOf(37, steps, end)))",
        steps=STEPS,
        end=END,
    )
    told = [[row[name] for name in ("pass", "came", "fresh", "held", "picked", "time")] for row in rows]
    assert told == [
        ["1", None, "17", "20", "t0", "112 ms"],
        ["2", "t0", "1", "37", "t1", "52 ms"],
        ["–", "t1", "–", "–", "t2", "–"],
        ["3", "t2", "1", "39", "t3", "72 ms"],
    ]
    assert (rows[1]["prob"], rows[1]["finalProb"], rows[2]["how"]) == ("25.0%", "50.0%", "forced")


def test_a_block_of_chips_ends_with_a_line_then_with_a_sentence_then_anyway() -> None:
    newline, period, word = "0a", "2e", "2041"

    def ends(text: str, length: int) -> str | None:
        return evaluate("endsParagraph(text, length)", text=text, length=length)

    assert [ends(newline, 31), ends(newline, 32)] == [None, "line"]
    assert [ends(period, 95), ends(period, 96)] == [None, "sentence"]
    assert [ends(word, 191), ends(word, 192)] == [None, "length"]


def test_a_prompt_known_from_before_needs_no_pass() -> None:
    known = [step(0, 0.0), *STEPS[1:]]
    end = {**END, "prefill": 0, "reused": 37, "speed": [None, 16.4]}
    made = evaluate("passesOf(37, steps, end)", steps=known, end=end)
    assert evaluate("prefillWords(p.prefill)", p=made) == [
        "needs no pass: all 37 tokens are known from before", "",
    ]  # fmt: skip
    assert evaluate("[0, 1].map((index) => passWords(p, index))", p=made) == [
        "known from before, no pass", "pass 1, 52 ms",
    ]  # fmt: skip
    row = evaluate("loopRow(37, steps, 0, p)", p=made, steps=known)
    assert [row[name] for name in ("pass", "fresh", "held", "time")] == ["–", "–", "37", "–"]


def test_a_run_that_goes_on_keeps_the_prefill_that_read_the_prompt() -> None:
    later = {**END, "prefill": 48.0, "reused": 37, "speed": [20.8, None], "each": None}
    made = evaluate("passesOf(37, steps, later, first)", steps=STEPS, later=later, first=END)
    assert made["prefill"] == {"tokens": 37, "reused": 20, "time": 112.0, "speed": 151.8}
    assert made["speed"] == pytest.approx(1000 / made["each"])
    paused = evaluate("passesOf(37, steps, later, {})", steps=STEPS, later=later)  # its run told no end
    assert paused["prefill"] == {"tokens": 37, "reused": None, "time": 110.0, "speed": None}
