"""What was seen inside the model at one look: frozen results, no torch.

Positions count from 0 in the whole sequence (prompt and answer); layers from 0 (the first block) unless said
otherwise; heads from 0. Weights and shares are in [0, 1], probabilities raw (temperature 1, nothing cut).
Matrices are row-major tuples of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

Row = tuple[float, ...]
Matrix = tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What the model is made of, as its config and weights say it."""

    family: str  # config.model_type
    layers: int
    heads: int  # query heads per layer
    kv_heads: int  # heads that keys and values are stored for; fewer than `heads` where they are shared
    head_size: int
    width: int  # of the residual stream
    vocabulary: int
    parameters: int
    tied: bool  # whether the input and the output table are one
    positions: str  # "rotary", "learned", "none" or "unknown"
    rotary_theta: float | None
    windows: tuple[int | None, ...]  # per layer: most positions it looks back, None for all


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A token near another in an embedding table."""

    token_id: int
    text: str  # visible form
    cosine: float
    norm: float


@dataclass(frozen=True, slots=True)
class EmbeddingLook:
    """One row of an embedding table, and the rows that point the same way."""

    token_id: int
    text: str
    side: str  # "input" (what the token becomes) or "output" (what a hidden state is compared with)
    vector: Row  # (width,)
    norm: float
    mean_norm: float  # of all rows of the table
    neighbours: tuple[Neighbour, ...]  # by falling cosine, without the token itself


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A word on the map."""

    word: str
    ids: tuple[int, ...]  # the tokens it is made of; where they are several, their mean is drawn
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class EmbeddingMap:
    """Words as points: the first two principal components of their embeddings (centred, not scaled)."""

    side: str
    points: tuple[MapPoint, ...]
    explained: tuple[float, float]  # share of the variance that each axis shows
    cosines: Matrix  # (words, words), in the full space


@dataclass(frozen=True, slots=True)
class RotaryPair:
    """Two numbers of a head that turn together."""

    pair: int
    frequency: float  # radians per position
    angles: tuple[float, float]  # radians, at the two positions, not reduced


@dataclass(frozen=True, slots=True)
class PositionLook:
    """One token at two positions: what differs is only where it stands."""

    kind: str  # ModelShape.positions
    token_id: int
    text: str
    layer: int
    head: int
    positions: tuple[int, int]
    pairs: tuple[RotaryPair, ...]  # empty where nothing rotates
    before: Row  # the query before it is turned, (head_size,); empty where nothing rotates
    queries: tuple[Row, ...]  # at the two positions; empty, like keys and scores, where no position is added
    keys: tuple[Row, ...]
    table: tuple[Row, ...]  # the learned vectors of the two positions, (2, width); empty for others
    scores: Row  # q(first) · k(first - d) · the layer's scale for d = 0 … ; by distance alone if it turns


@dataclass(frozen=True, slots=True)
class OrderLook:
    """The same pieces in another order, and what the model expects next."""

    texts: tuple[str, str]
    ids: tuple[tuple[int, ...], tuple[int, ...]]
    tokens: tuple[tuple[str, float, float], ...]  # visible form, probability before, after; by the larger
    total_variation: float  # half the sum of absolute differences over the whole vocabulary
    divergence: float  # KL(before ‖ after), nats


@dataclass(frozen=True, slots=True)
class AttentionGrid:
    """Every head at a glance."""

    length: int  # positions read
    size: int  # side of a thumbnail
    thumbs: tuple[tuple[Row, ...], ...]  # (layers, heads, size²): mean weight of a cell, its map shrunk
    entropy: Matrix  # (layers, heads): nats, mean over the rows
    first: Matrix  # (layers, heads): mean weight on position 0
    itself: Matrix  # (layers, heads): mean weight on the position itself
    previous: Matrix  # (layers, heads): mean weight on the position before


@dataclass(frozen=True, slots=True)
class AttentionMap:
    """Who looks at whom: (positions, positions); rows sum to 1 less what sinks take, 0 above the diagonal."""

    layer: int | None  # None: mean over all layers
    head: int | None  # None: mean over the heads
    window: int | None
    weights: Matrix


@dataclass(frozen=True, slots=True)
class AttentionRow:
    """One row step by step: what a position takes from those before it."""

    position: int
    layer: int
    head: int
    kv_head: int
    scale: float
    window: int | None
    softcap: float | None  # scores are cap · tanh(score / cap) where the model does so
    query: Row  # (head_size,), as it is compared (turned, normed)
    products: Row  # q · k for every position up to and including `position`
    scores: Row  # scaled, and capped
    masked: tuple[bool, ...]  # outside the window
    weights: Row
    sink: float  # weight that goes to none of them (attention sinks), otherwise 0
    norms: Row  # length of each value vector


@dataclass(frozen=True, slots=True)
class LensToken:
    token_id: int
    text: str
    prob: float
    rank: int


@dataclass(frozen=True, slots=True)
class LensRow:
    """What the model would say after this many blocks, read with the final norm and the output table."""

    layer: int  # blocks that have run: 0 is the embedding, the last is the model's own output
    tokens: tuple[LensToken, ...]  # likeliest first
    chosen: LensToken | None  # the token that was picked, wherever it ranks
    entropy: float  # nats
    divergence: float  # KL(real output ‖ this row), nats


@dataclass(frozen=True, slots=True)
class Lens:
    """The logit lens at one position."""

    position: int
    rows: tuple[LensRow, ...]  # layers + 1, bottom first
    error: float  # largest difference between the last row's logits and the model's own


@dataclass(frozen=True, slots=True)
class Influence:
    """Which tokens mattered for the choice at one position."""

    position: int  # of the chosen token
    token_id: int
    method: str  # "input x gradient", "integrated gradients" or "rollout"
    scores: Row  # one per position before it; signed for gradients (of the raw logprob), shares for rollout
    steps: int  # passes of the integral; 1 for one backward pass, 0 for none
    total: float | None  # what the scores should sum to: logprob here less logprob of the baseline
    gap: float | None  # total less the sum of the scores
    dtype: str  # that it was computed in


@dataclass(frozen=True, slots=True)
class CacheLook:
    """The keys and values that a sequence keeps."""

    layers: int
    kv_heads: int
    head_size: int
    dtype: str
    bytes_per_token: int
    held: int  # bytes of this sequence
    reserved: int | None  # bytes of the rows that the server really set aside for it, None if it holds none
    tokens: int
    limit: int | None  # most tokens, from the model's context
