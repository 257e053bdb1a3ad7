"""What a stranger's trace must satisfy beyond the types of its fields."""

from __future__ import annotations

import math
import re
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playground.trace import TokenStep, Trace

_SLACK = 1e-6  # of sums of rounded shares
_SHARE = (-_SLACK, 1 + _SLACK)
_NOT_NEGATIVE = (0.0, 1e300)  # and so finite
_ENTROPY = (-_SLACK, 1e300)

# The least and the largest value of a field, by its name: the same name means the same everywhere.
_RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("prob", "final_prob", "others_prob", "others_final_prob", "end_prob"), _SHARE),
    **dict.fromkeys(("mass", "gap", "low", "high"), _SHARE),
    "u": (0.0, math.nextafter(1.0, 0.0)),
    "logprob": (-math.inf, _SLACK),
    "logit": (-math.inf, 1e300),
    **dict.fromkeys(("entropy", "final_entropy"), _ENTROPY),
    "rank": (1, math.inf),
    **dict.fromkeys(("vocabulary", "context"), (1, math.inf)),
    **dict.fromkeys(("lane", "index", "position", "token_id", "segment", "start", "end"), (0, math.inf)),
    **dict.fromkeys(("kept", "trimmed", "batch_lanes", "kv_len", "kv_bytes", "step"), (0, math.inf)),
    **dict.fromkeys(("reused_tokens", "prompt_tokens", "answer_tokens", "passes"), (0, math.inf)),
    **dict.fromkeys(("queue_s", "forward_s", "sample_s", "prefill_s", "ttft_s", "tpot_s"), _NOT_NEGATIVE),
    **dict.fromkeys(("prefill_tps", "decode_tps"), _NOT_NEGATIVE),
}


def check_ranges(record: Any, path: str) -> None:
    """Raise ValueError for the first number in a dataclass, or in those it holds, that cannot be."""
    for field in fields(record):
        value, where = getattr(record, field.name), f"{path}.{field.name}"
        for index, item in enumerate(value if type(value) is tuple else ()):
            if is_dataclass(item):
                check_ranges(item, f"{where}[{index}]")
        if is_dataclass(value):
            check_ranges(value, where)
        elif type(value) in (int, float) and field.name in _RANGES:
            low, high = _RANGES[field.name]
            if not low <= value <= high:
                raise ValueError(f"{where} must be in [{low:g}, {high:g}], got {value!r:.40}")


def check_trace(trace: Trace) -> None:
    """Raise ValueError, in one sentence, for a trace whose numbers cannot be or whose parts do not fit."""
    check_ranges(trace, "Trace")
    prompt = trace.prompt
    if tuple(token.token_id for token in prompt.tokens) != prompt.ids:
        raise ValueError("this trace is broken: the prompt's ids and tokens differ")
    for position, token in enumerate(prompt.tokens):
        if not token.start <= token.end <= len(prompt.text) or token.segment >= len(prompt.segments):
            raise ValueError(f"this trace is broken: prompt token {position} lies outside the prompt")
        _check_id(token.token_id, trace)
    for segment in prompt.segments:
        if not segment.start <= segment.end <= len(prompt.text):
            raise ValueError("this trace is broken: a segment lies outside the prompt")
    for name in (trace.id, *([trace.parent.trace] if trace.parent else [])):
        check_name(name, "trace")
    for token_id in (*trace.model.end_ids, *trace.params.banned, *trace.params.logit_bias):
        _check_id(token_id, trace)
    for index, cut in trace.finished.trimmed:
        if not (0 <= index < len(trace.steps) and 0 <= cut <= len(trace.steps[index].bytes)):
            raise ValueError(f"this trace is broken: {cut!r:.40} bytes cannot be cut from step {index!r:.40}")
    cuts = dict(trace.finished.trimmed)
    for expected, step in enumerate(trace.steps):
        if step.index != expected:
            raise ValueError(f"this trace is broken: step {expected} has index {step.index}")
        for token_id in (step.token_id, *(candidate.token_id for candidate in step.candidates)):
            _check_id(token_id, trace)
        if step.draw.low > step.draw.high or (step.draw.u is None) == (step.draw.method == "sampled"):
            raise ValueError(f"this trace is broken: step {expected} has no possible draw")
        if step.trimmed != cuts.get(expected, 0):
            raise ValueError(
                f"this trace is broken: step {expected} and the end differ on what is cut from it"
            )
        _check_candidates(step)
    _check_text(trace)


def _check_candidates(step: TokenStep) -> None:
    """What a step lists, and all that it does not list, is the whole distribution; the chosen is listed."""
    listed = [candidate.token_id for candidate in step.candidates]
    if step.token_id not in listed:
        raise ValueError(
            f"this trace is broken: step {step.index} does not list its own token {step.token_id}"
        )
    if len(set(listed)) < len(listed):
        raise ValueError(f"this trace is broken: step {step.index} lists a token twice")
    sums = {
        "raw": math.fsum((step.others_prob, *(candidate.prob for candidate in step.candidates))),
        "final": math.fsum(
            (step.others_final_prob, *(candidate.final_prob for candidate in step.candidates))
        ),
    }
    for name, total in sums.items():
        if abs(total - 1) > _SLACK:
            raise ValueError(
                f"this trace is broken: the {name} shares of step {step.index} come to {total:.7g}, not to 1"
            )


def _check_text(trace: Trace) -> None:
    """The answer is what its bytes say, each run of bytes that is no character as U+FFFD.

    Tokens are decoded one by one when they are made, a control token ending a broken run: a run that it ends
    is broken in one piece too, since what follows it is text and no continuation byte.
    """
    kept = b"".join(step.bytes[: len(step.bytes) - step.trimmed] for step in trace.steps)
    if kept.decode("utf-8", "replace") != trace.finished.text:
        raise ValueError("this trace is broken: the bytes of its steps are not those of its answer")


def check_name(name: str, kind: str) -> None:
    """Ids name files and links, so they are nothing but what this program makes: 128 bits in hex."""
    if not re.fullmatch("[0-9a-f]{32}", name):
        raise ValueError(f"this {kind} is broken: {name!r:.60} is no id of a {kind}")


def _check_id(token_id: int, trace: Trace) -> None:
    if not 0 <= token_id < trace.model.vocabulary:
        raise ValueError(f"this trace is broken: the model has no token {token_id!r:.40}")
