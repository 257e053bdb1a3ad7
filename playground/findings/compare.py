"""What a comparison of lanes found: their numbers, where they part, how far apart they are, and the file.

Probabilities are in [0, 1], entropies and divergences in nats, times in seconds. *Raw* is the model's own
distribution, *final* the one that a token was drawn from. Lanes and the tokens of an answer count from 0, as
in a trace. `codec.to_plain` makes JSON of any of these; what is not finite becomes null.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal

from playground.checks import check_name, check_trace
from playground.codec import from_plain, read_object, to_plain
from playground.params import SamplingParams
from playground.trace import VERSION as TRACE_VERSION
from playground.trace import Trace

VERSION = 1
LARGEST_FILE = 64 * 2**20  # characters of JSON; six lanes of 300 tokens take 11 million
MOST_LANES = {"lanes": 6, "samples": 16, "sweep": 25}
LONGEST_NAME = 80  # of a lane
SWEPT = (
    "temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "presence_penalty",
    "frequency_penalty",
)  # fmt: skip

Kind = Literal["lanes", "samples", "sweep"]
Cause = Literal["settings", "dice", "either", "both", "given", "rounding", "unknown"]


@dataclass(frozen=True)
class LaneNumbers:
    """A lane's row of the table. What needs a token is None in a lane without one."""

    name: str
    settings: dict[str, Any]  # those that differ between the lanes, by name
    tokens: int
    mean_logprob: float | None  # raw; minus infinity if a given token was impossible
    perplexity: float | None  # raw: exp(−mean_logprob)
    mean_entropy: float | None  # raw
    rank1_share: float | None  # of the tokens, those that the raw distribution ranks first
    median_kept: float | None  # tokens left to draw from
    words: int
    distinct_words: int
    repeated_4grams: int
    ttft_s: float | None
    tpot_s: float | None
    reason: str  # Finished.reason


@dataclass(frozen=True)
class Rival:
    """One of the two tokens where lanes part, as both lanes saw it. None is a number that no trace lists."""

    token_id: int
    text: str  # visible form
    prob: float | None  # raw
    reference_final: float | None
    lane_final: float | None
    removed_by_reference: str | None  # the stage that cut it, or `greedy`
    removed_by_lane: str | None


@dataclass(frozen=True)
class Parting:
    """Where a lane leaves the reference, and why."""

    reference: int
    lane: int
    index: int | None  # of the first token that differs; None where none does as far as both lanes go
    reference_token: Rival | None
    lane_token: Rival | None
    cause: Cause  # `unknown` without an index
    sentence: str  # plain words


@dataclass(frozen=True)
class Divergence:
    """How far a lane's distribution is from the reference's at one index, each after its own tokens.

    Kullback-Leibler divergence KL(reference ‖ lane) = Σ p·ln(p/q) (Kullback and Leibler, 1951).
    """

    index: int
    raw: float | None  # None = infinite
    final: float | None
    lost: float  # share of the reference's final distribution on tokens that the lane cannot pick


@dataclass(frozen=True)
class Branch:
    """A stretch of tokens that the same samples share."""

    ids: tuple[int, ...]
    text: str  # visible form
    samples: tuple[int, ...]  # lane numbers
    share: float  # of all samples
    prob: float  # product of the final probabilities of `ids`
    children: tuple[Branch, ...]  # most samples first
    ended: tuple[int, ...]  # samples whose answer ends with this stretch


@dataclass(frozen=True)
class SampleTree:
    """Where answers to one prompt under one setting part."""

    samples: int
    root: Branch
    held: float  # probability that another sample would be one of these answers


@dataclass(frozen=True)
class Sweep:
    """One setting over a range: a row per value, with the first `steps` tokens of its answer."""

    setting: str
    values: tuple[float, ...]  # (rows,)
    steps: int
    ids: tuple[tuple[int, ...], ...]  # (rows, at most steps), as the four below
    texts: tuple[tuple[str, ...], ...]  # visible forms
    probs: tuple[tuple[float, ...], ...]  # raw, of the chosen token
    entropy: tuple[tuple[float, ...], ...]  # raw
    final_entropy: tuple[tuple[float, ...], ...]
    changed: tuple[int | None, ...]  # (rows,): first index that differs from the row before; None if none


@dataclass(frozen=True)
class Comparison:
    """Lanes of one prompt on one model, with all that is needed to show them again.

    Raises ValueError, in one sentence, for lanes that cannot be compared.
    """

    version: int
    id: str  # 128 random bits in hex
    created: str  # UTC, ISO 8601
    kind: Kind
    names: tuple[str, ...]  # of the lanes
    reference: int
    same_dice: bool
    exact: bool  # decoded lane by lane
    sweep: str | None  # the setting that was swept
    traces: tuple[Trace, ...]  # one per lane

    def __post_init__(self) -> None:
        count, most = len(self.traces), MOST_LANES[self.kind]
        if not 1 <= count <= most:
            raise ValueError(f"a comparison of {self.kind} has 1 to {most} lanes, got {count}")
        if len(self.names) != count:
            raise ValueError(f"this comparison has {len(self.names)} names for {count} lanes")
        for name in self.names:
            broken = any("\ud800" <= sign <= "\udfff" for sign in name)  # no file could hold it
            if not name.strip() or len(name) > LONGEST_NAME or broken:
                raise ValueError(f"a lane's name must have 1 to {LONGEST_NAME} characters, got {name!r:.60}")
        if not 0 <= self.reference < count:
            raise ValueError(f"the reference must be one of {count} lanes, got {self.reference!r:.40}")
        if (self.kind == "sweep") != (self.sweep is not None):
            raise ValueError(f"a sweep, and nothing else, names a setting; got {self.sweep!r:.40}")
        if self.sweep is not None and self.sweep not in SWEPT:
            raise ValueError(f"there is no setting {self.sweep!r:.40} to sweep")
        first = self.traces[0]
        for number, trace in enumerate(self.traces):
            if trace.prompt.ids != first.prompt.ids:
                raise ValueError(f"lane {number + 1} answers another prompt than lane 1")
            if trace.model.sha256 != first.model.sha256 or trace.model.vocabulary != first.model.vocabulary:
                raise ValueError(f"lane {number + 1} comes from another model than lane 1")
            if self.kind != "lanes" and self._shared(trace.params) != self._shared(first.params):
                raise ValueError(f"lane {number + 1} has other settings than lane 1")

    def _shared(self, params: SamplingParams) -> SamplingParams:
        """What all lanes of samples, or of a sweep, have in common."""
        alike: dict[str, Any] = {"seed": None}
        if self.sweep is not None:
            alike[self.sweep] = getattr(SamplingParams(), self.sweep)
        return replace(params, **alike)

    def to_json(self) -> str:
        """One strict JSON object, as a trace's."""
        return json.dumps(to_plain(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Comparison:
        """Read what `to_json` wrote. Raises ValueError, in one sentence, for anything else."""
        if len(text) > LARGEST_FILE:
            raise ValueError(f"this is not a comparison: it has more than {LARGEST_FILE // 2**20} MB")
        value = read_object(text, "comparison", VERSION)
        comparison = from_plain(cls, value)
        check_name(comparison.id, "comparison")
        for number, trace in enumerate(comparison.traces):
            if trace.version != TRACE_VERSION:
                raise ValueError(
                    f"comparison, lane {number + 1}: its trace has version {trace.version!r:.40}"
                )
            try:
                check_trace(trace)
            except ValueError as error:
                raise ValueError(f"comparison, lane {number + 1}: {error}") from None
        return comparison
