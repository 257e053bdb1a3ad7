"""The logit lens (nostalgebraist 2020): what each block's output would say if it were the last one's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
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
        norm = final_norm(reader.model)
        states, own = reader.call(lambda: _states(reader, read, norm))
        logits = torch.cat([reader.call(lambda: _read_out(reader, norm, states, read[-1])), own[None]])
        reader.kept.put(key, logits, logits.numel() * logits.element_size())
    return reader.call(lambda: _lens(reader, logits[:-1], logits[-1], position, n, chosen))


def final_norm(model: Any) -> nn.Module:
    """The norm between the last block and the output table."""
    norms = [module for module in model.get_decoder().children() if "norm" in type(module).__name__.lower()]
    if not norms:
        raise NotAvailable("not available here: this model has no norm between its last block and its output")
    return norms[-1]


def _states(reader: Reader, ids: tuple[int, ...], norm: nn.Module) -> tuple[Tensor, Tensor]:
    """The residual stream (layers + 1, width) at the last of `ids`, bottom first, and the model's own logits
    (vocab,) there, from one ordinary pass."""
    with _before(norm, lambda states: None) as seen:
        output = reader.forward(ids, len(ids) - 1, output_hidden_states=True)
    # The last of the hidden states that transformers gives is normed already: taken before that, here.
    states = [state[0, -1] for state in (*output.hidden_states[:-1], seen[-1])]
    if len(states) != reader.config.num_hidden_layers + 1:
        raise NotAvailable("not available here: the blocks of this model cannot be told apart")
    return torch.stack([state.to(states[-1].device) for state in states]), output.logits[0, -1].float().cpu()


def _read_out(reader: Reader, norm: nn.Module, states: Tensor, token_id: int) -> Tensor:
    """The logits (rows, vocab) that the model makes of `states` (rows, width): a pass over as many rows of
    one token whose end is replaced, so that all that the model does after its final norm is done."""
    ids = torch.full((len(states), 1), token_id, device=reader.model.device)
    with _before(norm, lambda _: states[:, None]):
        return reader.model(input_ids=ids, use_cache=False).logits[:, 0].float().cpu()


@contextlib.contextmanager
def _before(norm: nn.Module, put: Any) -> Iterator[list[Tensor]]:
    """Notes what `norm` is given, and gives it `put(that)` instead where that is not None."""
    seen: list[Tensor] = []

    def hook(_: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        seen.append(given[0])
        other = put(given[0])
        return None if other is None else (other, *given[1:])

    handle = norm.register_forward_pre_hook(hook)
    try:
        yield seen
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
