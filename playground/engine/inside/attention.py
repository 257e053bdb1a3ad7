"""Who looks at whom: every head at a glance, one head's map, one row step by step, and rollout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from playground.engine.inside.attend import Noted, noting
from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import AttentionGrid, AttentionMap, AttentionRow, Influence, Matrix

THUMB = 16  # cells of a thumbnail's side, at most
PIECE = 2**22  # weights that one piece computes: some hundredths of a second on a CPU

Result = TypeVar("Result")


def grid(reader: Reader, ids: Sequence[int], *, owner: str) -> AttentionGrid:
    """See Inside.attention_grid."""
    read = reader.checked(ids)
    layers = _noted(reader, read, owner)
    size = min(THUMB, len(read))
    made = _each(reader, layers, lambda layer: _summary(layer, size))
    thumbs, *measures = zip(*made, strict=True)
    return AttentionGrid(len(read), size, thumbs, *measures)


def _summary(layer: Noted, size: int) -> tuple[tuple, ...]:
    """The thumbnails (heads, size²) of a layer, and per head: entropy, weight on the first position, on
    the position itself and on the one before."""
    steps = layer.steps()
    weights, length = steps.weights, steps.weights.shape[-1]
    entropy = -(torch.special.xlogy(weights, weights).sum(-1) + torch.special.xlogy(steps.sinks, steps.sinks))
    before = weights.diagonal(-1, -2, -1).sum(-1) / max(1, length - 1)  # the first has none before it
    thumbs = adaptive_avg_pool2d(weights, (size, size)).flatten(1)
    measures = (entropy.mean(-1), weights[..., 0].mean(-1), weights.diagonal(0, -2, -1).mean(-1), before)
    return tuple(map(tuple, thumbs.tolist())), *(tuple(measure.tolist()) for measure in measures)


def head_map(
    reader: Reader, ids: Sequence[int], *, layer: int | None, head: int | None, owner: str
) -> AttentionMap:
    """See Inside.attention_map."""
    read = reader.checked(ids)
    layers = _noted(reader, read, owner)
    chosen = layers if layer is None else [layers[_within("layer", layer, len(layers))]]
    heads = slice(None)
    if head is not None:
        _within("head", head, min(noted.heads for noted in chosen))
        heads = slice(head, head + 1)
    mean = torch.stack(_each(reader, chosen, lambda noted: _mean(noted, heads))).mean(0)
    windows = reader.shape.windows
    window = windows[0] if len(set(windows)) == 1 else None
    return AttentionMap(
        layer, head, window if layer is None else windows[layer], tuple(map(tuple, mean.tolist()))
    )


def row(
    reader: Reader, ids: Sequence[int], position: int, *, layer: int, head: int, owner: str
) -> AttentionRow:
    """See Inside.attention_row."""
    read = reader.checked(ids, position)
    layers = _noted(reader, read, owner)
    noted = layers[_within("layer", layer, len(layers))]
    _within("head", head, noted.heads)
    kv_head = head // noted.group
    steps = reader.call(lambda: noted.steps(slice(head, head + 1), slice(position, position + 1)))
    seen = slice(position + 1)  # what comes later is never compared with
    return AttentionRow(
        position=position,
        layer=layer,
        head=head,
        kv_head=kv_head,
        scale=noted.scale,
        window=reader.shape.windows[layer],
        softcap=noted.softcap,
        query=tuple(noted.queries[head, position].tolist()),
        products=tuple(steps.products[0, 0, seen].tolist()),
        scores=tuple(steps.scores[0, 0, seen].tolist()),
        masked=tuple(noted.hidden[position, seen].tolist()),
        weights=tuple(steps.weights[0, 0, seen].tolist()),
        sink=steps.sinks.item(),
        norms=tuple(noted.norms[kv_head, seen].tolist()),
    )


def heads(reader: Reader, ids: Sequence[int], position: int, *, owner: str) -> tuple[Matrix, ...]:
    """See Inside.attention_heads."""
    layers = _noted(reader, reader.checked(ids, position), owner)

    def find(noted: Noted) -> Matrix:
        weights = noted.steps(rows=slice(position, position + 1)).weights[:, 0, : position + 1]
        return tuple(map(tuple, weights.tolist()))

    return tuple(_each(reader, layers, find))


def rollout(reader: Reader, ids: Sequence[int], position: int, *, owner: str) -> Influence:
    """See Inside.rollout. Each layer is half the mean of its heads and half the residual stream, so a share
    is what of the position's state came along attention from there, as far as weights can tell."""
    if len(ids) < 2:
        raise ValueError("there is no token with another before it")
    _within("position", position, len(ids), first=1)
    read = reader.checked(ids, position - 1)
    layers = _noted(reader, read, owner)
    share = torch.zeros(len(read))
    share[position - 1] = 1.0
    for mean in reversed(_each(reader, layers, _mean)):
        mixed = mean / mean.sum(-1, keepdim=True) + torch.eye(len(read))
        share = share @ mixed / 2
    scores = tuple(share[:position].tolist())
    return Influence(position, ids[position], "rollout", scores, 0, None, None, "float32")


def _noted(reader: Reader, ids: tuple[int, ...], owner: str) -> list[Noted]:
    """What each layer's attention over `ids` is computed from, bottom first."""
    key = reader.key("attention", ids, owner)
    kept: list[Noted] | None = reader.kept.get(key)
    if kept is not None:
        return kept
    if not reader.shape.heads:
        raise NotAvailable(f"not available here: this model ({reader.config.model_type}) has no attention")
    position, own = reader.own_logits(ids, owner)
    layers, logits = reader.call(lambda: _pass(reader, ids, position))
    if not reader.agrees(logits, own):
        raise NotAvailable("not available here: this model's attention, computed anew, gives other logits")
    reader.kept.put(key, layers, sum(layer.bytes for layer in layers))
    return layers


def _pass(reader: Reader, ids: tuple[int, ...], position: int) -> tuple[list[Noted], Tensor]:
    """The layers of a pass that is noted, and its logits (vocab,) at `position`."""
    with noting(reader.model) as layers:
        logits = reader.logits(ids, position)
    count = reader.shape.layers
    if sorted(layers) != list(range(count)):
        raise NotAvailable(
            f"not available here: of the {count} layers of this model {len(layers)} attend in a way that can "
            "be followed"
        )
    return [layers[number] for number in range(count)], logits


def _each(reader: Reader, layers: Sequence[Noted], find: Callable[[Noted], Result]) -> list[Result]:
    """`find` for every layer, as many in one piece as are done in an instant."""
    together = max(1, PIECE // (layers[0].heads * len(layers[0].hidden) ** 2))
    groups = [layers[start : start + together] for start in range(0, len(layers), together)]
    return [found for group in groups for found in reader.call(partial(_all, find, group))]


def _all(find: Callable[[Noted], Result], layers: Sequence[Noted]) -> list[Result]:
    return [find(layer) for layer in layers]


def _mean(layer: Noted, heads: slice = slice(None)) -> Tensor:
    """(length, length) mean weights of some heads."""
    return layer.steps(heads).weights.mean(0)


def _within(what: str, number: int, count: int, first: int = 0) -> int:
    if type(number) is not int or not first <= number < count:
        raise ValueError(f"{what} must be in [{first}, {count - 1}], got {number!r:.40}")
    return number
