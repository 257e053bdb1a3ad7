"""Saved runs: kept whole whoever is killed, bounded, and safe against hostile ids and files."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playground.findings import Comparison
from playground.store import NotKept, Store, StoreError, default_folder
from playground.trace import Trace
from playground.ui.recorded import recorded_trace
from tests.test_trace import example, traces

DAY = 86_400
MEGABYTE = 2**20
LARGEST = 10**6  # in place of the real bound, which takes seconds to reach
COMPARISON = Comparison(
    1, "c0" * 16, "2026-01-01T00:00:00Z", "lanes", ("cold", "warm"), 0, True, False, None,
    (example(), replace(example(), id="1f" * 16)),
)  # fmt: skip


@pytest.fixture(params=["folder", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A folder that does not exist yet, and a store that works as object stores do."""
    if request.param == "folder":
        yield str(tmp_path / "saved" / "runs")
        return
    yield f"memory://{tmp_path.name}/runs"
    MemoryFileSystem.store.clear()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "saved"


def sized(size: int) -> Trace:
    """A trace whose file has some more than `size` bytes: noise, which packing does not make smaller."""
    return replace(example(), created=os.urandom(size).hex())


def file_of(folder: Path, saved: str) -> Path:
    return folder / f"{saved}.json.gz"


def write_file(folder: Path, label: Any, text: str, saved: str = "ab" * 16) -> str:
    """A file as the store writes them, with `label` on its first line."""
    folder.mkdir(exist_ok=True)
    file_of(folder, saved).write_bytes(gzip.compress(f"{json.dumps(label)}\n{text}".encode()))
    return saved


def label(**changes: Any) -> dict[str, Any]:
    return {"version": 1, "kind": "trace", "id": "ab" * 16, "saved": int(time.time()), **changes}


def refused(store: Store, saved: Any) -> str:
    """What a visitor reads: one sentence that tells nothing of this machine."""
    with pytest.raises(StoreError) as caught:
        store.load(saved)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    assert len(said) < 420
    assert "/tmp" not in said
    return said


@pytest.mark.parametrize("item", [example(), recorded_trace(), COMPARISON], ids=["small", "real", "lanes"])
def test_what_was_saved_is_read_back_by_any_store_at_this_address(url: str, item: Any) -> None:
    saved = Store(url, MEGABYTE, DAY).save(item)
    assert re.fullmatch("[0-9a-f]{32}", saved)
    assert Store(url, MEGABYTE, DAY).load(saved) == item
    assert Store(url, MEGABYTE, DAY).ids() == [saved]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(traces())
def test_any_trace_that_can_be_read_can_be_kept(trace: Trace) -> None:
    store = Store("memory://any", MEGABYTE, DAY)
    assert store.load(store.save(trace)) == trace


def test_each_saving_draws_an_id_of_its_own(url: str) -> None:
    """A fork tells the id of its parent; that must open nothing, and nobody may write over another's run."""
    store, trace = Store(url, MEGABYTE, DAY), example()
    first, second = store.save(trace), store.save(replace(trace, created="later"))
    assert len({first, second, trace.id}) == 3
    assert store.load(first) == trace
    assert refused(store, trace.id) == "What this link leads to is not kept here, or not any more."
    with pytest.raises(NotKept):
        store.load(trace.id)


def test_nothing_is_touched_before_the_first_save(folder: Path) -> None:
    store = Store(str(folder), MEGABYTE, DAY)
    assert store.ids() == []
    refused(store, "ab" * 16)
    assert not folder.exists()


