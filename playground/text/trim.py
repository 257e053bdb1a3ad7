"""From a place in the text of an answer to bytes of its tokens: what a stop string cuts, and where."""

from __future__ import annotations

from collections.abc import Sequence

from playground.text.tokens import TextStream, Vocabulary


def trims(vocabulary: Vocabulary, ids: Sequence[int], keep: int) -> tuple[tuple[int, int], ...]:
    """(index, bytes) of every token that loses bytes from its end when `keep` code points of the text stay.

    The text is what `TextStream` makes of `ids`, so a run of bytes that is no character counts as it does
    there. A token may be cut in the middle: of " E" cut before the E, the space stays.
    """
    cut = _byte_offset(vocabulary, ids, keep)
    made, start = [], 0
    for index, token_id in enumerate(ids):
        end = start + len(vocabulary.bytes_of(token_id))
        if end > cut:
            made.append((index, end - max(start, cut)))
        start = end
    return tuple(made)


def _byte_offset(vocabulary: Vocabulary, ids: Sequence[int], keep: int) -> int:
    """The offset of the byte with which code point number `keep` begins."""
    seen = 0  # code points that are whole
    offset = 0
    stream = TextStream(vocabulary)
    for token_id in ids:
        if vocabulary.is_special(token_id):
            pending = len(stream.pending)
            if seen == keep:
                return offset - pending
            seen += len(stream.flush())
        for byte in vocabulary.bytes_of(token_id):
            pending = len(stream.pending)
            if seen == keep:
                return offset - pending
            seen += len(stream.push_byte(byte))
            if seen > keep:  # the byte ended a broken run, which was a code point of its own, and is one too
                return offset
            offset += 1
    return offset - len(stream.pending) if seen == keep else offset
