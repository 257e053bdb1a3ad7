"""Text to ids so that only markers of trusted origin become control tokens.

The text is encoded as a whole, since ids differ at the seams otherwise. If that found a control token where
nobody entitled wrote one, it is encoded once more by a copy of the tokenizer whose control tokens have other,
random names; those names stand where the entitled markers were. What anybody typed is then just text.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from playground.text.tokens import Vocabulary

Span = tuple[int, int]  # code points

_MAKING = threading.Lock()  # of renamed copies


@dataclass(frozen=True)
class Encoded:
    """Ids of a text and, for each, the characters it was made from."""

    ids: list[int]
    spans: list[Span]


class Origins:
    """Who wrote which character: runs of (length, origin) over a text."""

    def __init__(self, runs: Iterable[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.values: list[int] = []
        at = 0
        for length, origin in runs:
            self.starts.append(at)
            self.values.append(origin)
            at += length

    def single(self, start: int, end: int) -> int | None:
        """The origin of all characters in [start, end), or None if they have several."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        return self.values[first] if first == last >= 0 else None


def control_ids(vocabulary: Vocabulary, literals: str) -> dict[int, str]:
    """The markers nobody may forge: special tokens, and added ones that the template writes (`</think>`).

    Added tokens that are white space (runs of line breaks) or plain words are text wherever they stand.
    """
    return {
        token_id: content
        for token_id, content in vocabulary.added.items()
        if content
        and (
            vocabulary.is_special(token_id)
            or (content in literals and not content.isspace() and not content.strip().isalnum())
        )
    }


def encode_trusted(
    vocabulary: Vocabulary, text: str, control: dict[int, str], trusted: Callable[[int, int, int], bool]
) -> Encoded:
    """Encode `text`; a control token stands only where `trusted(token_id, start, end)` says so."""
    plain = vocabulary.encoding(text)
    ids, spans = list(plain.ids), list(plain.offsets)
    accepted = _accepted(text, control, trusted)
    found = [(token_id, span) for token_id, span in zip(ids, spans, strict=True) if token_id in control]
    # A marker may swallow the white space beside it, so its span can be wider than its content.
    places = [(token_id, start) for token_id, start, _ in accepted]
    if len(found) == len(places) and all(
        token_id == marker and span[0] <= start < span[1]
        for (token_id, span), (marker, start) in zip(found, places, strict=True)
    ):
        return Encoded(ids, spans)
    return _renamed(vocabulary, control).encode(text, accepted)


def _accepted(
    text: str, control: dict[int, str], trusted: Callable[[int, int, int], bool]
) -> list[tuple[int, int, int]]:
    """(id, start, end) of the markers in `text` that count; of several at one place the longest."""
    if not control:
        return []
    by_content = {content: token_id for token_id, content in control.items()}
    longest_first = sorted(by_content, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    made, at = [], 0
    while match := pattern.search(text, at):
        start = match.start()
        at = start + 1  # the next may begin inside one that does not count
        for content in longest_first:
            end = start + len(content)
            if text.startswith(content, start) and trusted(by_content[content], start, end):
                made.append((by_content[content], start, end))
                at = end
                break
    return made


class _Renamed:
    """A copy of a tokenizer whose control tokens have names that nobody can type."""

    def __init__(self, vocabulary: Vocabulary, control: dict[int, str]) -> None:
        salt = "".join(chr(0xF0000 + secrets.randbelow(0xFFFD)) for _ in range(8))
        self.names = {
            token_id: f"\U00100000{salt}{chr(0x100100 + index)}\U00100001"
            for index, token_id in enumerate(control)
        }
        self._backend = Tokenizer.from_str(
            json.dumps(_rename(json.loads(vocabulary.backend.to_str()), control, self.names))
        )

    def encode(self, text: str, markers: list[tuple[int, int, int]]) -> Encoded:
        """`text` with control tokens at the markers only; spans in code points of `text`."""
        pieces: list[str] = []
        borders: list[tuple[int, int]] = [(0, 0)]  # (in the renamed text, in `text`) where they run in step
        done = length = 0
        for token_id, start, end in markers:
            pieces += (text[done:start], self.names[token_id])
            length += start - done
            borders.append((length, start))
            length += len(self.names[token_id])
            borders.append((length, end))
            done = end
        encoding = self._backend.encode("".join([*pieces, text[done:]]), add_special_tokens=False)
        starts = [renamed for renamed, _ in borders]

        def back(position: int) -> int:
            # Within a name (odd entries begin one) every place is the marker's end, but for its very start.
            index = bisect_right(starts, position) - 1
            renamed, original = borders[index]
            if index % 2:
                return original if position == renamed else borders[index + 1][1]
            return original + position - renamed

        return Encoded(list(encoding.ids), [(back(start), back(end)) for start, end in encoding.offsets])


def _renamed(vocabulary: Vocabulary, control: dict[int, str]) -> _Renamed:
    """The copy for this set of control tokens, made on first need and kept."""
    key = frozenset(control)
    kept = vocabulary.renamed
    with _MAKING:
        if key not in kept:
            if len(kept) >= 4:  # an edited template can change the set; each copy holds a whole vocabulary
                del kept[next(iter(kept))]
            kept[key] = _Renamed(vocabulary, control)
        made: _Renamed = kept[key]
    return made


def _rename(spec: dict[str, Any], control: dict[int, str], names: dict[int, str]) -> dict[str, Any]:
    """The tokenizer's JSON with other names for its control tokens, which no merge can make."""
    new_name = {content: names[token_id] for token_id, content in control.items()}
    model = dict(spec["model"])
    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        model["vocab"] = {new_name.get(piece, piece): token_id for piece, token_id in vocabulary.items()}
    else:  # Unigram: [piece, score] in the order of the ids
        model["vocab"] = [[new_name.get(piece, piece), score] for piece, score in vocabulary]
    if model.get("merges"):
        model["merges"] = [merge for merge in model["merges"] if _made_by(merge) not in new_name]
    if model.get("unk_token") in new_name:
        model["unk_token"] = new_name[model["unk_token"]]
    added = [
        {**token, "content": new_name[token["content"]], "single_word": False}
        if token["id"] in control
        else token
        for token in spec["added_tokens"]
    ]
    return {**spec, "model": model, "added_tokens": added}


def _made_by(merge: Any) -> str:
    # Old files hold "a b", newer ones ["a", "b"].
    return "".join(merge if isinstance(merge, list) else merge.split(" ", 1))
