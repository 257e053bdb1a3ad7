"""The stages between the model's logits and the final distribution, in their fixed order: `STAGES`.

Each stage is a function of the row as the stage before left it and of the settings. The first four change
single logits, temperature divides all of them, and the filters then narrow a window on one descending order:
whatever a filter keeps is a stretch of that order, so nothing is ever sorted twice. All arithmetic is in
float64.

The filters mean what the logits processors of transformers 5.24 mean (`generation/logits_process.py`), ties
included where those define them. Where they do not, at the edge of top-p, the lowest ids stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from playground.params import SamplingParams
from playground.ranking import Floats, Ids, Ranking

LARGEST = float(np.finfo(np.float32).max)


class SamplingError(ValueError):
    """No token can be picked from a row of logits; the message is one plain sentence."""


class NanLogits(SamplingError):
    """The model gave something that is not a logit."""


class NoTokenLeft(SamplingError):
    """Every token is banned or excluded."""


@dataclass(frozen=True)
class Effect:
    """What a stage reports of itself."""

    setting: str
    cutoff: float | None = None
    active: bool = True


OFF = Effect("off", active=False)


@dataclass(frozen=True)
class Cut:
    """A stretch of the order that one stage kept, by its first and last token."""

    name: str
    first: tuple[float, int]  # (−score, id): falling score, ties by lowest id
    last: tuple[float, int]
    explain: Callable[[int], str]  # why that id lies outside


class Row:
    """One step's logits on their way through the stages. Private to `sampling`, which freezes the result.

    logits   (vocab,) float64, the model's float32 logits exactly; never changed
    scores   (vocab,) float64, what the stages made of them; minus infinity cannot be picked
    shifted  (vocab,) float64, score − best score, not under −1000; of the logits until temperature
    weights  (vocab,) float64, exp(shifted)
    part     the ids kept so far in order, or `slice(None)` while no filter has cut any
    """

    def __init__(
        self, logits: Floats, prompt_ids: Sequence[int], answer_ids: Sequence[int], end_ids: Sequence[int]
    ) -> None:
        self.logits = self.scores = logits
        self.prompt_ids, self.answer_ids, self.end_ids = prompt_ids, answer_ids, end_ids
        top = float(logits.max())
        if np.isnan(top) or top == np.inf:
            raise NanLogits(
                "the model gave NaN or infinity where a logit should be, so no token can be picked"
            )
        if top == -np.inf:
            raise NoTokenLeft("no token is left to pick: the model excluded every one")
        self.shifted = below(logits, top)
        self.weights = self.raw_weights = np.exp(self.shifted)
        self.raw_total = float(self.raw_weights.sum())
        self.log_total = top + float(np.log(self.raw_total))
        self.raw_entropy = entropy(self.raw_weights, self.shifted, self.raw_total)
        self.excluded: dict[int, tuple[str, str]] = {}
        self.cuts: list[Cut] = []
        self.kept, self.mass, self.greedy = len(logits), 1.0, False
        if logits.min() == -np.inf:
            self.kept = int(np.count_nonzero(logits > -np.inf))

    # Before temperature: single logits change.

    def known(self, ids: Sequence[int]) -> Ids:
        """`ids` as an array, without those the model has no logit for."""
        array = np.asarray(ids, dtype=np.int64)
        return array[(array >= 0) & (array < len(self.logits))]

    def change(self, ids: Ids, scores: Floats) -> None:
        """Give `ids` new scores. A finite one stays finite, so that no arithmetic ever bans or yields NaN."""
        if self.scores is self.logits:
            self.scores = self.logits.copy()
        finite = self.scores[ids] > -np.inf
        self.scores[ids[finite]] = np.clip(scores[finite], -LARGEST, LARGEST)

    def exclude(self, name: str, ids: Ids, why: str) -> None:
        """Make `ids` impossible to pick, on account of the stage `name`."""
        fresh = np.unique(ids[self.scores[ids] > -np.inf])
        if not len(fresh):
            return
        self.excluded |= {int(token_id): (name, why) for token_id in fresh}
        if self.scores is self.logits:
            self.scores = self.logits.copy()
        self.scores[fresh] = -np.inf
        self.kept -= len(fresh)
        self.mass = float(self.raw_weights[self.scores > -np.inf].sum()) / self.raw_total

    # From temperature on: a window on the descending order narrows.

    def settle(self, temperature: float) -> None:
        """Divide by the temperature and fix the order and the weights."""
        untouched = self.scores is self.logits
        if temperature != 1:
            self.scores = self.scores / temperature
        self.ranking = Ranking(self.scores)
        # Dividing does not change the order, so one ranking may serve for the raw ranks too.
        self.raw_ranking = self.ranking if untouched else Ranking(self.logits)
        if self.scores is not self.logits:
            self.shifted = below(self.scores, float(self.scores.max()))
            self.weights = np.exp(self.shifted)
        self.part: slice | Ids = slice(None)
        self.low, self.high = 0, self.kept
        self.total = float(self.weights.sum())

    def keep(self, name: str, low: int, high: int, explain: Callable[[int], str]) -> None:
        """Narrow the window to the places [low, high) of the order."""
        if (low, high) == (self.low, self.high):
            return
        self.low, self.high, self.kept = low, high, high - low
        part = self.ranking.head(high)[low:high]
        self.part = part
        self.total = float(self.weights[part].sum())
        self.mass = float(self.raw_weights[part].sum()) / self.raw_total
        self.cuts.append(Cut(name, self.place(int(part[0])), self.place(int(part[-1])), explain))

    def place(self, token_id: int) -> tuple[float, int]:
        return -float(self.scores[token_id]), token_id

    def kept_ids(self) -> Ids:
        """The ids in the window; in order of ids while no filter has cut any."""
        return np.flatnonzero(self.scores > -np.inf) if isinstance(self.part, slice) else self.part


def below(scores: Floats, top: float) -> Floats:
    """How far below `top` each score lies, at most 1000: no weight is left there and 0 × −1000 is 0."""
    shifted = scores - top
    return np.maximum(shifted, -1000.0, out=shifted)


def entropy(weights: Floats, shifted: Floats, total: float) -> float:
    """Entropy in nats of weights/total, where weights = exp(shifted) and shifted ≤ 0."""
    return max(0.0, float(np.log(total)) - float(weights @ shifted) / total)


def percent(share: float) -> str:
    return "under 0.01%" if 0 < share < 1e-4 else f"{100 * share:.3g}%"


def logit_bias(row: Row, params: SamplingParams) -> Effect:
    if not params.logit_bias:
        return OFF
    ids = row.known(list(params.logit_bias))
    bias = np.array([params.logit_bias[int(token_id)] for token_id in ids])
    row.exclude("logit_bias", ids[bias == -np.inf], "its bias is minus infinity")
    ids, bias = ids[bias > -np.inf], bias[bias > -np.inf]
    row.change(ids, row.scores[ids] + bias)
    return Effect(f"{len(params.logit_bias)} token{'s' * (len(params.logit_bias) > 1)}")


def repetition_penalty(row: Row, params: SamplingParams) -> Effect:
    """A token seen in prompt or answer, once or often: logit ÷ penalty if it is positive, × if negative."""
    penalty = params.repetition_penalty
    if penalty == 1:
        return OFF
    seen = np.unique(row.known([*row.prompt_ids, *row.answer_ids]))
    scores = row.scores[seen]
    with np.errstate(over="ignore"):
        row.change(seen, np.where(scores < 0, scores * penalty, scores / penalty))
    return Effect(f"{penalty:g}")


def presence_frequency(row: Row, params: SamplingParams) -> Effect:
    """Minus the presence penalty for a token of the answer, minus the frequency penalty times its count.

    Not in transformers; the formula is that of the OpenAI API.
    """
    presence, frequency = params.presence_penalty, params.frequency_penalty
    if presence == 0 and frequency == 0:
        return OFF
    seen, counts = np.unique(row.known(row.answer_ids), return_counts=True)
    row.change(seen, row.scores[seen] - presence - frequency * counts)
    return Effect(f"presence {presence:g}, frequency {frequency:g}")


def bans(row: Row, params: SamplingParams) -> Effect:
    """Banned ids, and the end tokens until the answer has `min_tokens`."""
    waiting = len(row.answer_ids) < params.min_tokens
    if params.banned:
        row.exclude("bans", row.known(params.banned), "banned")
    if waiting:
        why = f"end tokens wait until the answer has {params.min_tokens} tokens"
        row.exclude("bans", row.known(row.end_ids), why)
    parts = [f"{len(set(params.banned))} banned"] if params.banned else []
    parts += [f"no end before {params.min_tokens} tokens"] if params.min_tokens else []
    return Effect(", ".join(parts) or "off", active=bool(params.banned) or waiting)


def temperature(row: Row, params: SamplingParams) -> Effect:
    """Divide the logits. Greedy, only the best kept (ties: lowest id), where that cannot be done.

    Those are temperature 0 and one so small that the best logit, or 1, divided by it overflows float32: there
    a float32 softmax would give NaN.
    """
    best = int(np.argmax(row.scores))
    top = float(row.scores[best])
    if top == -np.inf:
        raise NoTokenLeft("no token is left to pick: every one is banned or excluded")
    value = params.temperature
    row.greedy = max(abs(top), 1.0) > LARGEST * value
    row.settle(1.0 if row.greedy else value)
    if not row.greedy:
        return Effect(f"{value:g}", active=value != 1)

    def explain(token_id: int) -> str:
        score = float(row.scores[token_id])
        if score == top:
            return f"level with token {best}, and the lowest id is taken"
        return f"logit {score:.4g} is not the largest, {top:.4g}"

    row.keep("greedy", 0, 1, explain)
    return Effect(f"{value:g} (greedy)")


def top_k(row: Row, params: SamplingParams) -> Effect:
    """Keep the k largest and all that are level with the k-th."""
    if not params.top_k:
        return OFF
    k = min(params.top_k, row.kept)
    cutoff = float(row.scores[row.ranking.head(k)[k - 1]])
    high = min(row.high, int(np.count_nonzero(row.scores >= cutoff)))
    now = "" if params.temperature == 1 else f" after temperature {params.temperature:g}"
    row.keep(
        "top_k",
        row.low,
        high,
        lambda token_id: f"logit {row.scores[token_id]:.4g}{now} is under that of place {k}, {cutoff:.4g}",
    )
    return Effect(str(params.top_k), cutoff)


def top_p(row: Row, params: SamplingParams) -> Effect:
    """Keep the shortest head of the order that holds the mass. Cutoff: what it holds."""
    if params.top_p == 1:
        return OFF
    total = row.total
    high = row.ranking.first_reaching(row.weights, params.top_p * total, row.high)
    held = float(row.weights[row.ranking.head(high)[:high]].sum()) / total
    why = f"the likelier ones already hold {percent(held)} of the needed {percent(params.top_p)}"
    row.keep("top_p", row.low, high, lambda _: why)
    return Effect(f"{params.top_p:g}", min(held, 1.0))


def min_p(row: Row, params: SamplingParams) -> Effect:
    """Keep what is at least this share of the largest probability. Cutoff: the floor in probability."""
    if params.min_p == 0:
        return OFF
    # The best token has weight 1, so a weight is its own share of the largest.
    total, share = row.total, params.min_p
    high = min(row.high, int(np.count_nonzero(row.weights >= share)))
    floor = f"{percent(share)} of {percent(1 / total)}"
    row.keep("min_p", row.low, high, lambda id_: f"{percent(row.weights[id_] / total)} is under {floor}")
    return Effect(f"{share:g}", share / total)


def typical_p(row: Row, params: SamplingParams) -> Effect:
    """Keep those whose surprise −ln p is nearest to the entropy until they hold the mass.

    Cutoff: the largest kept distance in nats; all at that distance stay. (Meister et al., "Locally typical
    sampling", 2022.)
    """
    if params.typical_p == 1:
        return OFF
    ids = row.kept_ids()
    log_total = float(np.log(row.total))
    surprise = log_total - row.shifted[ids]
    mean = entropy(row.weights[ids], row.shifted[ids], row.total)
    distance = np.abs(surprise - mean)
    nearest = Ranking(-distance)
    count = nearest.first_reaching(row.weights[ids], params.typical_p * row.total, len(ids))
    cutoff = float(distance[nearest.head(count)[count - 1]])
    low = row.low + int(np.count_nonzero((distance > cutoff) & (surprise < mean)))
    high = low + int(np.count_nonzero(distance <= cutoff))
    log_top = float(row.scores.max()) + log_total

    def explain(token_id: int) -> str:
        own = log_top - float(row.scores[token_id])
        return f"its surprise of {own:.3g} nats is not within {cutoff:.3g} of the entropy, {mean:.3g}"

    row.keep("typical_p", low, high, explain)
    return Effect(f"{params.typical_p:g}", cutoff)


STAGES: tuple[tuple[str, Callable[[Row, SamplingParams], Effect]], ...] = (
    ("logit_bias", logit_bias),
    ("repetition_penalty", repetition_penalty),
    ("presence_frequency", presence_frequency),
    ("bans", bans),
    ("temperature", temperature),
    ("top_k", top_k),
    ("top_p", top_p),
    ("min_p", min_p),
    ("typical_p", typical_p),
)
