"""What a page without a server works out of listed tokens is what the sampling says of the same logits."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from playground.codec import to_plain
from playground.engine.record import step_numbers
from playground.sampling import Distribution, decide, dice, distribution, forced
from playground.trace import ModelInfo, Prompt, PromptToken, SamplingParams, Segment, TokenStep
from playground.ui.assets import script
from playground.ui.records import Op, Recorder
from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node
SIZE, PROMPT, ENDS, TOP_N = 400, (5, 6, 7), (2,), 20
INFO = ModelInfo("m", "0" * 64, "float32", "cpu", SIZE, None, ENDS)
RUN = SamplingParams(temperature=0.8, min_p=0.05, seed=19)


class Words:
    """A vocabulary of numbers; 9 and 10 are one word with and without a space before it."""

    def bytes_of(self, token_id: int) -> bytes:
        return {9: b"Paris", 10: b" Paris"}.get(token_id, str(token_id).encode())

    def visible(self, token_id: int) -> str:
        return self.bytes_of(token_id).decode().replace(" ", "␣")


def logits_of(seed: int, spread: float, coarse: bool = False) -> torch.Tensor:
    """(SIZE,) logits; `coarse` ones are level with each other here and there."""
    row = torch.randn(SIZE, generator=torch.Generator().manual_seed(seed)) * spread + 6
    return (row * 2).round() / 2 if coarse else row


def row_of(logits: torch.Tensor, params: SamplingParams, answer: Sequence[int]) -> Distribution:
    return distribution(logits, params, prompt_ids=PROMPT, answer_ids=answer, end_ids=ENDS)


def made(logits: torch.Tensor, params: SamplingParams, answer: Sequence[int], given: int | None) -> TokenStep:
    """The step of a run of these settings, as the engine records it."""
    row, place = row_of(logits, params, answer), len(answer)
    assert params.seed is not None
    decision = decide(row, dice(params.seed, place)) if given is None else forced(row, given)
    numbers = step_numbers(row, decision, Words(), top_n=TOP_N, end_ids=ENDS)
    text = Words().visible(decision.token_id)
    times: dict[str, Any] = dict.fromkeys(("queue_s", "forward_s", "sample_s"), 0.0)
    counts: dict[str, Any] = dict.fromkeys(("batch_lanes", "kv_len", "kv_bytes"), 1)
    return TokenStep(
        lane=0, index=place, position=3 + place, token_id=decision.token_id,
        bytes=Words().bytes_of(decision.token_id), text=text, trimmed=0, **numbers, **times, **counts,
    )  # fmt: skip


def ops_of(steps: Sequence[TokenStep], params: SamplingParams) -> list[Op]:
    recorder = Recorder(visible=Words().visible, is_special=lambda token_id: token_id in ENDS)
    tokens = tuple(PromptToken(i, t, b"a", i, i + 1, 0, False, None, None) for i, t in enumerate(PROMPT))
    prompt = Prompt("aaa", (Segment("raw", 0, 3, False),), tokens, PROMPT, None)
    return [recorder.reset(INFO, 1, params=params), recorder.prompt(prompt), recorder.tokens(0, steps)]


def asks(cases: Sequence[dict[str, Any]]) -> list[Any]:
    """For each case, {ops, asked}: the answer as the inspector reads it, or its error."""
    code = f"""(() => {{ {script("offline")}
        return cases.map(({{ ops, asked }}) => {{
            const answer = makeOffline(ops)(asked);
            if (answer.error) return answer;
            const step = readStep(answer.steps[0], answer);
            return {{ ...step, found: answer.found }};
        }}); }})()"""
    answers: list[Any] = evaluate(code, cases=json.loads(json.dumps(cases)))
    return answers


def asked_of(answer: Sequence[int], params: SamplingParams, **more: Any) -> dict[str, Any]:
    asked = {"prompt_ids": list(PROMPT), "answer_ids": list(answer), "params": to_plain(params)}
    return {**asked, "given": None, "u": None, "find": None, **more}


def alike(one: str | None, other: str | None) -> bool:
    """The same words, and numbers that differ by no more than rounding."""
    parts = [re.split(r"(-?\d+\.?\d*(?:e-?\d+)?)", text or "") for text in (one, other)]
    if parts[0][::2] != parts[1][::2]:
        return False
    pairs = zip(parts[0][1::2], parts[1][1::2], strict=True)
    return all(float(mine) == pytest.approx(float(yours), rel=2e-3) for mine, yours in pairs)


OTHERS = [
    replace(RUN, temperature=0.0),
    replace(RUN, temperature=1e-38),
    replace(RUN, temperature=1.0, min_p=0.0),
    replace(RUN, temperature=1.0, min_p=0.0, top_p=0.9),
    replace(RUN, temperature=1.7, min_p=0.0),
    replace(RUN, temperature=1.3, min_p=0.0, top_p=0.8),
    replace(RUN, temperature=0.6, top_k=7, top_p=0.9, min_p=0.1),
    replace(RUN, top_k=200, min_p=0.0),
    replace(RUN, min_p=1.0),
    replace(RUN, min_p=0.001),
    replace(RUN, temperature=1.2, top_k=1),
    replace(RUN, repetition_penalty=1.3, top_k=5),
    replace(RUN, repetition_penalty=0.7, top_k=5),
    replace(RUN, presence_penalty=0.5, frequency_penalty=0.4),
    replace(RUN, temperature=1.0, min_p=0.0, logit_bias={9: -2.0, 10: float("-inf"), 399: float("-inf")}),
    replace(RUN, logit_bias={9: 4.0}, banned=(10, 11, 398), min_tokens=9),
    replace(RUN, temperature=1.0, min_p=0.0, banned=(398,)),
]


@pytest.mark.parametrize("coarse", [False, True], ids=["fine", "level"])
@pytest.mark.parametrize("forcing", [False, True], ids=["drawn", "forced"])
def test_a_step_under_other_settings_is_the_samplings_own(coarse: bool, forcing: bool) -> None:
    cases, truths = [], []
    for seed, spread in ((1, 1.0), (2, 3.0), (3, 6.0)):
        logits = logits_of(seed, spread, coarse)
        answer = [9, 31, 9]
        first, second, third = (made(logits, RUN, answer[:place], None) for place in range(3))
        given = int(logits.argsort()[-60]) if forcing else None
        step = made(logits, RUN, answer, given)
        for other in OTHERS:
            cases.append(
                {
                    "ops": ops_of((first, second, third, step), RUN),
                    "asked": asked_of(answer, other, given=given),
                }
            )
            truths.append((logits, step, other, answer, given))
    exact = 0
    for got, (logits, step, other, answer, given) in zip(asks(cases), truths, strict=True):
        listed = [candidate.token_id for candidate in step.candidates]
        alone = any(stage["name"] == "listed" for stage in got["stages"])
        exact += not alone
        if alone:
            only = torch.full_like(logits, -math.inf)
            only[listed] = logits[listed]
            logits = only
        row = row_of(logits, other, answer)
        assert other.seed is not None
        # the roll of the run, which is stored with ten digits
        decision = decide(row, dice(other.seed, step.index)) if given is None else forced(row, given)
        assert got["id"] == decision.token_id
        assert got["draw"]["method"] == decision.method
        assert (got["draw"]["low"], got["draw"]["high"]) == pytest.approx(
            (decision.low, decision.high), abs=3e-5
        )
        finals = dict(zip(listed, row.final_prob(torch.tensor(listed).numpy()).tolist(), strict=True))
        for candidate in got["candidates"]:
            assert candidate["finalProb"] == pytest.approx(finals[candidate["id"]], abs=3e-5)
            name, why = row.removed(candidate["id"])
            assert candidate["removedBy"] == name
            if alone or "chance" not in (candidate["removedWhy"] or ""):
                assert alike(candidate["removedWhy"], why)
        assert got["othersFinalProb"] == pytest.approx(max(0.0, 1 - sum(finals.values())), abs=3e-5)
        assert got["finalEntropy"] == pytest.approx(row.final_entropy, abs=1e-3)
        stages = [stage for stage in row.stages if stage.active]
        shown = got["stages"][1:] if alone else got["stages"]
        assert [(s["name"], s["setting"], s["kept"]) for s in shown] == [
            (stage.name, stage.setting, stage.kept) for stage in stages
        ]
        if not alone:
            assert [s["mass"] for s in shown] == pytest.approx([s.mass for s in stages], abs=1e-4)
    assert exact > len(truths) / 3  # much can be told of the whole vocabulary


def test_each_roll_picks_what_the_sampling_picks_or_says_that_it_is_not_listed() -> None:
    logits = logits_of(4, 2.0)
    wide = replace(RUN, temperature=1.0, min_p=0.0)
    rolls = [0.0, 0.1, 0.4, 0.7, 0.9, 0.97, 0.999]
    for params in (RUN, wide):
        step, row = made(logits, params, (), None), row_of(logits, params, ())
        ops = ops_of([step], params)
        answers = asks([{"ops": ops, "asked": asked_of((), params, u=u)} for u in rolls])
        listed = {candidate.token_id for candidate in step.candidates}
        told = 0
        for u, got in zip(rolls, answers, strict=True):
            decision = decide(row, u)
            if "error" in got:
                assert got["error"].startswith("Not available here: it is not among the")
                assert decision.token_id not in listed or params is wide
                continue
            told += 1
            assert (got["id"], got["draw"]["u"]) == (decision.token_id, u)
            assert got["draw"]["high"] == pytest.approx(decision.high, abs=3e-5)
        assert told == len(rolls) if params is RUN else 0 < told < len(rolls)


def test_the_runs_own_settings_give_back_its_own_step_and_find_reads_the_listed_texts() -> None:
    logits = logits_of(5, 2.0)
    logits[9], logits[10], logits[77] = 20.0, 19.0, 18.0
    step = made(logits, RUN, (), None)
    ops = ops_of([step], RUN)
    texts = ["Paris", " Paris", "#77", "77", "Lyon", "399"]
    answers = asks([{"ops": ops, "asked": asked_of((), RUN, find=text)} for text in texts])
    found = [
        [(each["id"], each["how"]) for each in got["found"]] if "found" in got else None for got in answers
    ]
    assert found[:3] == [[(9, "text"), (10, "space")], [(10, "text")], [(77, "id")]]
    assert found[3] == [(77, "id")]
    assert answers[0]["id"] == step.token_id
    assert answers[0]["finalProb"] == pytest.approx(step.final_prob, abs=1e-6)
    assert answers[4]["error"].startswith("Not available here: this page knows the ")


def test_what_cannot_be_told_says_so() -> None:
    step = made(logits_of(6, 2.0), RUN, (), None)
    ops = ops_of([step], RUN)
    everything = tuple(candidate.token_id for candidate in step.candidates)
    typical, banned = replace(RUN, typical_p=0.5), replace(RUN, banned=everything)
    prompt = {**asked_of((), RUN), "prompt_ids": [5]}
    greedy = replace(RUN, seed=None, temperature=0.0)
    unrolled = ops_of([made(logits_of(6, 2.0), replace(greedy, seed=1), (), None)], greedy)
    told = asks(
        [
            {"ops": ops, "asked": asked_of((), typical)},
            {"ops": ops, "asked": asked_of((), banned)},
            {"ops": ops, "asked": prompt},
            {"ops": unrolled, "asked": asked_of((), replace(greedy, temperature=1.0))},
        ]
    )
    assert [answer["error"].split(": ")[0] for answer in told] == ["Not available here"] * 4
    reasons = ("typical-p weighs", "leave none of the", "holds no model", "without a seed")
    for answer, reason in zip(told, reasons, strict=True):
        assert reason in answer["error"]


def test_a_step_that_does_not_even_list_the_likeliest_is_told_over_what_it_lists() -> None:
    step = made(logits_of(7, 1.0), replace(RUN, temperature=2.0, min_p=0.0), (), None)
    few = tuple(candidate for candidate in step.candidates if candidate.rank > 3)
    step = replace(step, candidates=few, token_id=few[0].token_id, rank=few[0].rank)
    others = [replace(RUN, temperature=heat) for heat in (0.0, 1.0, 1.5)]
    ops = ops_of([step], replace(RUN, temperature=2.0))
    for got in asks([{"ops": ops, "asked": asked_of((), other)} for other in others]):
        assert got["stages"][0]["name"] == "listed"
        assert sum(candidate["finalProb"] for candidate in got["candidates"]) == pytest.approx(1)


def test_the_dice_are_those_of_the_engine() -> None:
    picks = random.Random(3)
    seeds = [0, 1, 19, 2**53 + 1, 2**64 - 1, *(picks.randrange(2**64) for _ in range(20))]
    pairs = [(seed, step) for seed in seeds for step in (0, 1, 2, 511)]
    code = f"(() => {{ {script('offline')} return pairs.map(([seed, step]) => diceOf(seed, step)); }})()"
    assert evaluate(code, pairs=[[str(seed), step] for seed, step in pairs]) == [dice(*p) for p in pairs]
