"""Which tokens mattered for a choice, by gradients.

Asked about is the raw logprob (temperature 1, nothing cut) of the token that was chosen, as a function of the
vectors that stand for the tokens before it: what the model's embedding module makes of their ids, and what
the model takes as `inputs_embeds`. Where a model multiplies embeddings by a number, some do so in that module
(Gemma 3), some after it (Gemma 2, Granite). That changes no score: a vector twice as long has half the
gradient. Learned positions are added later, and are no part of the vectors.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import psutil  # type: ignore[import-untyped]
import torch
from torch import Tensor, nn

from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import Influence, Row

METHODS = ("input x gradient", "integrated gradients")
MOST_STEPS = 256
MOST_COPIED = 8 * 2**30  # bytes of weights in float32, of a model that is kept in less


def influence(
    reader: Reader, ids: Sequence[int], position: int, *, method: str, steps: int, owner: str
) -> Influence:
    """See Inside.influence. A score per position before `position`: the sum over the vector's numbers, in
    nats of the logprob of `ids[position]`.

    "input x gradient" (Simonyan et al. 2013; Shrikumar et al. 2016): each vector times the gradient there,
    by one pass forward and one back. "integrated gradients" (Sundararajan et al. 2017): each vector times the
    mean gradient on the straight line from all-zero vectors, by the midpoint rule at `steps` points, each a
    pass forward and one back. Their sum nears `total`, the logprob less that of all-zero vectors; `gap` is
    what it misses: it can be large, since norms make logprobs change abruptly close to all-zero vectors.

    All is computed in float32. Weights kept in less are copied for a pass and dropped after it, up to
    `MOST_COPIED` bytes. Raises ValueError for what cannot be had.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r:.40}")
    if type(steps) is not int or not 1 <= steps <= MOST_STEPS:
        raise ValueError(f"steps must be in [1, {MOST_STEPS}], got {steps!r:.40}")
    if len(ids) < 2:
        raise ValueError("there is no token with another before it")
    if type(position) is not int or not 1 <= position < len(ids):
        raise ValueError(f"position must be in [1, {len(ids) - 1}], got {position!r:.40}")
    before, chosen = reader.checked(ids, position - 1)[:position], ids[position]
    steps = steps if method == METHODS[1] else 1
    key = reader.key("influence", (*before, chosen), owner, method, steps)
    found: Influence | None = reader.kept.get(key)
    if found is None:
        find = _integrated if method == METHODS[1] else _plain
        scores, total = find(reader, before, chosen, steps)
        if not all(map(math.isfinite, scores)):
            raise NotAvailable("not available here: the gradient of this choice is no number")
        gap = None if total is None else total - math.fsum(scores)
        found = Influence(position, chosen, method, scores, steps, total, gap, "float32")
        reader.kept.put(key, found, 32 * len(scores))
    return found


def _plain(reader: Reader, ids: tuple[int, ...], chosen: int, _: int) -> tuple[Row, None]:
    return tuple(reader.call(lambda: _scores(reader, ids, chosen, 1.0)).tolist()), None


def _integrated(reader: Reader, ids: tuple[int, ...], chosen: int, steps: int) -> tuple[Row, float]:
    shares = [(step + 0.5) / steps for step in range(steps)]
    scores = [reader.call(partial(_scores, reader, ids, chosen, share)) for share in shares]
    blank, whole = (reader.call(partial(_logprob, reader, ids, chosen, share)) for share in (0.0, 1.0))
    return tuple(torch.stack(scores).mean(0).tolist()), whole - blank


# -- pieces -------------------------------------------------------------------------------------------


def _scores(reader: Reader, ids: tuple[int, ...], chosen: int, share: float) -> Tensor:
    """(length,) float64: the vectors of `ids` times the gradient at `share` of them. The worker runs without
    gradients; no `.grad` is left, and what parameters require stays as it is."""
    with torch.inference_mode(False), torch.enable_grad():
        model = _exact(reader)
        vectors = _vectors(reader, model, ids)
        given = (vectors * share).requires_grad_()
        (gradient,) = torch.autograd.grad(_choice(reader, model, given, chosen), given)
        return (vectors.double() * gradient.double()).sum(-1)[0].cpu()


def _logprob(reader: Reader, ids: tuple[int, ...], chosen: int, share: float) -> float:
    with torch.inference_mode(False), torch.no_grad():
        model = _exact(reader)
        return _choice(reader, model, _vectors(reader, model, ids) * share, chosen).item()


def _vectors(reader: Reader, model: Any, ids: tuple[int, ...]) -> Tensor:
    """(1, length, width) what the embedding module makes of `ids`."""
    return model.get_input_embeddings()(reader.ids(ids)).detach()


def _choice(reader: Reader, model: Any, vectors: Tensor, chosen: int) -> Tensor:
    """The raw logprob, a scalar, of `chosen` after `vectors` (1, length, width)."""
    takes = inspect.signature(model.forward).parameters
    if "inputs_embeds" not in takes:
        raise NotAvailable("not available here: this model reads ids only, and no vectors in their place")
    keeps = {"logits_to_keep": 1} if "logits_to_keep" in takes else {}
    logits = model(inputs_embeds=vectors, use_cache=False, **keeps).logits[0, -1]
    return logits.float().log_softmax(-1)[chosen]


def _exact(reader: Reader) -> Any:
    """The model; or, where some of its numbers are kept in less than float32, or are such as PyTorch cannot
    send gradients through, a second one that shares all others with it."""
    model = reader.model
    tensors = {id(each): each for each in itertools.chain(model.parameters(), model.buffers())}
    copied = {number: each for number, each in tensors.items() if _unfit(each)}
    if not copied:
        return model
    needed = 4 * sum(each.numel() for each in copied.values())
    _check_room(needed, model)
    made = {number: _fit(each) for number, each in copied.items()}
    return copy.deepcopy(model, tensors | made)


def _unfit(tensor: Tensor) -> bool:
    return tensor.is_inference() or (tensor.is_floating_point() and tensor.dtype != torch.float32)


def _fit(tensor: Tensor) -> Tensor:
    made = tensor.detach().clone()
    made = made.float() if made.is_floating_point() else made
    return nn.Parameter(made, requires_grad=False) if isinstance(tensor, nn.Parameter) else made


def _check_room(needed: int, model: Any) -> None:
    what = f"not available here: gradients need the weights in float32, a copy of {needed / 1e9:.1f} GB"
    if needed > MOST_COPIED:
        raise NotAvailable(f"{what}, and {MOST_COPIED / 1e9:.1f} GB are the limit")
    if len(set(getattr(model, "hf_device_map", {}).values())) > 1:
        raise NotAvailable(f"{what}, and this model is spread over several devices")
    free = psutil.virtual_memory().available if model.device.type == "cpu" else None
    if free is not None and needed > free * 2 / 3:
        raise NotAvailable(f"{what}, and {free / 1e9:.1f} GB are free")
