"""The trace of a run: every token with all that is known about it.

Frozen data types and their JSON. This module imports neither torch nor transformers, gradio or plotly, so
that whatever shows, stores or compares a run needs none of them.

Probabilities are in [0, 1], log-probabilities in nats (≤ 0), times in seconds (`_s`), sizes in bytes.
`rank` counts from 1; equal logits rank by lowest id. `prob`, `logprob` and `rank` are *raw*: the model's own
distribution, softmax of the logits in float32 at temperature 1 with nothing filtered. `final_prob` is the
distribution the token was drawn from. The two are never mixed in one field.

JSON: one object per trace, `version` first; bytes as lower-case hex; a number that is not finite (minus
infinity, of a token that cannot be picked) as null.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from playground.checks import check_ranges, check_trace
from playground.codec import from_plain, read_object, to_plain
from playground.params import SamplingParams

__all__ = [
    "Candidate", "Draw", "Event", "Finished", "ModelInfo", "Parent", "Prompt", "PromptToken",
    "SamplingParams",
    "Segment", "Stage", "TokenStep", "Trace", "collect", "event_record", "from_event_record",
]  # fmt: skip

VERSION = 1
Bytes = bytes  # the fields named `bytes` would hide the type

SegmentKind = Literal["template", "system", "user", "assistant", "tool", "generation_prompt", "raw"]
ListedFor = Literal["top", "chosen", "watched", "end_token"]
FinishReason = Literal[
    "end_token",
    "stop_string",
    "max_tokens",
    "context_full",
    "stopped",
    "no_token_left",
    "nan_logits",
    "error",
]


@dataclass(frozen=True, slots=True)
class PromptToken:
    """One token the model reads before it answers."""

    position: int
    token_id: int
    bytes: Bytes
    start: int  # span in the rendered text, in code points; several tokens may share one character
    end: int
    segment: int  # index into Prompt.segments
    is_special: bool
    logprob: float | None  # raw, given the tokens before; None for the first, and before a run
    rank: int | None

    def __post_init__(self) -> None:
        if self.rank is not None and self.logprob is None:  # minus infinity, as JSON has it
            object.__setattr__(self, "logprob", float("-inf"))


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the rendered prompt that one party wrote."""

    kind: SegmentKind
    start: int  # code points
    end: int
    added_by_template: bool  # the user did not write it: markers, the hidden system message


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads, and who wrote which part."""

    text: str  # rendered
    segments: tuple[Segment, ...]
    tokens: tuple[PromptToken, ...]
    ids: tuple[int, ...]
    template: str | None  # name of the chat template; None for raw text
    notes: tuple[str, ...] = ()  # for the user, in plain words

    @property
    def lane(self) -> None:
        """No lane: the prompt belongs to every lane of its run."""
        return None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that could have been picked at a step."""

    token_id: int
    bytes: Bytes
    text: str  # visible form, for people
    logit: float  # as the model gave it
    prob: float
    logprob: float
    rank: int
    final_prob: float
    removed_by: str | None  # the stage that cut it, `greedy` at temperature 0, or None
    removed_why: str | None  # with the numbers: "0.8% is under 5% of 31%"
    listed_for: ListedFor


@dataclass(frozen=True, slots=True)
class Stage:
    """What one setting did to the distribution at a step."""

    name: str
    setting: str
    active: bool
    cutoff: float | None  # in the stage's own terms: k-th logit, cumulative mass, floor
    kept: int  # tokens left
    mass: float  # raw mass left


@dataclass(frozen=True, slots=True)
class Draw:
    """How the token was picked from the final distribution."""

    method: Literal["greedy", "sampled", "forced"]
    u: float | None  # the dice, in [0, 1); None if nothing was rolled
    low: float  # the chosen token's interval on the cumulative final bar,
    high: float  # tokens in order of falling final probability, ties by lowest id


