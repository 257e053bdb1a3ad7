"""What a position does to a token, and word order to what is expected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from playground.engine.inside.placing import Placed, place, state_at
from playground.engine.inside.reading import NotAvailable, Reader
from playground.engine.inside.shape import position_table
from playground.findings.inside import OrderLook, PositionLook, RotaryPair, Row
from playground.sampling import kl
from playground.text.chat import raw_prompt

FARTHEST = 256  # positions that the scores by distance look back
MOST_PLACES = 10**6  # of a model that states no context
MOST_TOKENS = 50


def positions(
    reader: Reader, ids: Sequence[int], first: int, second: int, *, layer: int, head: int, owner: str
) -> PositionLook:
    """See Inside.positions. What `layer` is given for `ids[first]` is put at both positions, and the model's
    own layer makes queries and keys of it, with its own norms, frequencies and scaling.

    In layer 0 that is what the layer is given wherever the token stands. What deeper layers are given depends
    on the text before it, too: there it is what the token has become at `first`. Learned positions are added
    below layer 0; deeper layers do nothing with a position, and only the two vectors are shown.

    `scores` are q(first) · k(first − d) times the layer's scale, before any cap, for d = 0 … `first`, and
    `FARTHEST` at most. Where frequencies depend on the length of the text, they are those of one that has
    both positions.
    """
    read = reader.checked(ids, first)
    shape = reader.shape
    if not shape.heads:
        raise NotAvailable(f"not available here: this model ({shape.family}) has no attention")
    if shape.positions not in ("rotary", "learned"):
        raise NotAvailable(f"not available here: how this model ({shape.family}) knows positions is not told")
    _within("second", second, _places(reader))
    _within("layer", layer, shape.layers)
    _within("head", head, shape.heads)
    learned = shape.positions == "learned"
    state = None if learned or not layer else state_at(reader, read[: first + 1], layer, owner)
    back = range(first, max(0, first - FARTHEST) - 1, -1)
    places = (first, second, *back)
    placed = reader.call(lambda: place(reader, read[first], places, layer, state))
    seen = not learned or not layer
    return PositionLook(
        kind=shape.positions,
        token_id=read[first],
        text=reader.vocabulary.visible(read[first]),
        layer=layer,
        head=head,
        positions=(first, second),
        pairs=tuple(
            RotaryPair(pair, frequency, (frequency * first, frequency * second))
            for pair, frequency in enumerate(placed.frequencies)
        ),
        before=tuple(placed.bare[head].tolist()) if placed.frequencies else (),
        queries=_rows(placed.queries[head, :2]) if seen else (),
        keys=_rows(placed.keys[head, :2]) if seen else (),
        table=() if placed.table is None else _rows(placed.table[:2]),
        scores=_scores(placed, head) if seen else (),
    )


def _scores(placed: Placed, head: int) -> Row:
    """Of the query at the first place with the keys from the third on."""
    products = placed.keys[head, 2:] @ placed.queries[head, 0]
    return tuple((products * placed.scale).tolist())


def order(reader: Reader, texts: tuple[str, str], *, n: int, owner: str) -> OrderLook:
    """See Inside.order. Each text is read as it is, with the start token that the model wants; probabilities
    are raw, and both measures are over the whole vocabulary. `tokens`: the `n` with the largest probability
    after either; equal ones by lowest id."""
    if type(n) is not int or not 1 <= n <= MOST_TOKENS:
        raise ValueError(f"n must be in [1, {MOST_TOKENS}], got {n!r:.40}")
    if len(texts) != 2:
        raise ValueError(f"two texts are compared, got {len(texts)}")
    ids = [tuple(raw_prompt(reader.vocabulary, text).ids) for text in texts]
    before, after = (_expected(reader, each) for each in ids)
    chances = np.exp(before), np.exp(after)
    likeliest = np.argsort(-np.maximum(*chances), kind="stable")[:n].tolist()
    return OrderLook(
        texts=(texts[0], texts[1]),
        ids=(ids[0], ids[1]),
        tokens=tuple(
            (reader.vocabulary.visible(token_id), float(chances[0][token_id]), float(chances[1][token_id]))
            for token_id in likeliest
        ),
        total_variation=float(np.abs(chances[0] - chances[1]).sum() / 2),
        divergence=kl(before, after),
    )


def _expected(reader: Reader, ids: tuple[int, ...]) -> np.ndarray:
    """(vocab,) float64 log-probabilities of what follows `ids`."""
    last = len(ids) - 1
    if reader.checked(ids) != ids:
        raise ValueError(f"a look reads {reader.most} positions at most, and a text has {last + 1}")
    return reader.call(lambda: reader.logits(ids, last).double().log_softmax(-1)).numpy()


def _places(reader: Reader) -> int:
    """Positions that the model has."""
    table = position_table(reader.model)
    stated = reader.info.context or MOST_PLACES
    return stated if table is None else min(stated, table.num_embeddings)


def _rows(states: Tensor) -> tuple[Row, ...]:
    return tuple(map(tuple, states.tolist()))


def _within(what: str, number: int, count: int) -> None:
    if type(number) is not int or not 0 <= number < count:
        raise ValueError(f"{what} must be in [0, {count - 1}], got {number!r:.40}")
