"""What is written down of a step: the numbers of `TokenStep` that follow from its logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from playground.sampling import Decision, Distribution
from playground.sampling.ranking import Ids
from playground.trace import Candidate, Draw, ListedFor


class Vocabulary(Protocol):
    """What a record needs to know of a tokenizer (see text.tokens.Vocabulary)."""

    def bytes_of(self, token_id: int, /) -> bytes: ...

    def visible(self, token_id: int, /) -> str: ...


def step_numbers(
    row: Distribution,
    decision: Decision,
    vocabulary: Vocabulary,
    *,
    top_n: int,
    watched: Sequence[int] = (),
    end_ids: Sequence[int] = (),
) -> dict[str, Any]:
    """The fields of a `TokenStep` that follow from its distribution and its decision, by name.

    Listed are the `top_n` first by raw rank and the `top_n` first on the final bar, the chosen token, the
    watched and the end tokens; each once, by raw rank. Ids that the model has no logit for are left out.
    """
    ends = row.known(end_ids)
    listed, labels = _listed(row, decision.token_id, top_n, row.known(watched), ends)
    ranks = row.rank(listed)
    order = np.argsort(ranks)
    listed = listed[order]
    probs, finals = row.prob(listed), row.final_prob(listed)
    columns = (listed, row.logits[listed], probs, row.logprob(listed), ranks[order], finals)
    candidates = tuple(
        _candidate(row, vocabulary, labels.get(token_id, "top"), token_id, *numbers)
        for token_id, *numbers in zip(*(column.tolist() for column in columns), strict=True)
    )
    chosen = next(item for item in candidates if item.token_id == decision.token_id)
    first, *others = row.prob(row.top(2)).tolist()
    return {
        "prob": chosen.prob,
        "logprob": chosen.logprob,
        "rank": chosen.rank,
        "final_prob": chosen.final_prob,
        "candidates": candidates,
        "others_prob": _rest(probs, len(row.logits)),
        "others_final_prob": _rest(finals, len(row.logits)),
        "entropy": row.entropy,
        "final_entropy": row.final_entropy,
        "gap": first - sum(others),
        "stages": row.stages,
        "draw": Draw(decision.method, decision.u, decision.low, decision.high),
        "end_prob": min(1.0, float(row.prob(np.unique(ends)).sum())),
    }


def _listed(
    row: Distribution, chosen: int, top_n: int, watched: Ids, ends: Ids
) -> tuple[Ids, dict[int, ListedFor]]:
    """The ids to list, and the label of those that are not listed as `top`.

    One label each, the most telling: chosen before watched before end token before top.
    """
    labels: dict[int, ListedFor] = dict.fromkeys(ends.tolist(), "end_token")
    labels |= dict.fromkeys(watched.tolist(), "watched")
    labels[chosen] = "chosen"
    top = {*row.top(top_n).tolist(), *row.top_final(top_n).tolist()}
    return np.array([*top.union(labels)], dtype=np.int64), labels


def _candidate(
    row: Distribution,
    vocabulary: Vocabulary,
    label: ListedFor,
    token_id: int,
    logit: float,
    prob: float,
    logprob: float,
    rank: int,
    final_prob: float,
) -> Candidate:
    removed_by, removed_why = row.removed(token_id)
    return Candidate(
        token_id,
        vocabulary.bytes_of(token_id),
        vocabulary.visible(token_id),
        logit,
        prob,
        logprob,
        rank,
        final_prob,
        removed_by,
        removed_why,
        label,
    )


def _rest(listed: np.ndarray[Any, np.dtype[np.float64]], size: int) -> float:
    """The probability of all tokens that are not listed."""
    return 0.0 if len(listed) == size else max(0.0, 1.0 - float(listed.sum()))
