"""One token at many positions at once: what a layer makes of it at each of them.

A pass over copies of the token, each told another position, in which one layer is given the same state for
all of them. The model's own code turns queries and keys, or adds its learned vectors; nothing is built anew.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from playground.engine.inside.attend import noting
from playground.engine.inside.lens import ends
from playground.engine.inside.reading import NotAvailable, Reader
from playground.engine.inside.shape import position_table

Named = dict[str, Any]
Turn = tuple[Tensor, Tensor] | Tensor  # (1, places, numbers) cosines and sines; or complex numbers, of both
_Call = tuple[nn.Module, tuple[Any, ...], Named, Turn]


@dataclass(frozen=True)
class Placed:
    """What a layer makes of a token at each of the places asked for, as it is compared; float32, on a CPU."""

    queries: Tensor  # (heads, places, size)
    keys: Tensor  # (heads, places, size), of the head of keys that each head shares
    scale: float
    bare: Tensor  # (heads, size) the query before it is turned
    frequencies: tuple[float, ...]  # radians per position of each pair; empty where nothing turns
    table: Tensor | None  # (places, width) learned vectors


class _Enough(Exception):
    """The rest of a pass is not needed."""


def state_at(reader: Reader, ids: tuple[int, ...], layer: int, owner: str) -> Tensor:
    """(width,) what `layer` is given for the last of `ids`."""
    key = reader.key("state", ids, owner, layer)
    found: Tensor | None = reader.kept.get(key)
    if found is None:
        block = ends(reader)[0][layer]
        found = reader.call(lambda: _state(reader, ids, block))
        reader.kept.put(key, found, found.numel() * found.element_size())
    return found


def _state(reader: Reader, ids: tuple[int, ...], block: nn.Module) -> Tensor:
    found: list[Tensor] = []

    def see(states: Tensor, named: Named) -> None:
        found.append(states[0, -1].clone())
        raise _Enough

    with contextlib.suppress(_Enough), _given(block, see):
        reader.model(input_ids=reader.ids(ids), use_cache=False)
    return found[0]


def place(reader: Reader, token_id: int, places: Sequence[int], layer: int, state: Tensor | None) -> Placed:
    """A piece: the token at each of `places`, where `layer` is given `state` (width,), or what the model
    itself gives it (in layer 0, that is the token alone)."""
    model, block = reader.model, ends(reader)[0][layer]
    if "position_ids" not in inspect.signature(model.forward).parameters:
        raise NotAvailable("not available here: this model cannot be told where a token stands")
    # Two more copies come first: one that is not turned, and one at position 1, which is turned by the
    # frequencies themselves.
    where = torch.tensor([[0, 1, *places]], device=model.device)
    turns: list[Turn] = []

    def see(states: Tensor, named: Named) -> tuple[Tensor, Named]:
        given = named.get("position_embeddings")
        if given is not None:
            turns.append(_exact(calls, given))
            named = {**named, "position_embeddings": _unturned(given)}
        return states if state is None else state.expand(states.shape), named

    def enough(*_: Any) -> None:
        raise _Enough

    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(_Enough))
        layers = stack.enter_context(noting(model))
        calls = stack.enter_context(_calls(model))
        vectors = stack.enter_context(_learned(model))
        stack.enter_context(_given(block, see))
        stack.callback(block.register_forward_hook(enough).remove)
        model(input_ids=torch.full_like(where, token_id), position_ids=where, use_cache=False)
    if layer not in layers:
        raise NotAvailable(f"not available here: layer {layer} does not attend in a way that can be followed")
    if reader.shape.positions == "rotary" and not turns:
        raise NotAvailable("not available here: this model turns queries in a way that cannot be followed")
    noted = layers[layer]
    queries, keys = noted.queries.float(), noted.keys.float().repeat_interleave(noted.group, 0)
    # Some models leave single layers without positions.
    rounding = 1e-4 if model.dtype == torch.float32 else 1e-2
    moved = (queries[:, 0] - queries[:, 1]).abs().max() > rounding * queries.abs().max()
    turned = bool(turns) and bool(moved)
    return Placed(
        queries[:, 2:],
        keys[:, 2:],
        noted.scale,
        queries[:, 0],
        _frequencies(turns[0]) if turned else (),
        None if not vectors else vectors[0].reshape(where.shape[1], -1)[2:].float().cpu(),
    )


# -- what turns ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def _calls(model: Any) -> Iterator[list[_Call]]:
    """The calls of the model's rotary modules and what they gave."""
    calls: list[_Call] = []

    def note(module: nn.Module, given: tuple[Any, ...], named: Named, turn: Turn) -> None:
        calls.append((module, given, named, turn))

    found = [module for module in model.modules() if "RotaryEmbedding" in type(module).__name__]
    handles = [module.register_forward_hook(note, with_kwargs=True) for module in found]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _exact(calls: list[_Call], turn: Turn) -> Turn:
    """`turn` without the rounding to the model's dtype: its module, asked once more in float32. A model may
    have several of them, such as one base for layers that slide and one for those that see everything."""
    for module, given, named, gave in calls:
        if gave is turn and given:
            return module.forward(given[0].float(), *given[1:], **named)
    return turn


