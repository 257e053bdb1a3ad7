"""The command line: labs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from playground.__main__ import main
from playground.experiments import LABS
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


INTERRUPTED = """
import sys
import playground
from playground.__main__ import main
from playground.engine.local import LocalEngine
from playground.experiments import LABS
from tests.experiments.toy import TOY
from tests.fakes import loaded, scripted

LABS["toy"] = TOY
playground.load = lambda *_, **__: LocalEngine(loaded(scripted([120] * 400, prompt_length=3, delay=0.05)))
sys.exit(main(["lab", "toy", "--tokens", "30", "--seeds", "1,2,3", "--json"]))
"""


def test_ctrl_c_keeps_what_was_measured() -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    for line in running.stderr:
        if "Answer 2" in line:
            break
    time.sleep(0.3)
    os.kill(running.pid, signal.SIGINT)
    printed, _ = running.communicate(timeout=60)
    (told,) = records(printed)
    assert running.returncode == 130
    assert told["complete"] is False
    assert len(told["found"]["answers"]) == 1
