"""The logit lens (nostalgebraist 2020): what each block's output would say if it were the last one's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import Lens, LensRow, LensToken
from playground.sampling import row_scores

MOST_TOKENS = 50  # per row


def lens(reader: Reader, ids: Sequence[int], position: int, *, n: int, owner: str) -> Lens:
    """See Inside.lens. Each block's output at `position` goes through the final norm, which takes its own
    mean and variance of each, and through what the model does with it after that."""
    if type(n) is not int or not 1 <= n <= MOST_TOKENS:
        raise ValueError(f"n must be in [1, {MOST_TOKENS}], got {n!r:.40}")
    read = reader.checked(ids, position)[: position + 1]
    chosen = ids[position + 1] if position + 1 < len(ids) else None
    key = reader.key("lens", read, owner)
    logits = reader.kept.get(key)
    if logits is None:
        blocks, norm = ends(reader)
        states, own = reader.call(lambda: _states(reader, read, blocks, norm))
        logits = torch.cat([reader.call(lambda: _read_out(reader, norm, states, read[-1])), own[None]])
        reader.kept.put(key, logits, logits.numel() * logits.element_size())
    return reader.call(lambda: _lens(reader, logits[:-1], logits[-1], position, n, chosen))


def ends(reader: Reader) -> tuple[list[nn.Module], nn.Module]:
    """The blocks of the model, bottom first, and the norm between the last one and the output table."""
    parts = list(reader.model.get_decoder().children())
    lists = (part for part in parts if isinstance(part, nn.ModuleList) and len(part) == reader.shape.layers)
    blocks = next(lists, None)
    norms = [part for part in parts if "norm" in type(part).__name__.lower()]
    if blocks is None or not norms:
        raise NotAvailable("not available here: this model is not a row of blocks with a norm at its end")
    return list(blocks), norms[-1]


def _states(
    reader: Reader, ids: tuple[int, ...], blocks: list[nn.Module], norm: nn.Module
) -> tuple[Tensor, Tensor]:
    """The residual stream (layers + 1, width) at the last of `ids`, bottom first, and the model's own logits
    (vocab,) there, from one ordinary pass. What a block is given is what those below it have made."""
    states: list[Tensor] = []
    with contextlib.ExitStack() as stack:
        for module in (*blocks, norm):
            stack.enter_context(_before(module, lambda given: states.append(given[0, -1])))
        logits = reader.logits(ids, len(ids) - 1)
    if len(states) != len(blocks) + 1:
        raise NotAvailable("not available here: the blocks of this model do not run one after another")
    return torch.stack([state.to(states[-1].device) for state in states]), logits


def _read_out(reader: Reader, norm: nn.Module, states: Tensor, token_id: int) -> Tensor:
    """The logits (rows, vocab) that the model makes of `states` (rows, width): a pass over as many rows of
    one token whose end is replaced, so that all that the model does after its final norm is done."""
    ids = torch.full((len(states), 1), token_id, device=reader.model.device)
    with _before(norm, lambda _: states[:, None]):
        return reader.model(input_ids=ids, use_cache=False).logits[:, 0].float().cpu()


@contextlib.contextmanager
def _before(module: nn.Module, see: Callable[[Tensor], Tensor | None]) -> Iterator[None]:
    """Whenever `module` runs, `see` gets the states (rows, length, width) that it is given, and may return
    others for it."""

    def hook(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any] | None:
        other = see(given[0] if given else named["hidden_states"])
        return None if other is None else ((other, *given[1:]), named)

    handle = module.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def _lens(reader: Reader, logits: Tensor, own: Tensor, position: int, n: int, chosen: int | None) -> Lens:
    """What the rows of logits (layers + 1, vocab) say, compared with the model's own (vocab,)."""
    if not reader.agrees(logits[-1], own):
        raise NotAvailable("not available here: what this model's last block says is not its output")
    real = own.log_softmax(-1)
    rows = []
    for layer, row in enumerate(logits):
        logprobs = row.log_softmax(-1)
        probs = logprobs.exp()
        listed = row.topk(min(n, len(row))).indices.tolist()
        wanted = listed if chosen is None else [*listed, chosen]
        _, ranks = row_scores(row.expand(len(wanted), -1), torch.tensor(wanted))
        made = [
            LensToken(token_id, reader.vocabulary.visible(token_id), probs[token_id].item(), rank)
            for token_id, rank in zip(wanted, ranks.tolist(), strict=True)
        ]
        likely = sorted(made[: len(listed)], key=lambda token: token.rank)
        rows.append(
            LensRow(
                layer=layer,
                tokens=tuple(likely),
                chosen=None if chosen is None else made[-1],
                entropy=_mean(probs, -logprobs),
                divergence=max(0.0, _mean(real.exp(), real - logprobs)),
            )
        )
    return Lens(position, tuple(rows), (logits[-1] - own).abs().max().item())


def _mean(weights: Tensor, values: Tensor) -> float:
    """Mean of `values` by `weights`; what has no weight does not count, be it infinite."""
    return (weights * values.masked_fill(weights == 0, 0.0)).sum().item()
