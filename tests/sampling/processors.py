"""The stages once more, by transformers' own logits processors: the tests' independent check."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

from playground.params import SamplingParams


def processed(
    logits: Tensor,
    params: SamplingParams,
    prompt_ids: Sequence[int] = (),
    answer_ids: Sequence[int] = (),
    end_ids: Sequence[int] = (),
) -> tuple[Tensor, float]:
    """Processed float64 scores of a row (vocab,), and how near any filter came to deciding otherwise.

    That margin is the least distance, in probability or nats, of a token from the threshold of top-p, min-p
    or typical-p: under 1e-9 two correct float64 programs may differ.
    """
    scores, margin, size = logits.double()[None].clone(), np.inf, len(logits)
    for token_id, bias in params.logit_bias.items():
        if token_id < size:
            scores[0, token_id] += bias
    ids = torch.tensor([[*prompt_ids, *answer_ids]], dtype=torch.int64)
    if params.repetition_penalty != 1 and ids.numel():
        scores = RepetitionPenaltyLogitsProcessor(params.repetition_penalty)(ids, scores)
    for token_id in {token_id for token_id in answer_ids if token_id < size}:
        scores[0, token_id] -= params.presence_penalty
        scores[0, token_id] -= params.frequency_penalty * list(answer_ids).count(token_id)
    waiting = end_ids if len(answer_ids) < params.min_tokens else ()
    scores[0, [token_id for token_id in (*params.banned, *waiting) if token_id < size]] = -torch.inf
    if not (scores > -torch.inf).any():
        return scores[0], margin
    if params.temperature == 0:
        best = int(np.argmax(scores[0].numpy()))
        single = torch.full_like(scores, -torch.inf)
        single[0, best] = scores[0, best]
        return single[0], margin
    scores = TemperatureLogitsWarper(params.temperature)(ids, scores)
    if params.top_k:
        scores = TopKLogitsWarper(params.top_k)(ids, scores)
    if params.top_p != 1:
        ordered = scores[0].sort(descending=True).values.softmax(-1)
        margin = min(margin, float((ordered.cumsum(-1) - params.top_p).abs().min()))
        scores = TopPLogitsWarper(params.top_p)(ids, scores)
    if params.min_p:
        probs = scores[0].softmax(-1)
        margin = min(margin, float((probs - params.min_p * probs.max()).abs().min()))
        scores = MinPLogitsWarper(params.min_p)(ids, scores)
    if params.typical_p != 1:
        logprobs = scores[0].log_softmax(-1)
        logprobs = logprobs[logprobs > -torch.inf]
        probs = logprobs.exp()
        distances, order = (-logprobs + (probs * logprobs).sum()).abs().sort()
        reached = probs[order].cumsum(-1)
        margin = min(margin, float((reached - params.typical_p).abs().min()))
        cutoff = distances[int((reached < params.typical_p).sum().clamp(max=len(order) - 1))]
        others = (distances - cutoff).abs()
        margin = min([margin, *others[others > 0].tolist()])
        scores = TypicalLogitsWarper(params.typical_p)(ids, scores)
    return scores[0], margin
