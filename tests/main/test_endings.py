"""The command line: how a run ends that fails, is stopped, or cannot be printed."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from playground.__main__ import main
from playground.trace import Trace
from tests.main.command_line import ANSWER, RAW, Engines, records, shell, start


@pytest.mark.parametrize(
    ("rows", "raise_at", "reason"),
    [
        (ANSWER, {2: torch.OutOfMemoryError("CUDA out of memory")}, "error"),
        ([*b"Hi", [float("nan")] * 259], {}, "nan_logits"),
        ([*b"Hi", [-float("inf")] * 259], {}, "no_token_left"),
    ],
)
def test_b51_a_failed_run_prints_and_saves_what_was_made(
    rows: Any, raise_at: Any, reason: str, serve: Engines, capsys: Any, tmp_path: Path
) -> None:
    serve(rows, raise_at=raise_at)
    assert main([*RAW, "--save", str(tmp_path / "run.json")]) == 1
    assert capsys.readouterr().out == "Hi\n"
    saved = Trace.from_json((tmp_path / "run.json").read_text())
    assert (saved.text, saved.finished.reason, len(saved.steps)) == ("Hi", reason, 2)
    assert main([*RAW, "--json"]) == 1
    assert records(capsys.readouterr().out)[-1]["reason"] == reason


def test_ctrl_c_stops_the_run_and_keeps_what_was_made(tmp_path: Path) -> None:
    with start("--json", "--save", str(tmp_path / "run.json")) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    lines = records("".join(first) + rest)
    assert process.returncode == 130
    assert (lines[-1]["event"], lines[-1]["reason"]) == ("end", "stopped")
    assert len(lines) < 200
    assert "Traceback" not in errors
    saved = Trace.from_json((tmp_path / "run.json").read_text())
    assert saved.finished.reason == "stopped"
    assert len(saved.steps) == len(lines) - 2


def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path) -> None:
    with start("--save", str(tmp_path / "run.json")) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(2) == "xx"
        process.stdout.close()
        assert process.wait(timeout=60) == 1
        assert process.stderr.read() == ""
    assert Trace.from_json((tmp_path / "run.json").read_text()).finished.reason == "stopped"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_s6_output_that_cannot_be_written_ends_the_run_and_saves_it(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        process = start("--save", str(tmp_path / "run.json"), stdout=full)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors == "the answer could not be printed: No space left on device\n"
    assert Trace.from_json((tmp_path / "run.json").read_text()).finished.reason == "stopped"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_s7_standard_streams_may_be_closed_or_full(serve: Engines, tmp_path: Path) -> None:
    serve(ANSWER)
    path = tmp_path / "run.json"
    assert main([*RAW, "--save", str(path)]) == 0
    done = shell('"$@" - <&-')
    assert done.returncode == 2
    assert done.stderr == "the prompt - cannot be read: standard input is closed\n"
    for notes in ("2>&-", "2>/dev/full"):
        done = shell(f"\"$@\" --show '{path}' --json {notes}")
        assert [line["event"] for line in records(done.stdout)] == ["prompt", *["token"] * 4, "end"]
        assert (done.returncode, done.stderr) == (0, "")
    done = shell(f"\"$@\" --show '{path}' >&-")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("4 tokens")
    done = shell(f"\"$@\" --show '{path}' --json >/dev/full")
    assert done.returncode == 1
    assert done.stderr == "the answer could not be printed: No space left on device\n"