@dataclass(frozen=True, slots=True)
class TokenStep:
    """One token of the answer with its whole story."""

    lane: int
    index: int  # in the answer, from 0
    position: int  # in the whole sequence
    token_id: int
    bytes: Bytes
    text: str  # released by this step
    trimmed: int  # bytes cut from this token's end by a stop; 0 while streaming
    prob: float
    logprob: float
    rank: int
    final_prob: float
    candidates: tuple[Candidate, ...]
    others_prob: float  # all tokens not listed
    others_final_prob: float
    entropy: float  # nats, raw
    final_entropy: float
    gap: float  # top-1 minus top-2 raw probability
    stages: tuple[Stage, ...]
    draw: Draw
    end_prob: float  # all end ids together, raw
    queue_s: float
    forward_s: float
    sample_s: float
    batch_lanes: int  # lanes in the same pass
    kv_len: int  # positions held in the cache after this step's pass
    kv_bytes: int


@dataclass(frozen=True, slots=True)
class Finished:
    """Why a lane ended, and what it cost."""

    lane: int
    text: str  # the answer
    trimmed: tuple[tuple[int, int], ...]  # (index, bytes) pairs, applied to the steps of a stored trace
    reused_tokens: int  # prompt tokens whose keys and values were already at hand
    reason: FinishReason
    detail: str  # which id, which string; empty if there is nothing to add
    message: str  # plain words
    prompt_tokens: int
    answer_tokens: int
    passes: int  # forward passes of this lane
    prefill_s: float
    ttft_s: float | None  # request to first token; None if there was none
    tpot_s: float | None  # mean time per later token; None under two tokens
    prefill_tps: float | None  # prompt tokens read per second
    decode_tps: float | None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Which model made a trace. The same model means the same sha256."""

    name: str
    sha256: str  # of the weights' file or files
    dtype: str
    device: str
    vocabulary: int  # rows of the output layer
    context: int | None  # most positions, prompt and answer together; None if the model states none
    end_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parent:
    """Where a fork left another run."""

    trace: str
    step: int


@dataclass(frozen=True)
class Trace:
    """A whole run: prompt, settings, steps, why it stopped."""

    version: int
    id: str  # 128 random bits in hex
    model: ModelInfo
    prompt: Prompt
    params: SamplingParams
    steps: tuple[TokenStep, ...]
    finished: Finished
    parent: Parent | None
    created: str  # UTC, ISO 8601

    @property
    def text(self) -> str:
        return self.finished.text

    @property
    def answer_ids(self) -> tuple[int, ...]:
        return tuple(step.token_id for step in self.steps)

    def to_json(self) -> str:
        """One strict JSON object. See the module's docstring for bytes and infinite numbers."""
        return json.dumps(to_plain(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Trace:
        """Read what `to_json` wrote. Raises ValueError, in one sentence, for anything else."""
        trace = from_plain(cls, read_object(text, "trace", VERSION))
        check_trace(trace)
        return trace


def collect(
    model: ModelInfo, params: SamplingParams, events: Iterable[Event], parent: Parent | None = None
) -> Trace:
    """The trace of a run of one lane, from its events: a prompt, steps, and why it stopped."""
    prompt, steps, finished = None, [], None
    for event in events:
        if isinstance(event, Prompt):
            prompt = event
        elif isinstance(event, Finished):
            finished = event
        else:
            steps.append(event)
    assert prompt is not None
    assert finished is not None
    cut = dict(finished.trimmed)
    return Trace(
        version=VERSION,
        id=secrets.token_hex(16),
        model=model,
        prompt=prompt,
        params=params,
        steps=tuple(replace(step, trimmed=cut.get(step.index, 0)) for step in steps),
        finished=finished,
        parent=parent,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


Event = Prompt | TokenStep | Finished
_EVENTS: dict[str, Any] = {"prompt": Prompt, "token": TokenStep, "end": Finished}


def event_record(event: Event) -> dict[str, Any]:
    """An event of a run as one JSON object: {"event": "prompt" | "token" | "end", …its fields}."""
    name = next(name for name, kind in _EVENTS.items() if isinstance(event, kind))
    return {"event": name, **to_plain(event)}


def from_event_record(record: dict[str, Any]) -> Event:
    """The event that `event_record` wrote. Raises ValueError for anything else."""
    body = dict(record)
    name = body.pop("event", None)
    if not isinstance(name, str) or name not in _EVENTS:
        raise ValueError(f"there is no event {name!r:.40}")
    event: Event = from_plain(_EVENTS[name], body)
    check_ranges(event, name)
    return event