@pytest.mark.parametrize(
    "saved",
    [
        "", "../../etc/passwd", "..", "/etc/passwd", "a" * 31, "a" * 33, "a" * 10**6, "A" * 32, "g" * 32,
        "ab" * 16 + "\n", "\0" * 32, "ab" * 15 + "/a", "ab" * 15 + "\0a", "a" * 29 + "/..", "*" * 32,
        "?" * 32, "[0-9a-f]" * 4, "٣" * 32, "ａ" * 32, "\ud800" * 32, "s3://" + "a" * 27,
        "ab" * 16 + ".json.gz", None, 5, 0.5, [], {}, b"ab" * 16, ["ab" * 16],
    ],
    ids=range(29),
)  # fmt: skip
def test_a_hostile_id_touches_no_path(saved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store("memory://hostile", MEGABYTE, DAY)
    monkeypatch.setattr(
        MemoryFileSystem, "cat_file", lambda *args, **kwargs: pytest.fail("it was looked for")
    )
    assert "not whole" in refused(store, saved)


def test_a_bad_file_is_refused_in_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playground.store.LARGEST_FILE", LARGEST)
    store, whole = Store(str(folder), 10**9, DAY), example().to_json()
    saved = write_file(folder, label(), whole)
    assert store.load(saved) == example()
    packed = file_of(folder, saved).read_bytes()
    bad: list[tuple[bytes, str]] = [
        (b"", "cut off"), (packed[:-1], "cut off"), (packed[: len(packed) // 2], "cut off"),
        (packed + b"x", "follows its end"), (packed + packed, "follows its end"), (b"\0" * 100, "broken"),
        (whole.encode(), "broken"), (packed[:-8] + bytes(8), "broken"), (os.urandom(1000), "broken"),
        (os.urandom(LARGEST + 2), "too large"),
        (gzip.compress(json.dumps(label()).encode() + b"\n" + b" " * (LARGEST + 2000)), "unpacks to"),
        (gzip.compress(b"{" * 10**6 + b"\n"), "not valid JSON"),
        (gzip.compress(b"[" * 900), "not valid JSON"),
        (gzip.compress(b"\n" + whole.encode()), "not valid JSON"),
        (gzip.compress(whole.encode()), "cannot be read"), (gzip.compress(b"\xff\n"), "not valid JSON"),
    ]  # fmt: skip
    for data, words in bad:
        file_of(folder, saved).write_bytes(data)
        assert words in refused(store, saved), data[:40]
    assert store.ids() == [saved]
    other = store.save(example())  # and it hurts nobody else
    assert set(store.ids()) == {saved, other}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "version 2"), ({"version": None}, "version None"), ({"kind": "pickle"}, "kind"),
        ({"kind": "comparison"}, "Comparison has no"), ({"kind": ["trace"]}, "kind"), ({"id": 5}, "id"),
        ({"id": "cd" * 16}, "another id"), ({"saved": "now"}, "saved"), ({"saved": None}, "saved"),
        ({"saved": 1e400}, "JSON"), ({"saved": 0}, "too old"), ({"more": 1}, "unknown"),
        ({"x" * 500: 1}, "unknown"), ({"x" * 5000: 1}, "JSON"),
    ],
)  # fmt: skip
def test_a_label_is_believed_no_more_than_a_name(folder: Path, changes: Any, words: str) -> None:
    saved = write_file(folder, label(**changes), example().to_json())
    assert words in refused(Store(str(folder), MEGABYTE, DAY), saved)


def test_a_file_under_anothers_name_and_a_changed_trace_are_refused(folder: Path) -> None:
    store = Store(str(folder), MEGABYTE, DAY)
    saved = store.save(example())
    file_of(folder, "ab" * 16).write_bytes(file_of(folder, saved).read_bytes())
    assert "another id" in refused(store, "ab" * 16)
    write_file(folder, label(), example().to_json().replace('"top_k": 0', '"top_k": -5'))
    assert "top_k must be" in refused(store, "ab" * 16)
    file_of(folder, "cd" * 16).mkdir()
    assert "just now" in refused(store, "cd" * 16)


LASTING = gzip.compress(f"{json.dumps(label(saved=10**11))}\n{example().to_json()}".encode(), mtime=0)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(LASTING) - 1), st.integers(1, 255))
def test_no_changed_byte_does_more_than_raise_a_store_error(place: int, change: int) -> None:
    packed = bytearray(LASTING)
    packed[place] ^= change
    fsspec.filesystem("memory").pipe_file(f"/changed/{'ab' * 16}.json.gz", bytes(packed))
    try:
        read = Store("memory://changed", MEGABYTE, DAY).load("ab" * 16)
    except StoreError as error:
        assert "\n" not in str(error)  # noqa: PT017 - gzip's head has bytes that mean nothing
    else:
        assert read == example()


def test_the_oldest_make_room(url: str) -> None:
    store = Store(url, 40_000, DAY)
    saved = []
    for _ in range(8):
        saved.append(store.save(sized(7000)))  # of 9 kB each: four of them fit
        assert store.ids() == saved[-4:]
        time.sleep(0.01)  # so that a coarse clock tells them apart
    refused(store, saved[0])
    assert store.load(saved[-1])


def test_what_is_too_old_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(folder), MEGABYTE, 30 * DAY)
    old, young = store.save(example()), store.save(example())
    os.utime(file_of(folder, old), (time.time() - 31 * DAY,) * 2)
    store = Store(str(folder), MEGABYTE, 30 * DAY)
    assert store.ids() == [young]
    newest = store.save(example())
    assert sorted(path.name[:32] for path in folder.iterdir()) == sorted([young, newest])
    now = time.time()
    monkeypatch.setattr("playground.store.time.time", lambda: now + 31 * DAY)
    assert "too old" in refused(store, young)  # also where nothing was saved since
    assert store.ids() == []


