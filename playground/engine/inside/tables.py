"""Rows of the embedding tables: what a token becomes, which rows point the same way, and words on a map.

The input table turns an id into a vector; the output table (the weights of the last layer) has the vectors
that a hidden state is compared with. Both are shown as they are stored: what a model multiplies its input
rows by on the way in (Gemma: the root of the width) turns no vector and changes no cosine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from playground.engine.inside.reading import NotAvailable, Reader
from playground.findings.inside import EmbeddingLook, EmbeddingMap, MapPoint, Neighbour

MOST_WORDS = 60
_ROWS = 16_384  # of a table in float32 at once


def embedding(reader: Reader, token_id: int, *, side: str, n: int) -> EmbeddingLook:
    """Row `token_id` of a table (`side`: "input" or "output"), and the `n` others with the largest cosine to
    it; equal ones by lowest id. Raises ValueError for an id without a row."""
    _check_side(side)
    if not 1 <= n <= 1000:
        raise ValueError(f"n must be in [1, 1000], got {n!r:.40}")
    lengths = _lengths(reader, side)
    if type(token_id) is not int or not 0 <= token_id < len(lengths):
        raise ValueError(f"the {side} table has rows 0 to {len(lengths) - 1}, not {token_id!r:.40}")

    def piece() -> tuple[np.ndarray, np.ndarray]:
        table = _table(reader, side)
        vector = table[token_id].float()
        products = [part.float() @ vector for part in table[: len(lengths)].split(_ROWS)]
        return vector.cpu().numpy(), torch.cat(products).cpu().numpy()

    vector, products = reader.call(piece)
    scale = lengths * lengths[token_id]
    cosines = np.divide(products, scale, out=np.full_like(products, -np.inf), where=scale > 0)
    cosines[token_id] = -np.inf
    order = np.argsort(-cosines, kind="stable")[:n]
    visible = reader.vocabulary.visible
    return EmbeddingLook(
        token_id=token_id,
        text=visible(token_id),
        side=side,
        vector=tuple(vector.tolist()),
        norm=float(lengths[token_id]),
        mean_norm=float(lengths.mean()),
        neighbours=tuple(
            Neighbour(int(place), visible(int(place)), float(min(1.0, cosines[place])), float(lengths[place]))
            for place in order
            if np.isfinite(cosines[place])
        ),
    )


def embedding_map(reader: Reader, words: Sequence[str], *, side: str) -> EmbeddingMap:
    """Words as points: the first two principal components of their rows, centred and not scaled.

    A word is read as it stands in a sentence, with a space before it; where that is several tokens, the mean
    of their rows stands for it. Each axis points to where its most extreme word has a positive coordinate, so
    that a map does not turn over from one look to the next.
    """
    _check_side(side)
    if not 2 <= len(words) <= MOST_WORDS:
        raise ValueError(f"a map takes 2 to {MOST_WORDS} words, got {len(words)}")
    rows = len(_lengths(reader, side))
    ids = [_ids_of(reader, word, rows) for word in words]

    def piece() -> np.ndarray:
        table = _table(reader, side)
        means = [table[torch.tensor(each, device=table.device)].double().mean(0) for each in ids]
        return torch.stack(means).cpu().numpy()

    vectors = reader.call(piece)
    lengths = np.linalg.norm(vectors, axis=1)
    if not lengths.all():
        raise NotAvailable(f"not available here: the row of {words[int(np.argmin(lengths))]!r} is all zeros")
    spread, squares = _components(vectors)
    whole = float(squares.sum()) or 1.0
    directions = vectors / lengths[:, None]
    return EmbeddingMap(
        side=side,
        points=tuple(
            MapPoint(word, tuple(each), float(x), float(y))
            for word, each, (x, y) in zip(words, ids, spread, strict=True)
        ),
        explained=(float(squares[0]) / whole, float(squares[1]) / whole),
        cosines=tuple(tuple(row) for row in np.clip(directions @ directions.T, -1, 1).tolist()),
    )


def _components(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (words, 2) on the first two principal components, and the squared spread along each of all
    components (at least 2)."""
    centred = vectors - vectors.mean(0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    spread = (left * sizes)[:, :2]
    far = np.abs(spread).argmax(0)
    signs = np.where(spread[far, np.arange(spread.shape[1])] < 0, -1.0, 1.0)
    return spread * signs, sizes**2


def _ids_of(reader: Reader, word: str, rows: int) -> list[int]:
    vocabulary = reader.vocabulary
    ids = vocabulary.encode(word if word[:1].isspace() else f" {word}")
    if len(ids) > 1 and vocabulary.bytes_of(ids[0]).isspace():
        ids = ids[1:]  # the space is a token of its own
    if not ids:
        raise ValueError(f"the model has no token for {word!r:.60}")
    if max(ids) >= rows:
        raise NotAvailable(f"not available here: the table has no row for {word!r:.60}")
    return ids


def _lengths(reader: Reader, side: str) -> np.ndarray:
    """Euclidean length of each row, (rows,) float64; read once per table."""
    found = reader.kept.get(("lengths", side))
    if found is None:

        def piece() -> np.ndarray:
            table = _table(reader, side)
            rows = table[: reader.vocabulary.size].split(_ROWS)
            return torch.cat([part.float().norm(dim=1) for part in rows]).double().cpu().numpy()

        found = reader.call(piece)
        reader.kept.put(("lengths", side), found, found.nbytes)
    return found


def _table(reader: Reader, side: str) -> Tensor:
    """(rows, width), as it is stored."""
    model = reader.model
    layer = model.get_input_embeddings() if side == "input" else model.get_output_embeddings()
    weight = getattr(layer, "weight", None)
    if weight is None or weight.dim() != 2:
        raise NotAvailable(f"not available here: this model has no plain {side} table")
    return weight.detach()


def _check_side(side: str) -> None:
    if side not in ("input", "output"):
        raise ValueError(f"side must be input or output, got {side!r:.40}")
