"""The inspector's arithmetic, against the sampler, over many random steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from playground.engine.record import step_numbers
from playground.sampling import Distribution, decide, distribution
from playground.trace import SamplingParams, TokenStep
from playground.ui.records import Recorder
from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node
SIZE = 400
SETTINGS = [
    {},
    {"temperature": 0.7, "top_k": 50, "top_p": 0.9, "min_p": 0.02},
    {"temperature": 1.8, "top_k": 7},
    {"temperature": 0},
    {"min_p": 0.1, "typical_p": 0.8},
    {"repetition_penalty": 1.4, "presence_penalty": 0.5, "min_p": 0.05, "top_k": 30},
    {"logit_bias": {3: 4.0, 9: -math.inf}, "banned": (5,), "top_p": 0.6},
]
ROLLS = [place / 37 for place in range(37)]

LOOK = """steps.map((op) => {
    const step = readStep(op.steps[0], { texts: op.texts, names: op.names || [] });
    const stretches = diceStretches(step);
    return {
        step, stretches, softmax: softmaxOf(step, step.candidates), tied: [...tiedIds(step)],
        left: leftOf(step, size), picked: rolls.map((u) => stretchAt(stretches, u)),
        cuts: step.stages.map((stage) => cutoffOf(step, stage)),
        shares: step.stages.map((stage) => countShare(stage.kept, size)),
    };
})"""


class Words:
    def bytes_of(self, token_id: int) -> bytes:
        return str(token_id).encode()

    def visible(self, token_id: int) -> str:
        return str(token_id)


def random_steps() -> list[tuple[Distribution, TokenStep]]:
    noise = np.random.default_rng(7)
    made = []
    for number in range(10 * len(SETTINGS)):
        logits = torch.tensor(noise.normal(0, noise.choice([0.5, 2, 5]), SIZE), dtype=torch.float32)
        best = int(logits.argmax())
        logits[(best + 1) % SIZE] = logits[best]  # a tie, and one that only nine digits tell from a tie
        logits[(best + 2) % SIZE] = torch.nextafter(logits[best], torch.tensor(-9.0))
        if number % 3 == 0:
            logits[(best + 3) % SIZE] = -math.inf
        params = SamplingParams(seed=1, **SETTINGS[number % len(SETTINGS)])
        row = distribution(logits, params, prompt_ids=[1, 2, 3], answer_ids=[best, 4, 4], end_ids=[0])
        decision = decide(row, float(noise.random()))
        numbers = step_numbers(row, decision, Words(), top_n=20, end_ids=[0])
        step = TokenStep(
            lane=0, index=number, position=number, token_id=decision.token_id, bytes=b"", text="", trimmed=0,
            queue_s=0.0, forward_s=0.0, sample_s=0.0, batch_lanes=1, kv_len=1, kv_bytes=1, **numbers,
        )  # fmt: skip
        made.append((row, step))
    return made


@pytest.fixture(scope="module")
def looked() -> list[tuple[Distribution, TokenStep, dict[str, Any]]]:
    made = random_steps()
    ops = [
        Recorder(visible=Words().visible, is_special=lambda token_id: False).tokens(0, [step])
        for _, step in made
    ]
    shown = evaluate(LOOK, steps=ops, size=SIZE, rolls=ROLLS)
    return [(row, step, each) for (row, step), each in zip(made, shown, strict=True)]


Looked = list[tuple[Distribution, TokenStep, dict[str, Any]]]


def test_softmax_by_hand_gives_the_raw_probabilities(looked: Looked) -> None:
    for row, step, shown in looked:
        true = {candidate.token_id: candidate for candidate in step.candidates}
        largest = float(row.logits.max())
        softmax = shown["softmax"]
        assert math.isclose(softmax["largest"], largest, rel_tol=1e-6)
        assert math.isclose(softmax["sum"], float(np.exp(row.logits - largest).sum()), rel_tol=2e-5)
        for line in softmax["lines"]:
            candidate = true[line["candidate"]["id"]]
            assert math.isclose(line["prob"], candidate.prob, rel_tol=2e-5)
            assert math.isclose(line["weight"], math.exp(candidate.logit - largest), rel_tol=2e-5)
            if candidate.logit > -math.inf:
                assert abs(line["below"] - (candidate.logit - largest)) < 1e-5
        assert math.isclose(softmax["rest"] / softmax["sum"], step.others_prob, rel_tol=1e-4, abs_tol=2e-5)


def test_every_roll_picks_what_the_sampler_picks(looked: Looked) -> None:
    named = unnamed = 0
    for row, step, shown in looked:
        listed = {part["id"] for part in shown["stretches"] if part["id"] is not None}
        edges = [part["high"] for part in shown["stretches"]]
        for u, picked in zip(ROLLS, shown["picked"], strict=True):
            if min(abs(edge - u) for edge in edges) < 2e-5:
                continue
            true = decide(row, u).token_id
            if picked["id"] is None:
                unnamed += 1
                assert true not in listed
            else:
                named += 1
                assert picked["id"] == true, (step.index, u)
        if shown["step"]["stages"]:  # otherwise it cannot tell what the model itself excludes
            assert shown["left"] == row.kept
        assert shown["stretches"][0]["low"] == 0
        assert math.isclose(edges[-1], 1, abs_tol=1e-5)
    assert named > 1000
    assert unnamed > 100


def test_ties_are_marked_and_near_ties_are_not(looked: Looked) -> None:
    for _, step, shown in looked:
        ordered = sorted(step.candidates, key=lambda candidate: candidate.rank)
        true = {
            candidate.token_id
            for candidate in ordered
            for other in ordered
            if candidate is not other
            and abs(candidate.rank - other.rank) == 1
            and candidate.logit == other.logit
        }
        assert set(shown["tied"]) == true
        assert len(true) >= 2


def test_reasons_arrive_word_for_word(looked: Looked) -> None:
    reasons = 0
    for _, step, shown in looked:
        true = {candidate.token_id: candidate.removed_why for candidate in step.candidates}
        assert {row["id"]: row["removedWhy"] for row in shown["step"]["candidates"]} == true
        reasons += sum(why is not None for why in true.values())
    assert reasons > 200


def test_cutoffs_stand_between_what_was_kept_and_what_was_cut(looked: Looked) -> None:
    seen = set()
    for _, step, shown in looked:
        active = [stage for stage in step.stages if stage.active]
        removed = {candidate.token_id: candidate.removed_by for candidate in step.candidates}
        for stage, cut, share in zip(active, shown["cuts"], shown["shares"], strict=True):
            assert 0 < share <= 1
            if stage.cutoff is None:
                assert cut is None
                continue
            seen.add(stage.name)
            assert 0 <= cut["from"] < cut["to"] <= 1
            assert 0 <= cut["at"] <= 1
            assert all(removed[tick["chosen"]] != "bans" for tick in cut["ticks"])
            for tick in cut["ticks"]:
                if removed[tick["chosen"]] == stage.name:
                    assert tick["at"] < cut["at"] + 1e-5
                elif removed[tick["chosen"]] is None:
                    assert tick["at"] > cut["at"] - 1e-5
    assert seen == {"top_k", "top_p", "min_p", "typical_p"}


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ({"name": "top_k", "setting": "50", "cutoff": 7.8371, "kept": 50}, "the 50th logit is 7.837"),
        (
            {"name": "top_k", "setting": "2", "cutoff": 7.5, "kept": 4},
            "the 2nd logit is 7.500 (2 level with it stay too)",
        ),
        (
            {"name": "top_p", "setting": "0.9", "cutoff": 0.904, "kept": 14},
            "the likeliest 14 hold 90.4%; 90.0% were asked for",
        ),
        (
            {"name": "min_p", "setting": "0.05", "cutoff": 0.0341, "kept": 6},
            "the floor is 3.4%, 5.0% of the likeliest’s 68.2%",
        ),
        (
            {"name": "typical_p", "setting": "0.9", "cutoff": 1.2345, "kept": 6},
            "at most 1.23 nats away from the entropy",
        ),
    ],
)
def test_cutoffs_are_said_in_their_own_terms(stage: dict[str, Any], words: str) -> None:
    candidate = {"id": 1, "logit": 9.0, "removedBy": None}
    step = {"stages": [stage], "candidates": [candidate]}
    assert evaluate("cutoffOf(step, step.stages[0]).words", step=step) == words


STEP = {"id": 1, "text": "␣the"}
MOVED = {"id": 2, "text": "␣a", "forward": 0, "draw": {"method": "sampled", "u": 0.455}, "stages": []}
PARAMS = {"typical_p": 1, "repetition_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0}


def said(moved: dict[str, Any], **params: Any) -> str:
    parts = evaluate(
        "whatIfWords(step, moved, params)", step=STEP, moved={**MOVED, **moved}, params={**PARAMS, **params}
    )
    return "".join(part if isinstance(part, str) else next(iter(part.values())) for part in parts)


def test_what_if_says_what_the_same_roll_picks_and_what_stays_in_force() -> None:
    start = "What if: the run itself is unchanged. "
    assert said({}) == start + "The same roll, 0.455, would pick ␣a instead of ␣the."
    assert said({"id": 1, "text": "␣the"}) == start + "The same roll, 0.455, would still pick ␣the."
    assert "No dice at temperature 0." in said({"draw": {"method": "greedy", "u": None}})
    assert "The token was forced" in said({"draw": {"method": "forced", "u": None}})
    held = said({}, repetition_penalty=1.3, logit_bias={"5": 2})
    assert held.endswith("Still in force: repetition penalty 1.3, bias.")
    dropped = said({"forward": 44.4})
    assert dropped.endswith("had been dropped, so the model read the text again: 44 ms.")


def test_a_roll_never_reads_one() -> None:
    assert evaluate("[0, 0.31249, 0.9994, 0.99999].map(rollText)") == ["0.000", "0.312", "0.999", "0.9999"]
