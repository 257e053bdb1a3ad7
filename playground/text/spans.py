"""Which characters each token of a prompt stands for, and which segment it belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from playground.text.encode import Encoded, Span
from playground.text.tokens import Vocabulary
from playground.trace import PromptToken, Segment


def prompt_tokens(
    vocabulary: Vocabulary, text: str, encoded: Encoded, segments: Sequence[Segment]
) -> tuple[tuple[PromptToken, ...], int]:
    """The tokens of `text` with their spans, and how many characters of it the model does not get to see.

    Where the tokens' bytes make up the text, a span runs from the first to the last character that the token
    has a byte of; else it is what the tokenizer says. A token over a border belongs to the segment that has
    most of its bytes.
    """
    data = [vocabulary.bytes_of(token_id) for token_id in encoded.ids]
    if data:
        data[0] = vocabulary.rules.first(data[0])
    borders = _byte_borders(text)
    exact = b"".join(data) == text.encode()
    spans = _spans_by_bytes(data, borders) if exact else encoded.spans
    made = tuple(
        PromptToken(
            position=position,
            token_id=token_id,
            bytes=token_bytes,
            start=start,
            end=end,
            segment=segment,
            is_special=vocabulary.is_special(token_id),
            logprob=None,
            rank=None,
        )
        for position, (token_id, token_bytes, (start, end), segment) in enumerate(
            zip(encoded.ids, data, spans, _owners(data, spans, borders, segments, exact), strict=True)
        )
    )
    return made, 0 if exact else _lost(vocabulary, text, encoded, b"".join(data))


def _byte_borders(text: str) -> Sequence[int]:
    """Where each character begins in UTF-8, and the whole length."""
    if text.isascii():
        return range(len(text) + 1)
    borders, at = [0], 0
    for character in text:
        code = ord(character)
        at += 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        borders.append(at)
    return borders


def _spans_by_bytes(data: list[bytes], borders: Sequence[int]) -> list[Span]:
    spans, at = [], 0
    for token_bytes in data:
        start = bisect_right(borders, at) - 1
        at += len(token_bytes)
        end = bisect_right(borders, at - 1) if token_bytes else start
        spans.append((start, end))
    return spans


def _owners(
    data: list[bytes], spans: Sequence[Span], borders: Sequence[int], segments: Sequence[Segment], exact: bool
) -> list[int]:
    """The segment of each token: an index into `segments`, which cover the text without gaps."""
    ends = [borders[segment.end] for segment in segments]  # in bytes
    owners, at = [], 0
    for token_bytes, (start, end) in zip(data, spans, strict=True):
        low, high = (at, at + len(token_bytes)) if exact else (borders[start], borders[end])
        at += len(token_bytes)
        best, most = min(bisect_right(ends, low), len(segments) - 1), 0
        for index in range(best, len(segments)):
            begin = ends[index - 1] if index else 0
            if begin >= high:
                break
            share = min(high, ends[index]) - max(low, begin)
            if share > most:
                best, most = index, share
        owners.append(best)
    return owners


def _lost(vocabulary: Vocabulary, text: str, encoded: Encoded, data: bytes) -> int:
    """Characters that no token stands for, or only the one for whatever the vocabulary lacks."""
    if vocabulary.rules.byte_level or vocabulary.rules.byte_fallback:
        lost = _not_in(text, data)
        if lost is not None:
            return lost
    unknown = vocabulary.unknown_id
    seen = bytearray(len(text))
    for token_id, (start, end) in zip(encoded.ids, encoded.spans, strict=True):
        if token_id != unknown:
            seen[start:end] = b"\1" * (end - start)
    return sum(not here and not character.isspace() for here, character in zip(seen, text, strict=True))


def _not_in(text: str, data: bytes) -> int | None:
    """Characters of `text` whose bytes are not all in `data`; None if `data` is not the text with gaps."""
    at = lost = 0
    for character in text:
        whole = True
        for byte in character.encode():
            if at < len(data) and data[at] == byte:
                at += 1
            else:
                whole = False
        lost += not whole
    return lost if at == len(data) else None
