"""Lanes and comparisons for tests: by an engine, and made by hand from a few numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from playground.findings import Comparison
from playground.findings.compare import VERSION
from playground.params import SamplingParams
from playground.trace import (
    Candidate,
    Draw,
    Finished,
    FinishReason,
    ModelInfo,
    Prompt,
    Stage,
    TokenStep,
    Trace,
    collect,
)
from tests.engines import prompt_of

MODEL = ModelInfo("stand-in", "0" * 64, "float32", "cpu", 64, 256, (0,))
PROMPT = prompt_of([5, 6, 7])


def traces_of(engine: Any, prompt: Any, settings: Sequence[SamplingParams], **options: Any) -> list[Trace]:
    """One trace per lane of one run."""
    events = list(engine.stream(prompt, settings, **options))
    return [
        collect(engine.info, params, (event for event in events if event.lane in (None, lane)))
        for lane, params in enumerate(settings)
    ]


def step_of(
    index: int,
    token_id: int,
    raw: Mapping[int, float],
    final: Mapping[int, float] | None = None,
    *,
    method: Any = "sampled",
    u: float | None = 0.5,
    texts: Mapping[int, str] | None = None,
) -> TokenStep:
    """A step that lists `raw` (id -> probability) and `final`, by default the same; all else is cut."""
    final = raw if final is None else final
    listed = {**dict.fromkeys(final, 0.0), **raw, token_id: raw.get(token_id, 0.0)}
    order = sorted(listed, key=lambda each: (-listed[each], each))
    candidates = tuple(
        Candidate(
            each, _bytes(each), (texts or {}).get(each, _bytes(each).decode()), 0.0, listed[each],
            math.log(listed[each]) if listed[each] else -math.inf, rank, final.get(each, 0.0),
            None if final.get(each) else "top_k", None if final.get(each) else "cut", "top",
        )
        for rank, each in enumerate(order, 1)
    )  # fmt: skip
    chosen = next(each for each in candidates if each.token_id == token_id)
    return TokenStep(
        lane=0, index=index, position=len(PROMPT.ids) + index, token_id=token_id, bytes=_bytes(token_id),
        text=_bytes(token_id).decode(), trimmed=0, prob=chosen.prob, logprob=chosen.logprob, rank=chosen.rank,
        final_prob=chosen.final_prob, candidates=candidates, others_prob=1 - sum(raw.values()),
        others_final_prob=0.0, entropy=_entropy(raw), final_entropy=_entropy(final), gap=0.0,
        stages=(Stage("top_k", "0", False, None, len(final), 1.0),),
        draw=Draw(method, u if method == "sampled" else None, 0.0, 1.0), end_prob=0.0, queue_s=0.0,
        forward_s=0.1, sample_s=0.0, batch_lanes=1, kv_len=1, kv_bytes=64,
    )  # fmt: skip


def trace_of(
    steps: Sequence[TokenStep],
    params: SamplingParams | None = None,
    *,
    reason: FinishReason = "max_tokens",
    prompt: Prompt = PROMPT,
) -> Trace:
    text = "".join(step.text for step in steps)
    end = Finished(
        0, text, (), 0, reason, "", "It ended.", len(prompt.ids), len(steps), len(steps), 0.1,
        0.25 if steps else None, 0.05 if len(steps) > 1 else None, 30.0, 20.0,
    )  # fmt: skip
    return collect(MODEL, params or SamplingParams(seed=1), [prompt, *steps, end])


def answer_of(ids: Sequence[int], params: SamplingParams | None = None, **more: Any) -> Trace:
    """A trace of the answer `ids`, each all but certain."""
    return trace_of([step_of(index, each, {each: 1.0}) for index, each in enumerate(ids)], params, **more)


def comparison_of(traces: Sequence[Trace], **changes: Any) -> Comparison:
    plain: dict[str, Any] = {
        "version": VERSION, "id": "0f" * 16, "created": "2026-01-01T00:00:00+00:00", "kind": "lanes",
        "names": tuple(f"lane {number + 1}" for number in range(len(traces))), "reference": 0,
        "same_dice": True, "exact": False, "sweep": None,
    }  # fmt: skip
    return Comparison(**{**plain, **changes}, traces=tuple(traces))


def _bytes(token_id: int) -> bytes:
    return b"" if token_id == 0 else bytes([64 + token_id])


def _entropy(probs: Mapping[int, float]) -> float:
    return max(0.0, -sum(prob * math.log(prob) for prob in probs.values() if prob))
