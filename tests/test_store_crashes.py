"""A saved run survives whoever is killed: kill -9 at any moment of saving, in several processes at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playground.store import Store
from tests.test_trace import example

ROOT = Path(__file__).parents[1]
DAY = 86_400
HEAD = """
import os, signal, sys
from dataclasses import replace
from playground.store import Store
from playground.trace import Trace

folder, most_bytes, plain = sys.argv[1:]
store, trace = Store(folder, int(most_bytes), 86_400), Trace.from_json(plain)

def item():  # whose first and last letters tell whether it is whole
    noise = os.urandom(300_000).hex()
    return replace(trace, created=noise + noise[:32])

def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)
"""
SAVE_FOR_EVER = HEAD + "while True: print(store.save(item()), flush=True)"
# Half of the file is written; it is written and has no name yet; it has one; an older one was removed.
MOMENTS = {
    "half written": """
from fsspec.implementations.local import LocalFileSystem
def half(self, path, data):
    with open(path, "wb") as file:
        file.write(data[: len(data) // 2])
    die()
LocalFileSystem.pipe_file = half
""",
    "not named yet": "store._fs.mv = die\n",
    "named": "store._prune = die\n",
    "making room": "store._fs.rm_file = die\n",
}
pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")


def start(script: str, folder: Path, most_bytes: int = 10**9) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(folder), str(most_bytes), example().to_json()],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def check_all(folder: Path, confirmed: list[str]) -> list[str]:
    """Every run that was confirmed is there, and every one that is there is whole."""
    store = Store(str(folder), 10**9, DAY)
    there = store.ids()
    assert set(confirmed) <= set(there)
    for saved in there:
        trace: Any = store.load(saved)
        assert len(trace.created) in (20, 600_000) or trace.created.endswith(trace.created[:32])
    return there


def test_kill_in_the_middle_of_saving_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    dice = random.Random(7)
    confirmed: list[str] = []
    for _ in range(4):
        savers = [start(SAVE_FOR_EVER, tmp_path) for _ in range(2)]
        for saver in savers:
            assert saver.stdout
            confirmed.append(saver.stdout.readline().strip())  # it is at work
        time.sleep(dice.uniform(0, 0.3))
        for saver in savers:
            saver.kill()
        for saver in savers:
            confirmed += saver.communicate(timeout=60)[0].split()
    assert len(confirmed) > 8
    assert len(check_all(tmp_path, confirmed)) <= len(confirmed) + 8  # of each, one may be whole and untold


@pytest.mark.parametrize("moment", MOMENTS)
def test_kill_at_each_moment_of_saving(moment: str, tmp_path: Path) -> None:
    noisy = replace(example(), created=os.urandom(300_000).hex())
    confirmed = [Store(str(tmp_path), 10**9, DAY).save(noisy) for _ in range(2)]
    script = f"{HEAD}\n{MOMENTS[moment]}\nstore.save(item())"
    killed = start(script, tmp_path, 800_000 if moment == "making room" else 10**9)
    assert killed.communicate(timeout=60)[0] == ""
    assert killed.returncode == -signal.SIGKILL
    there = check_all(tmp_path, confirmed)
    assert len(there) == (2 if moment in ("half written", "not named yet") else 3)
    left = [path for path in tmp_path.iterdir() if path.suffix == ".part"]
    assert len(left) == (1 if moment in ("half written", "not named yet") else 0)
    for path in left:
        os.utime(path, (0, 0))
    after = Store(str(tmp_path), 10**9, DAY).save(example())
    assert {path.name[:32] for path in tmp_path.iterdir()} == {*there, after}


def test_processes_that_take_each_others_room_hurt_nobody(tmp_path: Path) -> None:
    script = HEAD + "for _ in range(6): print(store.save(item()), flush=True)"
    savers = [start(script, tmp_path, 1_000_000) for _ in range(3)]
    saved = [saver.communicate(timeout=120)[0].split() for saver in savers]
    assert [len(each) for each in saved] == [6] * 3
    assert all(saver.returncode == 0 for saver in savers)
    assert 1 <= len(check_all(tmp_path, [])) <= 3
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1_000_000
