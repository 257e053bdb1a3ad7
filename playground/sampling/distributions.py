"""The distribution that a token is drawn from, and the draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from playground.params import SamplingParams
from playground.sampling.ranking import Floats, Ids
from playground.sampling.row import NanLogits, Row, entropy
from playground.sampling.stages import STAGES
from playground.trace import Stage

_FIRST = 512  # tokens of the bar laid out at first; a draw seldom falls further out
_CHUNK = 2**23  # logits scored at a time: 32 MB in float32


@dataclass(frozen=True, eq=False)
class Distribution:
    """What the model said and what the settings made of it, at one step.

    *Raw* is the model's own distribution, softmax of its float32 logits at temperature 1; *final* is the one
    that the token is drawn from. Functions of ids take and give arrays of equal length.
    """

    stages: tuple[Stage, ...]  # all of STAGES, in order
    greedy: bool  # temperature 0, or too small to divide by
    _row: Row

    @property
    def logits(self) -> Floats:
        """(vocab,) float64: the model's logits as float32 numbers, exactly. Not to be changed."""
        return self._row.logits

    @property
    def entropy(self) -> float:
        """Of the raw distribution, in nats."""
        return self._row.raw_entropy

    @cached_property
    def final_entropy(self) -> float:
        """Of the final distribution, in nats."""
        part = self._row.part
        return entropy(self._row.weights[part], self._row.shifted[part], self._row.total)

    @property
    def kept(self) -> int:
        """How many tokens are left."""
        return self._row.kept

    def known(self, ids: Sequence[int]) -> Ids:
        """Those of `ids` that the model has a logit for."""
        return self._row.known(ids)

    def prob(self, ids: Ids) -> Floats:
        """Raw probabilities."""
        return self._row.raw_weights[ids] / self._row.raw_total

    def logprob(self, ids: Ids) -> Floats:
        """Raw log-probabilities in nats; minus infinity for what the model excludes."""
        return self._row.logits[ids] - self._row.log_total

    def rank(self, ids: Ids) -> Ids:
        """Raw ranks from 1; equal logits rank by lowest id."""
        return self._row.raw_ranking.places(ids) + 1

    def top(self, count: int) -> Ids:
        """The `count` first ids by raw rank."""
        return self._row.raw_ranking.head(count)[:count]

    def top_final(self, count: int) -> Ids:
        """The first ids on the final bar, at most `count`."""
        row = self._row
        return row.ranking.head(row.low + count)[row.low : row.high][:count]

    def final_prob(self, ids: Ids) -> Floats:
        """Final probabilities; 0 for cut tokens."""
        return np.where(self._left(ids), self._row.weights[ids] / self._row.total, 0.0)

    def final_logprob(self, ids: Ids) -> Floats:
        """Logarithms of the final probabilities in nats, also of those too small for a float64; minus
        infinity for cut tokens."""
        row = self._row
        below_best = row.scores[ids] - row.scores.max()
        return np.where(self._left(ids), below_best - np.log(row.total), -np.inf)

    def _left(self, ids: Ids) -> npt.NDArray[np.bool_]:
        """Which of `ids` are not cut."""
        row = self._row
        inside: npt.NDArray[np.bool_] = row.scores[ids] > -np.inf
        if row.cuts:
            (first, first_id), (last, last_id) = row.cuts[-1].first, row.cuts[-1].last
            key = -row.scores[ids]
            inside &= (key > first) | ((key == first) & (ids >= first_id))
            inside &= (key < last) | ((key == last) & (ids <= last_id))
        return inside

    def removed(self, token_id: int) -> tuple[str, str] | tuple[None, None]:
        """Which stage cut a token, and why in plain words.

        The name is that of the stage, `greedy`, or `model` where the model's own logit is minus infinity.
        """
        row = self._row
        if token_id in row.excluded:
            return row.excluded[token_id]
        if row.logits[token_id] == -np.inf:
            return "model", "the model itself excludes it"
        place = row.place(token_id)
        for cut in row.cuts:
            if not cut.first <= place <= cut.last:
                return cut.name, cut.explain(token_id)
        return None, None

    @property
    def final(self) -> Floats:
        """(vocab,) float64: the final probability of every token. They sum to 1 within 1e-9."""
        return self.final_prob(np.arange(len(self._row.logits)))

    @property
    def order(self) -> Ids:
        """(kept,): the tokens left by falling final probability, ties by lowest id. Sorts all of them."""
        return self.bar(self.kept)[0]

    def bar(self, count: int) -> tuple[Ids, Floats]:
        """The start of the cumulative bar: ids in order and the upper end of each one's interval.

        At least `count` tokens or all there are; how many makes no difference to their numbers. The last
        token that has a probability ends at exactly 1.
        """
        row = self._row
        ids = row.ranking.head(row.low + count)[row.low : row.high]
        weights = row.weights[ids]
        # In extended precision where there is one, or the last interval would absorb all rounding.
        sums = np.cumsum(weights, dtype=np.longdouble) / row.total
        highs = np.minimum(sums, 1.0).astype(np.float64)
        if len(ids) == row.kept:
            highs[np.count_nonzero(weights) - 1 :] = 1.0
        return ids, highs


