"""Compressed bytes from outside, unpacked within a bound: a small file can hold gigabytes of nothing."""

from __future__ import annotations

import zlib

GZIP = 31  # zlib's numbers for the two formats: with gzip's head and checksum,
RAW = -15  # and deflate alone, which a browser calls deflate-raw


def inflate(data: bytes, most: int, form: int) -> bytes:
    """What `data` holds, in the format GZIP or RAW, at most `most` bytes.

    Raises ValueError, with a clause that says what "it" is, for anything but one whole stream.
    """
    unpacker = zlib.decompressobj(form)
    try:
        made = unpacker.decompress(data, most + 1)
    except zlib.error:
        raise ValueError("it is broken") from None
    if len(made) > most:
        raise ValueError(f"it unpacks to more than {most:,} bytes")
    if not unpacker.eof:
        raise ValueError("it is cut off")
    if unpacker.unused_data:
        raise ValueError("something follows its end")
    return made


def deflate(data: bytes, form: int) -> bytes:
    """`data` as one stream in the format GZIP or RAW. The same bytes always make the same stream."""
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, form)
    return packer.compress(data) + packer.flush()
