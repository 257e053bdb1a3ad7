from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.packing import GZIP, RAW, deflate, inflate

forms = pytest.mark.parametrize("form", [GZIP, RAW])


@forms
@given(data=st.binary(max_size=300))
def test_round_trip_within_the_very_bound(form: int, data: bytes) -> None:
    packed = deflate(data, form)
    assert inflate(packed, len(data), form) == data
    assert deflate(data, form) == packed
    if data:
        with pytest.raises(ValueError, match="unpacks to more than"):
            inflate(packed, len(data) - 1, form)


@forms
def test_a_bomb_goes_off_no_further_than_the_bound(form: int) -> None:
    with pytest.raises(ValueError, match="unpacks to more than 1,000 bytes"):
        inflate(deflate(bytes(10**7), form), 1000, form)


@forms
@given(data=st.binary(min_size=1, max_size=300), share=st.floats(0, 1, exclude_max=True))
def test_a_stream_that_is_cut_anywhere_is_refused(form: int, data: bytes, share: float) -> None:
    packed = deflate(data, form)
    with pytest.raises(ValueError, match="it is cut off"):
        inflate(packed[: int(share * len(packed))], 1000, form)


def test_what_follows_a_stream_a_wrong_checksum_and_another_format_are_refused() -> None:
    packed = deflate(b"hello", GZIP)
    with pytest.raises(ValueError, match="something follows"):
        inflate(packed + packed, 100, GZIP)
    for broken in (packed[:-8] + bytes(8), b"hello", zlib.compress(b"hello")):
        with pytest.raises(ValueError, match="it is broken"):
            inflate(broken, 100, GZIP)


def test_it_is_what_other_programs_call_gzip_and_raw_deflate() -> None:
    assert gzip.decompress(deflate(b"hello", GZIP)) == b"hello"
    assert inflate(gzip.compress(b"hello"), 5, GZIP) == b"hello"
    assert zlib.decompress(deflate(b"hello", RAW), -15) == b"hello"