@dataclass(frozen=True)
class Decision:
    """The token of a step, and its interval [low, high) on the cumulative final bar."""

    token_id: int
    method: Literal["greedy", "sampled", "forced"]
    u: float | None  # the dice, if it was rolled
    low: float
    high: float


def distribution(
    logits: Tensor,
    params: SamplingParams,
    *,
    prompt_ids: Sequence[int] = (),
    answer_ids: Sequence[int] = (),
    end_ids: Sequence[int] = (),
) -> Distribution:
    """Run one row of logits through every stage.

    logits  (vocab,), any float type and device; not changed
    Raises NanLogits for NaN or plus infinity among the logits (minus infinity is legal: that token cannot be
    picked) and NoTokenLeft where no token can be picked.
    """
    values = logits.detach().to("cpu", torch.float32).numpy().astype(np.float64)
    row = Row(values, prompt_ids, answer_ids, end_ids)
    stages = []
    for name, apply in STAGES:
        effect = apply(row, params)
        stages.append(Stage(name, effect.setting, effect.active, effect.cutoff, row.kept, min(row.mass, 1.0)))
    return Distribution(tuple(stages), row.greedy, row)


def decide(row: Distribution, u: float) -> Decision:
    """The token whose interval holds `u` in [0, 1). Greedy takes the first on the bar and ignores `u`."""
    assert 0 <= u < 1, u
    if row.greedy:
        return Decision(int(row.top_final(1)[0]), "greedy", None, 0.0, 1.0)
    ids, highs = row.bar(_FIRST)
    while highs[-1] <= u and len(ids) < row.kept:
        ids, highs = row.bar(4 * len(ids))
    index = int(np.searchsorted(highs, u, side="right"))
    return Decision(int(ids[index]), "sampled", u, *_interval(highs, index))


def forced(row: Distribution, token_id: int) -> Decision:
    """The interval of a given token. One that was cut has none: `low` equals `high`."""
    inner, ids = row._row, np.array([token_id])
    if row.removed(token_id) != (None, None):
        ahead = bool(inner.cuts) and inner.place(token_id) < inner.cuts[-1].first
        edge = 0.0 if ahead else 1.0
        return Decision(token_id, "forced", None, edge, edge)
    index = int(inner.ranking.places(ids)[0]) - inner.low
    _, highs = row.bar(index + 1)
    return Decision(token_id, "forced", None, *_interval(highs, index))


def _interval(highs: Floats, index: int) -> tuple[float, float]:
    return float(highs[index - 1]) if index else 0.0, float(highs[index])


def row_scores(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Raw log-probability and rank of one given token per row, for the tokens of a prompt.

    logits  (n, vocab), any float type and device; row i scores the token after position i
    ids     (n,) integers
    Returns (n,) float32 log-probabilities in nats and (n,) int64 ranks from 1, both on the CPU. Works in
    chunks of bounded memory. Raises NanLogits as `distribution` does.
    """
    count, size = logits.shape
    ids = ids.to(logits.device, torch.int64)
    rows = max(1, _CHUNK // size)
    logprobs, ranks = torch.empty(count), torch.empty(count, dtype=torch.int64)
    for start in range(0, count, rows):
        span = slice(start, start + rows)
        chunk, wanted = logits[span].detach().float(), ids[span, None]
        if not bool((chunk.amax(-1) < torch.inf).all()):  # NaN is not less than anything
            raise NanLogits("the model gave NaN or infinity where a logit of the prompt should be")
        own = chunk.gather(1, wanted)
        scores = (own - chunk.logsumexp(-1, keepdim=True)).clamp(max=0)
        logprobs[span] = scores.masked_fill(own == -torch.inf, -torch.inf).squeeze(1).cpu()
        ranks[span] = _ranks(chunk, own, wanted).cpu()
    return logprobs, ranks


def _ranks(chunk: Tensor, own: Tensor, wanted: Tensor) -> Tensor:
    """(rows,) ranks of the tokens `wanted`, whose logits are `own`, both (rows, 1), among (rows, vocab)."""
    if chunk.device.type == "cpu":  # numpy counts ten times as fast as torch there
        rows = zip(chunk.numpy(), own.tolist(), wanted.tolist(), strict=True)
        counts = [np.count_nonzero(r > x) + np.count_nonzero(r[:i] == x) + 1 for r, (x,), (i,) in rows]
        return torch.tensor(counts)
    places = torch.arange(chunk.shape[1], device=chunk.device)
    return ((chunk > own) | ((chunk == own) & (places < wanted))).sum(-1) + 1
