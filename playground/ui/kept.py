"""A comparison as it is kept: packed for one open page, and as a file."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from playground.codec import to_plain
from playground.comparing import csv_of, numbers
from playground.findings import LARGEST_FILE, Comparison
from playground.findings.compare import LONGEST_NAME, VERSION, Kind
from playground.packing import GZIP, deflate, inflate
from playground.text.short import short
from playground.trace import Trace
from playground.ui.asked import read_choice, read_list, read_name, read_object, read_whole
from playground.ui.compare import Plan
from playground.ui.records import Op

MOST_PACKED = 24 * 2**20  # bytes of one page's comparison, or of a file that is opened
FORMATS = ("json", "csv", "numbers")
_READERS = ThreadPoolExecutor(2, thread_name_prefix="read files")  # a large file takes a gigabyte meanwhile
Item = TypeVar("Item")


@dataclass(frozen=True)
class Kept:
    """The latest comparison of one open page. Packed, its traces take a tenth of the memory."""

    kind: Kind
    names: tuple[str, ...]
    same_dice: bool
    exact: bool
    sweep: str | None
    packed: tuple[bytes, ...]  # traces of the lanes, JSON in gzip

    def traces(self) -> list[Trace]:
        return [Trace.from_json(inflate(each, LARGEST_FILE, GZIP)) for each in self.packed]

    def with_lane(self, name: str, trace: Trace) -> Kept:
        return replace(self, names=(*self.names, name), packed=(*self.packed, _packed(trace)))


def keep(of: Plan | Comparison, traces: Sequence[Trace]) -> Kept | None:
    """The comparison, packed; None if it is too large to be kept."""
    kept = Kept(of.kind, of.names, of.same_dice, of.exact, of.sweep, tuple(map(_packed, traces)))
    return kept if sum(map(len, kept.packed)) <= MOST_PACKED else None


def _packed(trace: Trace) -> bytes:
    return deflate(trace.to_json().encode(), GZIP)


def saved(kept: Kept, asked: Any) -> Op:
    """The file that the page asks for. Raises ValueError in a sentence."""
    form = read_choice(read_object(asked, "a file").get("format"), "format", FORMATS)
    comparison = chosen(kept, asked)
    if form == "json":
        return file_op("comparison.json", "application/json", comparison.to_json(), "comparison")
    rows = numbers(comparison.names, comparison.traces)
    if form == "csv":
        return file_op("comparison.csv", "text/csv", csv_of(rows), "table")
    text = json.dumps([to_plain(row) for row in rows], allow_nan=False)
    return file_op("numbers.json", "application/json", text, "table")


def chosen(kept: Kept, asked: Any) -> Comparison:
    """The comparison as the page shows it: its lanes, under its names. Raises ValueError in a sentence."""
    asked = read_object(asked, "a comparison")
    order = read_list(asked.get("lanes", list(range(len(kept.names)))), "lanes", 1, len(kept.names))
    order = [read_whole(number, "a lane", 0, len(kept.names) - 1) for number in order]
    if len(set(order)) < len(order):
        raise ValueError("a lane is there twice")
    names = read_list(
        asked.get("names", [kept.names[number] for number in order]), "names", len(order), len(order)
    )
    names = [read_name(name, LONGEST_NAME) for name in names]
    reference = read_whole(asked.get("reference", order[0]), "the reference", 0, len(kept.names) - 1)
    if reference not in order:
        raise ValueError("the reference must be one of the lanes")
    every = kept.traces()
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Comparison(
        VERSION, secrets.token_hex(16), created, kept.kind, tuple(names), order.index(reference),
        kept.same_dice, kept.exact, kept.sweep, tuple(every[number] for number in order),
    )  # fmt: skip


def file_op(name: str, mime: str, text: str, what: str) -> Op:
    """What the page offers for download. Refused is what could not be opened again."""
    packed = deflate(text.encode(), GZIP)
    if len(text) > LARGEST_FILE or len(packed) > MOST_PACKED:
        raise ValueError(
            f"This {what} is too large for one file, {len(text) / 1e6:,.0f} MB: take fewer lanes or tokens."
        )
    return {"op": "file", "name": name, "mime": mime, "data": base64.b64encode(packed).decode()}


def opened(asked: Any) -> Comparison:
    """The comparison in a file that the page sent. Raises ValueError in a sentence."""
    return read_file(asked, Comparison.from_json)


async def apart(read: Callable[..., Item], *of: Any) -> Item:
    """Read something of a stranger's in a thread, of which there are few: more of them wait."""
    return await asyncio.get_running_loop().run_in_executor(_READERS, read, *of)


def read_file(asked: Any, read: Callable[[bytes], Item]) -> Item:
    """What `read` makes of the text of a file that the page sent. Raises ValueError in a sentence."""
    data = read_object(asked, "a file").get("data")
    if not isinstance(data, str):
        raise ValueError(f"a file must be sent as text, got {short(data)}")
    if len(data) > MOST_PACKED * 4 // 3 + 4:
        raise ValueError(f"This file is too large: packed, it may have {MOST_PACKED // 2**20} MB.")
    try:
        return read(inflate(base64.b64decode(data.encode("ascii"), validate=True), LARGEST_FILE, GZIP))
    except (binascii.Error, UnicodeError):
        raise ValueError("This file cannot be opened: it is no text that was packed.") from None
    except ValueError as error:
        raise ValueError(f"This file cannot be opened: {error}.".replace("..", ".")) from None
