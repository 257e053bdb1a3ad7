"""The stages between the model's logits and the final distribution, in their fixed order: `STAGES`.

Each stage is a function of the row as the stage before left it and of the settings. The first four change
single logits, temperature divides all of them, and the filters then narrow a window on one descending order:
whatever a filter keeps is a stretch of that order, so nothing is ever sorted twice. All arithmetic is in
float64.

The filters mean what the logits processors of transformers 5.24 mean (`generation/logits_process.py`), ties
included where those define them. Where they do not, at the edge of top-p, the lowest ids stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from playground.params import SamplingParams
from playground.sampling.ranking import Ranking
from playground.sampling.row import LARGEST, NoTokenLeft, Row, entropy


@dataclass(frozen=True)
class Effect:
    """What a stage reports of itself."""

    setting: str
    cutoff: float | None = None
    active: bool = True


OFF = Effect("off", active=False)


def percent(share: float) -> str:
    return "under 0.01%" if 0 < share < 1e-4 else f"{100 * share:.3g}%"


def apart(lower: float, higher: float) -> tuple[str, str]:
    """Two different numbers with as few digits, four or more, as still show which is lower."""
    for digits in (4, 7, 17):
        shown = f"{lower:.{digits}g}", f"{higher:.{digits}g}"
        if shown[0] != shown[1]:
            break
    return shown


# What explains a cut holds arrays and numbers but not the row: a circle would keep its megabytes alive until
# the garbage collector comes round.


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

    scores = row.scores

    def explain(token_id: int) -> str:
        if scores[token_id] == top:
            return f"level with token {best}, and the lowest id is taken"
        own, largest = apart(scores[token_id], top)
        return f"logit {own} is not the largest, {largest}"

    row.keep("greedy", 0, 1, explain)
    return Effect(f"{value:g} (greedy)")


def top_k(row: Row, params: SamplingParams) -> Effect:
    """Keep the k largest and all that are level with the k-th."""
    if not params.top_k:
        return OFF
    k = min(params.top_k, row.kept)
    scores = row.scores
    cutoff = float(scores[row.ranking.head(k)[k - 1]])
    high = min(row.high, int(np.count_nonzero(scores >= cutoff)))
    now = "" if params.temperature == 1 else f" after temperature {params.temperature:g}"

    def explain(token_id: int) -> str:
        own, least = apart(scores[token_id], cutoff)
        return f"logit {own}{now} is under that of place {k}, {least}"

    row.keep("top_k", row.low, high, explain)
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
    weights, total, share = row.weights, row.total, params.min_p
    high = min(row.high, int(np.count_nonzero(weights >= share)))
    floor = f"{percent(share)} of {percent(1 / total)}"
    row.keep(
        "min_p", row.low, high, lambda token_id: f"{percent(weights[token_id] / total)} is under {floor}"
    )
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
    scores = row.scores
    log_top = float(scores.max()) + log_total

    def explain(token_id: int) -> str:
        own = log_top - float(scores[token_id])
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
