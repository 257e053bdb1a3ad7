"""Engines over the stand-in models, prompts of bare ids, and the invariants that every trace keeps."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.trace import ModelInfo, Prompt, PromptToken, Segment, Trace
from tests.fakes import IM_END, byte_tokenizer


@contextlib.contextmanager
def engine_of(
    model: Any,
    *,
    tokenizer: Any = None,
    context: int | None = 256,
    end_ids: Sequence[int] = (IM_END,),
    **limits: Any,
) -> Iterator[LocalEngine]:
    """An engine over a stand-in model, closed at the end."""
    info = ModelInfo("stand-in", "0" * 64, "float32", "cpu", model.config.vocab_size, context, tuple(end_ids))
    engine = LocalEngine(Loaded(model, tokenizer or byte_tokenizer(), info), **limits)
    try:
        yield engine
    finally:
        engine.close()


def prompt_of(ids: Sequence[int]) -> Prompt:
    """A raw prompt of bare ids; the text is only as long as it has to be."""
    tokens = tuple(
        PromptToken(place, token_id, b"x", place, place + 1, 0, False, None, None)
        for place, token_id in enumerate(ids)
    )
    return Prompt("x" * len(ids), (Segment("raw", 0, len(ids), False),), tokens, tuple(ids), None)


def check_trace(trace: Trace) -> Trace:
    """Assert what data types promise of every trace: sums, intervals, ranks, bytes, JSON."""
    finished = trace.finished
    assert finished.answer_tokens == len(trace.steps)
    assert finished.prompt_tokens == len(trace.prompt.ids)
    for step in trace.steps:
        listed = step.candidates
        assert math.isclose(sum(entry.prob for entry in listed) + step.others_prob, 1, abs_tol=1e-6)
        assert math.isclose(
            sum(entry.final_prob for entry in listed) + step.others_final_prob, 1, abs_tol=1e-6
        )
        assert (
            len({entry.token_id for entry in listed}) == len(listed) == len({entry.rank for entry in listed})
        )
        draw = step.draw
        assert abs(draw.high - draw.low - step.final_prob) <= 1e-12
        chosen = next(entry for entry in listed if entry.token_id == step.token_id)
        assert (chosen.prob, chosen.rank, chosen.final_prob) == (step.prob, step.rank, step.final_prob)
        if draw.method == "sampled":
            assert draw.u is not None
            assert draw.low <= draw.u < draw.high
        else:
            assert draw.u is None
        if draw.method != "forced":
            assert step.final_prob > 0
            assert chosen.removed_by is None
        for entry in listed:
            assert (entry.removed_by is None) == (entry.final_prob > 0) or entry.final_prob == 0
            assert 0 <= entry.prob <= 1
            assert entry.logprob <= 0
        kept = [stage.kept for stage in step.stages]
        assert kept == sorted(kept, reverse=True)
        assert 0 <= step.entropy <= math.log(trace.model.vocabulary) + 1e-6
    joined = b"".join(step.bytes[: len(step.bytes) - step.trimmed] for step in trace.steps)
    assert joined.decode("utf-8", "replace") == finished.text
    assert "".join(step.text for step in trace.steps) == finished.text
    assert [step.index for step in trace.steps] == list(range(len(trace.steps)))
    assert Trace.from_json(trace.to_json()) == trace
    return trace