def _split(turn: Turn) -> tuple[int, Tensor, Tensor]:
    """Where the cosines stand in it, they and the sines, (places, numbers). At place 0 the sines are 0."""
    if isinstance(turn, Tensor):
        return 0, turn.real[0], turn.imag[0]
    at = 1 if not turn[0][0, 0].any() else 0
    return at, turn[at][0], turn[1 - at][0]


def _unturned(turn: Turn) -> Turn:
    """`turn` where the first place is turned by nothing, and stretched by nothing."""
    if isinstance(turn, Tensor):
        return torch.cat([torch.ones_like(turn[:, :1]), turn[:, 1:]], 1)
    at, _, _ = _split(turn)
    parts = [torch.cat([torch.full_like(part[:, :1], which == at), part[:, 1:]], 1)
             for which, part in enumerate(turn)]  # fmt: skip
    return parts[0], parts[1]


def _frequencies(turn: Turn) -> tuple[float, ...]:
    """What each pair turns by from one position to the next, as it does at position 1."""
    _, cosines, sines = _split(turn)
    angles = torch.atan2(sines[1].double(), cosines[1].double())
    half = len(angles) // 2
    if len(angles) == 2 * half:  # both numbers of a pair may have their own entry: halves, or neighbours
        if torch.equal(angles[:half], angles[half:]):
            angles = angles[:half]
        elif torch.equal(angles[::2], angles[1::2]):
            angles = angles[::2]
    return tuple(angles.tolist())


# -- what the model is given --------------------------------------------------------------------------


@contextlib.contextmanager
def _learned(model: Any) -> Iterator[list[Tensor]]:
    """What the table of positions gives, where there is one."""
    vectors: list[Tensor] = []
    table = position_table(model)
    if table is None:
        yield vectors
        return
    handle = table.register_forward_hook(lambda _, given, found: vectors.append(found))
    try:
        yield vectors
    finally:
        handle.remove()


@contextlib.contextmanager
def _given(block: nn.Module, see: Callable[[Tensor, Named], tuple[Tensor, Named] | None]) -> Iterator[None]:
    """When `block` runs, `see` gets its states (1, length, width) and what it is told by name, and may return
    others for it."""

    def hook(_: nn.Module, given: tuple[Any, ...], named: Named) -> tuple[Any, Any] | None:
        if given:
            other = see(given[0], named)
            return None if other is None else ((other[0], *given[1:]), other[1])
        other = see(named["hidden_states"], named)
        return None if other is None else ((), {**other[1], "hidden_states": other[0]})

    handle = block.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()
