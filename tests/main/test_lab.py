"""The command line: labs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playground.__main__ import main
from playground.experiments import LABS
from playground.findings.report import (
    Axis,
    Block,
    Chart,
    Chip,
    Column,
    Lane,
    Quote,
    Series,
    Strips,
    Table,
    say,
    strong,
    token,
)
from tests.experiments.toy import TOY
from tests.main.command_line import ANSWER, ROOT, Engines, records, refused


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LABS, "toy", TOY)


@pytest.mark.usefixtures("toy")
def test_a_lab_prints_one_json_object(serve: Engines, capsys: Any, tmp_path: Path) -> None:
    asked = serve(ANSWER)
    saved = tmp_path / "toy.json"
    options = ["--seeds", "5", "--tokens", "2", "--no-raw", "--model", "x", "--dtype", "float32"]
    assert main(["lab", "toy", "--json", "--raw", *options[:4], "--save", str(saved), *options[5:]]) == 0
    printed = capsys.readouterr()
    (told,) = records(printed.out)
    assert told == json.loads(saved.read_text())
    assert told["options"]["seeds"] == [5]
    assert told["found"]["answers"][0]["ids"] == ANSWER[:2]
    assert told["complete"] is True
    assert "Answer 1" in printed.err
    assert asked == [{"model": "x", "device": "auto", "dtype": "float32"}]


@pytest.mark.usefixtures("toy")
def test_a_lab_is_told_in_words(serve: Engines, capsys: Any) -> None:
    serve(ANSWER)
    assert main(["lab", "toy", "--seeds", "5"]) == 0
    printed = capsys.readouterr().out
    for part in (
        "Does it work?",
        "The first token was ‹H› of 3.",
        "Surprise",
        "H│i│!",
        "It is a toy.",
        "Hi!",
    ):
        assert part in printed


@pytest.mark.usefixtures("toy")
def test_text_of_a_model_cannot_steer_the_terminal(serve: Engines, capsys: Any) -> None:
    serve([*b"\x1b[2J", 257])
    assert main(["lab", "toy", "--tokens", "4"]) == 0
    assert "\x1b[2J" not in capsys.readouterr().out


def test_nothing_in_a_report_can_steer_the_terminal(
    serve: Engines, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = "\x1b[2J\u202e\ud800\x9b"

    def report(_: Any) -> tuple[Block, ...]:
        series = (Series(bad, (bad,), (2.0,)),)
        return (
            say(bad, strong(bad), token(bad)),
            Table(bad, (Column(bad, "text"), Column(bad, "token")), ((bad, bad),), bad),
            Chart(bad, "bars", Axis(bad, "count"), Axis(bad, "nats"), series, bad),
            Strips(bad, (Lane(bad, (Chip(1, bad, 0.5, told=bad),), bad),), bad),
            Quote(bad, ((bad, bad),)),
        )

    monkeypatch.setitem(LABS, "toy", replace(TOY, report=report))
    serve(ANSWER)
    assert main(["lab", "toy"]) == 0
    printed = capsys.readouterr().out
    assert "␛" in printed
    assert not {*bad[:1], *bad[-3:]} & {*printed}


@pytest.mark.usefixtures("toy")
def test_bad_arguments_are_refused_in_a_sentence(capsys: Any, tmp_path: Path) -> None:
    assert "required: NAME" in refused(capsys, "lab")
    assert "invalid choice: 'spoon'" in refused(capsys, "lab", "spoon")
    assert "tokens must be a whole number in [1, 50], got 99" in refused(
        capsys, "lab", "toy", "--tokens", "99"
    )
    assert "must be whole numbers with commas between" in refused(capsys, "lab", "toy", "--seeds", "1;2")
    assert "unrecognized arguments: --spoon" in refused(capsys, "lab", "toy", "--spoon")
    assert "--save cannot write" in refused(capsys, "lab", "toy", "--save", str(tmp_path / "none" / "x"))


@pytest.mark.usefixtures("toy")
def test_what_cannot_be_measured_fails_in_a_sentence(serve: Engines, capsys: Any) -> None:
    serve(ANSWER)
    assert main(["lab", "toy", "--tokens", "49", "--json"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("forty-nine tokens are not for toys\n")


@pytest.mark.parametrize("error", [ValueError("no more\ntoys"), RuntimeError("no more toys")])
def test_what_was_measured_before_a_failure_is_kept(
    error: Exception, serve: Engines, capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def measure(*given: Any) -> Iterator[Any]:
        yield from TOY.measure(*given)
        raise error

    monkeypatch.setitem(LABS, "toy", replace(TOY, measure=measure))
    serve(ANSWER)
    saved = tmp_path / "toy.json"
    assert main(["lab", "toy", "--json", "--save", str(saved)]) == 1
    printed = capsys.readouterr()
    (told,) = records(printed.out)
    assert told == json.loads(saved.read_text())
    assert told["complete"] is False
    assert len(told["found"]["answers"]) == 2
    assert printed.err.endswith("no more toys\n")


@pytest.mark.usefixtures("toy")
def test_help_tells_question_method_and_options(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["lab", "toy", "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    for part in (
        "Does it work?",
        "It runs.",
        "It is a toy.",
        "--seeds N,N…",
        "seeds: one answer each (default 1,2)",
    ):
        assert part in printed


SLOW = """
import sys
import playground
from playground.__main__ import main
from playground.engine.local import LocalEngine
from playground.experiments import LABS
from tests.experiments.toy import TOY
from tests.fakes import loaded, scripted

LABS["toy"] = TOY
playground.load = lambda *_, **__: LocalEngine(loaded(scripted([120] * 400, prompt_length=3, delay=0.05)))
sys.exit(main(["lab", "toy", "--tokens", "30", "--seeds", "1,2,3", *sys.argv[1:]]))
"""


def start(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOW, *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def interrupt(running: subprocess.Popen[str], after: str) -> tuple[str, str]:
    """Ctrl-C soon after this line of notes; what was printed, and what was noted from then on."""
    assert running.stderr is not None
    for line in running.stderr:
        if after in line:
            break
    time.sleep(0.3)
    os.kill(running.pid, signal.SIGINT)
    return running.communicate(timeout=60)


def test_ctrl_c_keeps_what_was_measured() -> None:
    running = start("--json")
    printed, _ = interrupt(running, "Answer 2")
    (told,) = records(printed)
    assert running.returncode == 130
    assert told["complete"] is False
    assert len(told["found"]["answers"]) == 1


def test_ctrl_c_before_anything_was_measured_says_so(tmp_path: Path) -> None:
    saved = tmp_path / "toy.json"
    running = start("--save", str(saved))
    printed, notes = interrupt(running, "Answer 1")
    assert running.returncode == 130
    assert printed == ""
    assert notes.endswith("stopped before anything was measured\n")
    assert not saved.exists()


@pytest.mark.parametrize("form", [("--json",), ()])
def test_a_result_is_saved_where_nobody_reads_it(form: tuple[str, ...], tmp_path: Path) -> None:
    saved = tmp_path / "toy.json"
    running = start("--tokens", "2", "--save", str(saved), *form)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.close()
    notes = running.stderr.read()
    assert running.wait(timeout=60) == 1
    assert json.loads(saved.read_text())["complete"] is True
    assert "Traceback" not in notes