def test_what_is_too_large_is_refused_and_drives_nothing_out(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(url, 10_000, DAY)
    saved = store.save(example())
    with pytest.raises(StoreError, match=r"^This trace is too large to be kept here: save it as a file\.$"):
        store.save(sized(20_000))
    assert store.ids() == [saved]
    monkeypatch.setattr("playground.store.LARGEST_FILE", LARGEST)
    with pytest.raises(StoreError, match="too large"):
        Store(url, 10**12, DAY).save(replace(example(), created="x" * LARGEST))


def test_files_of_others_are_let_alone_and_unfinished_ones_go_in_time(folder: Path) -> None:
    folder.mkdir()
    others = [folder / name for name in ("README", "x.json.gz", "AB" * 16 + ".json.gz", "ab" * 16 + ".json")]
    fresh, stale = (folder / f"{each * 16}.json.gz.part" for each in ("ab", "cd"))
    for path in (*others, fresh, stale):
        path.write_bytes(bytes(50_000))
    for path in (*others, stale):
        os.utime(path, (0, 0))
    Store(str(folder), 10_000, DAY).save(example())
    assert [path.exists() for path in (*others, fresh, stale)] == [True] * 5 + [False]


def test_threads_that_save_read_and_make_room_at_once_hurt_nobody(url: str) -> None:
    store = Store(url, 40_000, DAY)

    def work(_: int) -> str:
        item = sized(7000)
        saved = store.save(item)
        with contextlib.suppress(NotKept):  # another's run took its room
            assert store.load(saved) == item
        return saved

    with ThreadPoolExecutor(8) as pool:
        saved = set(pool.map(work, range(60)))
    assert len(saved) == 60
    left = store.ids()
    assert set(left) <= saved
    assert 1 <= len(left) <= 4
    assert all(isinstance(store.load(each), Trace) for each in left)


class Failing(MemoryFileSystem):
    """A store out of reach: `broken` names what fails."""

    protocol = "failing"
    broken: tuple[str, ...] = ()

    def _fail(self, name: str) -> None:
        if name in self.broken:
            raise RuntimeError("503 at https://key:secret@/tmp/host\nTraceback")

    def pipe_file(self, *args: Any, **kwargs: Any) -> Any:
        self._fail("write")
        return super().pipe_file(*args, **kwargs)

    def cat_file(self, *args: Any, **kwargs: Any) -> Any:
        self._fail("read")
        return super().cat_file(*args, **kwargs)

    def ls(self, *args: Any, **kwargs: Any) -> Any:
        self._fail("list")
        return super().ls(*args, **kwargs)


def test_a_store_out_of_reach_gives_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.register_implementation("failing", Failing, clobber=True)
    store = Store("failing://runs", MEGABYTE, DAY)
    saved = store.save(example())
    monkeypatch.setattr(Failing, "broken", ("write", "read", "list"))
    assert refused(store, saved) == "What this link leads to cannot be read just now: try again later."
    with pytest.raises(StoreError, match=r"^This trace cannot be kept just now: save it as a file\.$"):
        store.save(example())
    with pytest.raises(StoreError, match=r"^What is kept cannot be listed just now: try again later\.$"):
        store.ids()
    monkeypatch.setattr(Failing, "broken", ("list",))
    assert store.load(store.save(example())) == example()  # only making room has to wait


def test_a_full_or_closed_folder_gives_one_sentence_and_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(str(folder), MEGABYTE, DAY)
    store.save(example())
    before = sorted(folder.iterdir())

    def full(path: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("playground.store._to_disk", full)
    with pytest.raises(StoreError, match=r"^This trace cannot be kept just now: save it as a file\.$"):
        store.save(example())
    assert sorted(folder.iterdir()) == before
    (folder.parent / "file").write_text("")
    with pytest.raises(StoreError, match="just now"):
        Store(str(folder.parent / "file"), MEGABYTE, DAY).save(example())


@pytest.mark.parametrize("address", ["nonsense://x", "http://127.0.0.1/x", "data:,x"])
def test_an_address_that_cannot_be_used_is_refused_at_once(address: str) -> None:
    with pytest.raises(StoreError, match=r"^Runs cannot be kept in '[^']*': .*\.$") as caught:
        Store(address, MEGABYTE, DAY)
    assert "\n" not in str(caught.value)


def test_runs_are_kept_in_the_users_data_folder_by_default() -> None:
    folder = Path(default_folder())
    assert folder.is_absolute()
    assert "token-playground" in folder.parts


def test_what_was_just_saved_stays_though_a_clock_calls_it_the_oldest(folder: Path) -> None:
    store = Store(str(folder), 10_000, DAY)
    ahead = store.save(sized(7000))
    os.utime(file_of(folder, ahead), (time.time() + DAY,) * 2)
    newest = Store(str(folder), 10_000, DAY).save(sized(7000))
    assert store.ids() == [newest]


def test_a_file_that_another_removes_meanwhile_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store("memory://meanwhile", 40_000, DAY)
    saved = [store.save(sized(7000)) for _ in range(4)]
    real = MemoryFileSystem.rm_file

    def quicker(self: MemoryFileSystem, path: str) -> None:
        real(self, path)
        real(self, path)

    monkeypatch.setattr(MemoryFileSystem, "rm_file", quicker)
    newest = store.save(sized(32_000))
    assert store.ids() == [newest]
    monkeypatch.undo()

    def gone(self: MemoryFileSystem, path: str) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr(MemoryFileSystem, "modified", gone)
    assert store.ids() == [newest]  # known from before
    assert Store("memory://meanwhile", 40_000, DAY).ids() == []
    assert newest not in saved
