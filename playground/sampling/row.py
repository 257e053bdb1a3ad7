"""One step's logits on their way through the stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from playground.sampling.ranking import Floats, Ids, Ranking

LARGEST = float(np.finfo(np.float32).max)


class SamplingError(ValueError):
    """No token can be picked from a row of logits; the message is one plain sentence."""


class NanLogits(SamplingError):
    """The model gave something that is not a logit."""


class NoTokenLeft(SamplingError):
    """Every token is banned or excluded."""


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
