"""What is sent for a step is small, and the page rebuilds every number it shows from it."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.trace import Finished, Prompt, SamplingParams, TokenStep
from playground.ui.records import Op, Recorder, compact
from tests.ui.fake_engine import END, FakeEngine
from tests.ui.javascript import evaluate, needs_node

SETTINGS = [
    SamplingParams(seed=3),
    SamplingParams(temperature=0.9, top_k=50, top_p=0.9, min_p=0.03, seed=5),
    SamplingParams(temperature=0, seed=1),
    SamplingParams(temperature=1.6, top_k=3, seed=8),
    SamplingParams(repetition_penalty=1.3, frequency_penalty=0.7, min_p=0.02, typical_p=0.9, seed=2),
]
NAMES = ["plain", "filters", "greedy", "hot", "penalties"]


def recorder(engine: FakeEngine) -> Recorder:
    return Recorder(visible=engine.vocabulary.visible, is_special=engine.vocabulary.is_special)


def played(params: SamplingParams, batch: int = 3) -> tuple[Prompt, list[TokenStep], Finished, list[Op]]:
    """A run of the fake engine and the operations that the board gets of it, `batch` steps at a time."""
    engine = FakeEngine()
    prompt, *rest = engine.stream(engine.chat([{"role": "user", "content": "Say <b> 👩🏽"}]), params)
    steps = [event for event in rest if isinstance(event, TokenStep)]
    finished = rest[-1]
    assert isinstance(prompt, Prompt)
    assert isinstance(finished, Finished)
    notes = recorder(engine)
    ops = [notes.reset(engine.info, 1), notes.prompt(prompt)]
    ops += [notes.tokens(0, steps[at : at + batch]) for at in range(0, len(steps), batch)]
    return prompt, steps, finished, [*ops, notes.end(finished)]


REBUILD = """(() => {
    const book = { texts: {}, names: [] };
    const steps = [];
    for (const op of ops) {
        if (op.op !== 'tokens') continue;
        Object.assign(book.texts, op.texts);
        book.names.push(...(op.names || []));
        for (const record of op.steps) {
            const step = readStep(record, book);
            steps.push({ ...step, shown: likeliest(step, 10), stretches: diceStretches(step),
                decision: decisionOf(step), reasons: step.candidates.map((c) => reasonOf(step, c)) });
        }
    }
    return steps;
})()"""


def close(shown: Any, true: float, tolerance: float = 6e-5) -> bool:
    """Equal to the fifth digit, which is one more than the page ever shows."""
    if true == -math.inf:
        return shown in (None, "-Infinity")
    return math.isclose(float(shown), true, rel_tol=tolerance, abs_tol=1e-9)


@needs_node
@pytest.mark.parametrize("params", SETTINGS, ids=NAMES)
def test_the_page_rebuilds_every_number_of_a_step(params: SamplingParams) -> None:
    _, steps, _, ops = played(params)
    check_steps(steps, ops)


@needs_node
@pytest.mark.model
@pytest.mark.parametrize("params", SETTINGS, ids=NAMES)
def test_the_page_rebuilds_every_number_of_the_bundled_model(bundled: Loaded, params: SamplingParams) -> None:
    """The same with a vocabulary of 49,152, and the size that was promised."""
    engine = LocalEngine(bundled)
    prompt = engine.chat([{"role": "user", "content": "Tell me about 👩🏽 in one sentence."}])
    events = engine.stream(prompt, replace(params, max_tokens=24))
    steps = [event for event in events if isinstance(event, TokenStep)]
    notes = Recorder(visible=engine.vocabulary.visible, is_special=engine.vocabulary.is_special)
    ops = [notes.tokens(0, [step]) for step in steps]
    engine.close()
    check_steps(steps, ops, specials=engine.vocabulary.is_special)
    sizes = [len(compact(op).encode()) for op in ops]
    assert sum(sizes) / len(sizes) <= 1400
    assert max(sizes) <= 2500


def check_steps(
    steps: list[TokenStep], ops: list[Op], specials: Callable[[int], bool] = lambda id_: id_ <= END
) -> None:
    rebuilt = evaluate(REBUILD, ops=ops)
    assert len(rebuilt) == len(steps) > 10
    for shown, step in zip(rebuilt, steps, strict=True):
        assert (shown["index"], shown["position"], shown["id"]) == (step.index, step.position, step.token_id)
        assert shown["hex"] == step.bytes.hex()
        assert shown["rank"] == step.rank
        for name, true in {
            "prob": step.prob, "finalProb": step.final_prob, "entropy": step.entropy,
            "finalEntropy": step.final_entropy, "gap": step.gap, "endProb": step.end_prob,
            "othersProb": step.others_prob, "othersFinalProb": step.others_final_prob,
            "kvLen": step.kv_len, "kvBytes": step.kv_bytes, "batchLanes": step.batch_lanes,
        }.items():  # fmt: skip
            assert close(shown[name], true), (name, shown[name], true)
        assert abs(shown["logprob"] - step.logprob) < 2e-5
        for name, true in (("queue", step.queue_s), ("forward", step.forward_s), ("sample", step.sample_s)):
            assert abs(shown[name] - 1000 * true) <= 0.006  # milliseconds with two decimals
        assert shown["draw"]["method"] == step.draw.method
        assert (shown["draw"]["u"] is None) == (step.draw.u is None)
        for edge in ("low", "high"):
            assert abs(shown["draw"][edge] - getattr(step.draw, edge)) < 1e-9
        assert [s["name"] for s in shown["stages"]] == [s.name for s in step.stages if s.active]
        for drawn, stage in zip(shown["stages"], (s for s in step.stages if s.active), strict=True):
            assert (drawn["setting"], drawn["kept"]) == (stage.setting, stage.kept)
            assert close(drawn["mass"], stage.mass)
            assert (drawn["cutoff"] is None) == (stage.cutoff is None)
        check_candidates(shown, step, specials)


def check_candidates(shown: dict[str, Any], step: TokenStep, specials: Callable[[int], bool]) -> None:
    true = {candidate.token_id: candidate for candidate in step.candidates}
    assert [row["id"] for row in shown["candidates"]] == sorted(true, key=lambda id_: true[id_].rank)
    for row in shown["candidates"]:
        candidate = true[row["id"]]
        assert row["text"] == candidate.text
        assert row["rank"] == candidate.rank
        assert (row["removedBy"], row["removedWhy"]) == (candidate.removed_by, candidate.removed_why)
        assert close(row["logit"], candidate.logit)
        assert close(row["prob"], candidate.prob)
        assert close(row["finalProb"], candidate.final_prob)
        assert row["special"] == specials(row["id"])
    rows, others = shown["shown"]["rows"], shown["shown"]["others"]
    assert step.token_id in [row["id"] for row in rows]
    assert math.isclose(sum(row["prob"] for row in rows) + others["prob"], 1, abs_tol=1e-4)
    assert math.isclose(sum(row["finalProb"] for row in rows) + others["finalProb"], 1, abs_tol=1e-4)


@needs_node
def test_the_dice_bar_puts_the_chosen_token_where_the_draw_did() -> None:
    _, steps, _, ops = played(SETTINGS[1])
    for shown, step in zip(evaluate(REBUILD, ops=ops), steps, strict=True):
        edges = [(part["low"], part["high"]) for part in shown["stretches"]]
        assert all(low <= high for low, high in edges)
        assert all(after[0] >= before[1] - 1e-6 for before, after in itertools.pairwise(edges))
        hit = next(part for part in shown["stretches"] if part["id"] == step.token_id)
        assert step.draw.u is not None
        assert hit["low"] <= step.draw.u < hit["high"]


@needs_node
def test_prompt_numbers_are_rebuilt() -> None:
    prompt, _, _, ops = played(SETTINGS[0])
    rows = evaluate("ops[1].tokens.map(readPromptToken)", ops=ops)
    for row, token in zip(rows, prompt.tokens, strict=True):
        assert (row["id"], row["position"], row["segment"]) == (token.token_id, token.position, token.segment)
        assert row["special"] == token.is_special
        if token.logprob is None:
            assert row["prob"] is None
        else:
            assert close(row["prob"], math.exp(token.logprob))
            assert row["rank"] == token.rank


def test_a_step_takes_about_one_kilobyte() -> None:
    _, steps, _, ops = played(SETTINGS[1], batch=1)
    sizes = [len(compact(op).encode()) for op in ops if op["op"] == "tokens"]
    assert len(sizes) == len(steps)
    assert sum(sizes) / len(sizes) <= 1400
    assert max(sizes) <= 2500


def test_b43_texts_are_sent_once_a_run() -> None:
    _, _, _, ops = played(SETTINGS[1], batch=1)
    told = [token_id for op in ops for token_id in op.get("texts", {})]
    assert len(told) == len(set(told))
    names = [name for op in ops for name in op.get("names", [])]
    assert len(names) == len(set(names))


def test_released_text_is_sent_only_where_it_is_not_the_tokens_own() -> None:
    _, steps, _, ops = played(SamplingParams(temperature=0, seed=1))
    rows = [row for op in ops if op["op"] == "tokens" for row in op["steps"]]
    for row, step in zip(rows, steps, strict=True):
        assert row.get("x", step.bytes.decode("utf-8", "replace")) == step.text


def test_the_end_carries_the_text_only_if_more_was_released_at_the_end() -> None:
    engine = FakeEngine()
    notes = recorder(engine)
    _, steps, finished, _ = played(SETTINGS[0])
    notes.tokens(0, steps)
    assert "text" not in notes.end(finished)
    assert recorder(engine).end(finished)["text"] == finished.text


def test_b37_what_is_sent_is_strict_json() -> None:
    """A token that the model itself excludes has a logit of minus infinity."""
    engine = FakeEngine()
    step = next(e for e in engine.stream(engine.raw("x"), SETTINGS[0]) if isinstance(e, TokenStep))
    best, *others = sorted(step.candidates, key=lambda candidate: candidate.rank)
    cut = [
        replace(c, logit=-math.inf, prob=0.0, logprob=-math.inf, final_prob=0.0, removed_by="model")
        for c in others
    ]
    op = recorder(engine).tokens(0, [replace(step, candidates=(best, *cut))])
    sent = compact(op)
    assert json.loads(sent, parse_constant=lambda name: pytest.fail(name)) == op
    assert [row[1] for row in op["steps"][0]["r"][1:]] == [None] * len(cut)


def test_what_is_sent_can_be_encoded_whatever_it_holds() -> None:
    message = {"text": "a\ud800b ␣ \\ud800"}
    sent = compact(message)
    assert json.loads(sent.encode()) == message
    assert "␣" in sent
