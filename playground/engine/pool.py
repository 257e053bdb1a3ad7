"""What is kept of past passes so that nothing is computed twice: rows of logits, prefixes of keys and values.

Both are found by ids, not by handles: whoever asks with the same ids finds them, and losing them costs time,
never an answer. Both are bounded in bytes and drop what was used longest ago.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from playground.engine.slots import Snapshot

Scores = list[tuple[float, int] | None]  # per position: raw logprob and rank of its id; None if unknown


class IdsKey:
    """A running hash of a sequence of ids: two sequences of one owner have the same key if and only if they
    are equal, those of two owners never."""

    def __init__(self, ids: Iterable[int] = (), owner: str = "") -> None:
        secret = hashlib.sha256(owner.encode()).digest() if owner else b""
        self._hash = hashlib.blake2b(digest_size=16, key=secret)
        self.extend(ids)

    def extend(self, ids: Iterable[int]) -> bytes:
        """Append ids; the key of the sequence so far."""
        self._hash.update(np.fromiter(ids, dtype="<u4").tobytes())
        return self._hash.digest()

    @property
    def key(self) -> bytes:
        return self._hash.digest()


class LogitsPool:
    """Full rows of logits, in the model's own dtype, by the ids that the model had read.

    Thread safe for one writer and many readers: every operation is a single dictionary call.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self._rows: OrderedDict[bytes, Tensor] = OrderedDict()

    def put(self, key: bytes, row: Tensor) -> None:
        """Keep a copy of `row` (vocab,) in main memory."""
        size = row.numel() * row.element_size()
        if size > self.most_bytes:
            return
        if key in self._rows:
            self._rows.move_to_end(key)
            return
        self._rows[key] = row.detach().to("cpu", copy=True)
        self.bytes += size
        while self.bytes > self.most_bytes:
            _, old = self._rows.popitem(last=False)
            self.bytes -= old.numel() * old.element_size()

    def get(self, key: bytes) -> Tensor | None:
        return self._rows.get(key)

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(eq=False)
class Prefix:
    """Keys and values of `ids`, with the scores of each of them."""

    ids: np.ndarray  # (n,) int64
    states: Snapshot
    scores: Scores
    owner: str = ""
    bytes: int = field(default=0)

    def shared(self, ids: np.ndarray) -> int:
        """How many leading ids are the same."""
        n = min(len(self.ids), len(ids))
        differ = np.flatnonzero(self.ids[:n] != ids[:n])
        return int(differ[0]) if len(differ) else n

    def usable(self, ids: np.ndarray, owner: str, public: int) -> int:
        """How many leading ids are the same and may be taken over: another owner's up to `public` only."""
        return self.shared(ids) if owner == self.owner else min(self.shared(ids), public)


class PrefixStore:
    """Rows of lanes that ended, newest last."""

    def __init__(self) -> None:
        self.bytes = 0
        self._kept: list[Prefix] = []

    def longest(
        self, ids: np.ndarray, others: Sequence[Prefix] = (), *, owner: str = "", public: int = 0
    ) -> tuple[Prefix | None, int]:
        """The prefix, kept here or among `others`, with most leading ids that `owner` may take over for
        `ids`, and how many (see Prefix.usable)."""
        best, length = None, 0
        for prefix in (*self._kept, *others):
            if (n := prefix.usable(ids, owner, public)) > length:
                best, length = prefix, n
        if best in self._kept:  # used: it goes last
            self._kept.remove(best)
            self._kept.append(best)
        return best, length

    def bytes_of(self, ids: np.ndarray, least: int, owner: str) -> int | None:
        """Bytes of a row of `owner` that holds at least the first `least` of `ids`; None if there is none.
        Asking leaves the order in which they are dropped as it is."""
        return next(
            (kept.bytes for kept in self._kept if kept.owner == owner and kept.shared(ids) >= least), None
        )

    def keep(self, ids: Sequence[int], states: Snapshot, scores: Scores, room: int, owner: str = "") -> None:
        """Copy a row that is about to be given back, if it fits into `room` bytes with the others."""
        array, scores = np.asarray(ids, dtype=np.int64), list(scores)
        size = sum(part.numel() * part.element_size() for pair in states for part in pair)
        for kept in self._kept:  # a look at the middle of a prompt is held by the run of that prompt
            if kept.owner == owner and kept.shared(array) == len(array) < len(kept.ids):
                kept.scores[: len(scores)] = [
                    old or new for old, new in zip(kept.scores, scores, strict=False)
                ]
                return
        for kept in list(self._kept):  # what the new row holds as well is not needed any more
            if kept.owner == owner and kept.shared(array) == len(kept.ids):
                for place, score in enumerate(kept.scores):
                    scores[place] = scores[place] or score
                self._drop(kept)
        if size > room or not size:
            return
        self.shrink(room - size)
        copies = [(keys.clone(), values.clone()) for keys, values in states]
        self._kept.append(Prefix(array, copies, scores, owner, size))
        self.bytes += size

    def shrink(self, most_bytes: int) -> None:
        """Drop the oldest until at most `most_bytes` are held."""
        while self._kept and self.bytes > most_bytes:
            self._drop(self._kept[0])

    def _drop(self, prefix: Prefix) -> None:
        self._kept.remove(prefix)
        self.bytes -= prefix.bytes

    def __len__(self) -> int:
        return len(self._kept)
