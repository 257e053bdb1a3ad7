"""One pass whose attention is computed in its plain form, so that it can be noted what goes into it.

The fast kernels that runs use give no weights. For a look the model's attention goes through a function of
ours, registered with transformers under its own name: it gets queries and keys as they are compared (turned
by their positions, normed), computes softmax(scale · q·k) in float32 as the formula stands, notes its parts,
and gives its result on. So the logits of that pass tell whether it is what really runs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from playground.engine.inside.reading import NotAvailable

NAME = "playground_look"


@dataclass(frozen=True)
class Steps:
    """The weights of heads and how they come about; all (heads, queries, keys) and float32."""

    products: Tensor  # q · k
    scores: Tensor  # scaled, and capped
    weights: Tensor
    sinks: Tensor  # (heads, queries): weight that goes to no position


@dataclass(frozen=True)
class Noted:
    """What one layer's attention was computed from, in main memory and the model's dtype."""

    queries: Tensor  # (heads, length, size)
    keys: Tensor  # (kv heads, length, size)
    norms: Tensor  # (kv heads, length) lengths of the value vectors
    hidden: Tensor  # (length, length) True where a query may not look
    scale: float
    softcap: float | None
    sinks: Tensor | None  # (heads,) scores of the attention sinks

    @property
    def heads(self) -> int:
        return self.queries.shape[0]

    @property
    def group(self) -> int:
        """Query heads that share one head of keys and values."""
        return self.heads // self.keys.shape[0]

    @property
    def bytes(self) -> int:
        parts = (self.queries, self.keys, self.norms, self.hidden)
        return sum(part.numel() * part.element_size() for part in parts)

    def steps(self, heads: slice = slice(None), rows: slice = slice(None)) -> Steps:
        """The weights of some heads at some positions, over all."""
        keys = self.keys.repeat_interleave(self.group, 0)[heads]
        sinks = None if self.sinks is None else self.sinks[heads]
        return _steps(self.queries[heads, rows], keys, self.hidden[rows], self.scale, self.softcap, sinks)


def _steps(
    queries: Tensor, keys: Tensor, hidden: Tensor, scale: float, softcap: float | None, sinks: Tensor | None
) -> Steps:
    """Attention weights of queries (heads, n, size) over keys (heads, m, size), in float32."""
    products = queries.float() @ keys.float().transpose(-1, -2)
    scores = products * scale
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    shown = scores.masked_fill(hidden, -torch.inf)
    if sinks is None:
        weights = shown.softmax(-1)
        return Steps(products, scores, weights, weights.new_zeros(weights.shape[:-1]))
    spare = sinks.float()[:, None, None].expand(*shown.shape[:2], 1)
    weights = torch.cat([shown, spare], -1).softmax(-1)
    return Steps(products, scores, weights[..., :-1], weights[..., -1])


_now = threading.local()  # `layers`: what the pass of this thread notes, by the number of the layer


@contextlib.contextmanager
def noting(model: Any) -> Iterator[dict[int, Noted]]:
    """While it holds, `model` attends through our function, which notes each layer. Only for the worker:
    nobody else runs the model then. What was set before is set again, whatever happens."""
    configs = {id(config): config for config in _configs(model)}
    before = [(config, config._attn_implementation_internal) for config in configs.values()]
    layers: dict[int, Noted] = {}
    _now.layers = layers
    try:
        for config, _ in before:
            config._attn_implementation_internal = NAME
        yield layers
    finally:
        for config, name in before:
            config._attn_implementation_internal = name
        del _now.layers


def _configs(model: Any) -> Iterator[Any]:
    for module in model.modules():
        config = getattr(module, "config", None)
        if hasattr(config, "_attn_implementation_internal"):
            yield config


def _attend(
    module: Any,
    query: Tensor,  # (1, heads, length, size)
    key: Tensor,  # (1, kv heads, length, size)
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """The attention function; (1, length, heads, size) and no weights, which are noted."""
    layer = getattr(module, "layer_idx", None)
    if layer is None or layer in _now.layers:
        raise NotAvailable("not available here: the layers of this model cannot be told apart")
    scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    hidden = _hidden(attention_mask, query.shape[2], key.shape[2])
    group = query.shape[1] // key.shape[1]
    keys, values = (states[0].repeat_interleave(group, 0) for states in (key, value))
    steps = _steps(query[0], keys, hidden, scale, softcap, s_aux)
    _now.layers[layer] = Noted(
        query[0].cpu(),
        key[0].cpu(),
        value[0].float().norm(dim=-1).cpu(),
        hidden.cpu(),
        scale,
        softcap,
        None if s_aux is None else s_aux.detach().cpu(),
    )
    return (steps.weights @ values.float()).to(query.dtype).transpose(0, 1)[None].contiguous(), None


def _hidden(mask: Tensor | None, queries: int, keys: int) -> Tensor:
    """(queries, keys) True where a query may not look. Masks are those of `_mask`, or the model's own."""
    if mask is None or mask.dtype != torch.bool or mask.shape != (1, 1, queries, keys):
        raise NotAvailable("not available here: this model hides positions in a way of its own")
    return ~mask[0, 0]


def _mask(**asked: Any) -> Tensor | None:
    """(1, 1, queries, keys) True where a query may look; never left out, as a fast kernel would allow."""
    return sdpa_mask(**{**asked, "allow_is_causal_skip": False})


AttentionInterface.register(NAME, _attend)
AttentionMaskInterface.register(NAME, _mask)
