"""Saved runs: traces and comparisons that a link opens again, in a folder or on any store that fsspec knows.

A saved run is one file, ID.json.gz: a line that says what it is, then its JSON. The id is drawn for each
saving, 128 random bits in hex, so that nobody can guess it and nothing is ever written over. It is not the id
inside a trace, which a fork tells of its parent: whoever has an id may read, so a link is a key.

Files never change. That is why several threads, processes or machines may share a store without locks: each
saving writes a file of its own, and a file that another has just removed is simply gone.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import secrets
import time
from dataclasses import dataclass
from typing import Any, Literal

import fsspec
import platformdirs
from fsspec.implementations.local import LocalFileSystem

from playground.codec import from_plain, read_object
from playground.findings import LARGEST_FILE, Comparison
from playground.packing import GZIP, deflate, inflate
from playground.trace import Trace

VERSION = 1
KINDS: dict[str, type[Trace] | type[Comparison]] = {"trace": Trace, "comparison": Comparison}
_ID = "[0-9a-f]{32}"
_FILE = re.compile(rf"({_ID})\.json\.gz(\.part)?")
_LONGEST_LABEL = 1_000  # bytes
_UNFINISHED_S = 3600  # what is not whole after so long never will be: its writer was killed
log = logging.getLogger(__name__)


class StoreError(ValueError):
    """Why something was not saved or cannot be read: one plain sentence for the visitor."""


class NotKept(StoreError, LookupError):
    """Nothing is saved under this id, or not any more."""


@dataclass(frozen=True)
class _Label:
    """The first line of a file. What it says counts, not what the file is called."""

    version: int
    kind: Literal["trace", "comparison"]
    id: str
    saved: int  # seconds since 1970


@dataclass(frozen=True, order=True)
class _File:
    written: float  # seconds since 1970, by the store's own clock
    id: str
    path: str
    size: int
    whole: bool  # False: being written, or left by a writer that was killed


class Store:
    """Where runs are kept, up to `most_bytes` in all and `most_age_s` each; the oldest go first.

    `url` is a folder, or an address such as s3://bucket/folder for which the package that fsspec names is
    installed; its keys come from that package's own settings or from fsspec's. Raises StoreError for one that
    cannot be used. All methods may block for a while.
    """

    def __init__(self, url: str, most_bytes: int, most_age_s: float) -> None:
        try:
            self._fs, self._root = fsspec.url_to_fs(url)
            if type(self._fs).modified is fsspec.AbstractFileSystem.modified:
                raise ValueError("it tells no file's age")
        except Exception as error:  # each store has errors of its own
            place = url.partition("://")[0]
            raise StoreError(f"Runs cannot be kept in {place!r:.60}: {error!s:.200}.") from None
        self._most_bytes = most_bytes
        self._most_age_s = most_age_s
        self._written: dict[str, float] = {}  # when, by path: to ask may cost a request each

    def save(self, item: Trace | Comparison, most: int | None = None) -> str:
        """Keep `item`, of `most` bytes packed, then let go of what is too old or too much. Returns the id to
        load it by.

        Once this returns, no crash loses it. Raises StoreError, and then nothing was kept.
        """
        kind = next(kind for kind, cls in KINDS.items() if isinstance(item, cls))
        too_large = StoreError(f"This {kind} is too large to be kept here: save it as a file.")
        id, text = secrets.token_hex(16), item.to_json()
        if len(text) > LARGEST_FILE:
            raise too_large
        label = json.dumps({"version": VERSION, "kind": kind, "id": id, "saved": int(time.time())})
        data = deflate(f"{label}\n{text}".encode(), GZIP)
        if len(data) > min(self._most_bytes, most or LARGEST_FILE, LARGEST_FILE):
            raise too_large
        try:
            self._write(self._path(id), data)
        except Exception:
            log.exception("saving %s", id)
            raise StoreError(f"This {kind} cannot be kept just now: save it as a file.") from None
        try:
            self._prune(id)
        except Exception:
            log.exception("removing old runs")
        return id

    def load(self, id: Any) -> Trace | Comparison:
        """What was saved under `id`, checked as a stranger's file. Raises NotKept or StoreError."""
        if not isinstance(id, str) or not re.fullmatch(_ID, id):
            raise NotKept("This link leads to nothing: its address is not whole.")
        try:
            data = self._fs.cat_file(self._path(id), end=LARGEST_FILE + 1)
        except FileNotFoundError:
            raise NotKept("What this link leads to is not kept here, or not any more.") from None
        except Exception:
            log.exception("reading %s", id)
            raise StoreError("What this link leads to cannot be read just now: try again later.") from None
        try:
            label, item = _read(data)
        except ValueError as error:
            raise StoreError(f"What this link leads to cannot be read: {error!s:.300}.") from None
        if label.id != id:
            raise StoreError("What this link leads to cannot be read: it was saved under another id.")
        if time.time() - label.saved > self._most_age_s:
            raise NotKept("What this link leads to was too old, and is not kept any more.")
        return item

    def ids(self) -> list[str]:
        """All that is kept, oldest first. Raises StoreError."""
        try:
            files = self._files()
        except Exception:
            log.exception("listing")
            raise StoreError("What is kept cannot be listed just now: try again later.") from None
        oldest = time.time() - self._most_age_s
        return [file.id for file in files if file.whole and file.written >= oldest]

    def _path(self, id: str) -> str:
        return f"{self._root}/{id}.json.gz"

    def _write(self, path: str, data: bytes) -> None:
        self._fs.makedirs(self._root, exist_ok=True)
        if not isinstance(self._fs, LocalFileSystem):
            self._fs.pipe_file(path, data)  # one request: an object store shows all of it or nothing
            return
        # fsspec's own transaction writes to the system's temporary folder; from there a move may be a copy.
        beside = f"{path}.part"
        try:
            self._fs.pipe_file(beside, data)
            _to_disk(beside)
            self._fs.mv(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                self._fs.rm_file(beside)
            raise
        _to_disk(self._root)

    def _prune(self, newest: str) -> None:
        """Remove the oldest until what stays is young and small enough."""
        now, files = time.time(), self._files()
        total = sum(file.size for file in files if file.whole)
        for file in files:
            too_much = file.whole and total > self._most_bytes
            too_old = now - file.written > (self._most_age_s if file.whole else _UNFINISHED_S)
            if file.id != newest and (too_much or too_old):
                with contextlib.suppress(FileNotFoundError):  # another was quicker
                    self._fs.rm_file(file.path)
                total -= file.size if file.whole else 0

    def _files(self) -> list[_File]:
        """Our files, oldest first; what else lies there is nobody's business."""
        self._fs.invalidate_cache(self._root)  # others write here, too
        try:
            listed = self._fs.ls(self._root, detail=True)
        except FileNotFoundError:  # nothing was saved yet
            return []
        files = []
        for entry in listed:
            path = entry["name"]
            found = _FILE.fullmatch(path.rpartition("/")[2])
            if found and entry["type"] == "file":
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    written = self._written.get(path) or self._fs.modified(path).timestamp()
                    files.append(_File(written, found[1], path, entry["size"], not found[2]))
        self._written = {file.path: file.written for file in files}
        return sorted(files)


def default_folder() -> str:
    """Where runs are kept if nobody says otherwise: in the user's data folder."""
    return str(platformdirs.user_data_path("token-playground") / "saved")


def _read(data: bytes) -> tuple[_Label, Trace | Comparison]:
    """A file's label and content. Raises ValueError, with a clause, for whatever we did not write."""
    if len(data) > LARGEST_FILE:
        raise ValueError("it is too large")
    line, _, text = inflate(data, LARGEST_FILE + _LONGEST_LABEL, GZIP).partition(b"\n")
    label = from_plain(_Label, read_object(line[:_LONGEST_LABEL], "saved run", VERSION), "its label")
    return label, KINDS[label.kind].from_json(text)


def _to_disk(path: str) -> None:
    """Wait until a file, or the names in a folder, would survive a power cut."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
