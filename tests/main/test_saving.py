"""The command line: where a trace is saved, and how it is shown again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playground.__main__ import main
from playground.trace import Trace, from_event_record
from tests.main.command_line import ANSWER, RAW, ROOT, Engines, records, start


def test_a_saved_run_is_shown_as_it_was_without_torch(serve: Engines, capsys: Any, tmp_path: Path) -> None:
    serve([*b"say STOP and on"])
    path = tmp_path / "run.json"
    assert main([*RAW, "--stop", "STOP", "--save", str(path)]) == 0
    run = capsys.readouterr()
    assert os.listdir(tmp_path) == ["run.json"]
    assert main(["--show", str(path), "--json"]) == 0
    trace = Trace.from_json(path.read_text())
    shown = [from_event_record(line) for line in records(capsys.readouterr().out)]
    assert shown == [trace.prompt, *trace.steps, trace.finished]

    blocked = "import sys; sys.modules.update(torch=None, transformers=None, gradio=None, tokenizers=None);"
    code = f"{blocked} from playground.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "--show", str(path)]
    later = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert later.stdout == run.out == "say \n"
    assert later.stderr.startswith(run.err)
    assert "tiny · float32 on cpu" in later.stderr


def test_a_trace_that_cannot_be_saved_leaves_the_answer_and_code_1(
    serve: Engines, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(ANSWER)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert main([*RAW, "--save", str(tmp_path / "run.json")]) == 1
    printed = capsys.readouterr()
    assert printed.out == "Hi!\n"
    assert "could not be saved" in printed.err
    assert "No space left on device" in printed.err
    assert os.listdir(tmp_path) == []


def test_s4_a_link_stays_and_what_it_names_is_replaced(serve: Engines, tmp_path: Path) -> None:
    serve(ANSWER)
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "old.json").write_text("old")
    for name in ("old.json", "new.json"):
        link = tmp_path / name
        link.symlink_to(Path("real", name))
        assert main([*RAW, "--save", str(link)]) == 0
        assert link.is_symlink()
        assert Trace.from_json((tmp_path / "real" / name).read_text()).text == "Hi!"
    assert sorted(os.listdir(tmp_path / "real")) == ["new.json", "old.json"]


def test_s4_a_pipe_stays_one(serve: Engines, tmp_path: Path) -> None:
    serve(ANSWER)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert main([*RAW, "--save", str(pipe)]) == 0
        read, _ = reader.communicate(timeout=60)
    assert Trace.from_json(read).text == "Hi!"
    assert pipe.is_fifo()
    link = tmp_path / "null"  # a device, which a mistake must not cost
    link.symlink_to(os.devnull)
    assert main([*RAW, "--save", str(link)]) == 0
    assert link.is_symlink()
    assert Path(os.devnull).is_char_device()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_s4_in_standard_output_the_trace_follows_the_answer(tmp_path: Path) -> None:
    with open(tmp_path / "out", "w") as out:
        process = start("--max-tokens", "2", "--save", "/dev/stdout", stdout=out)
        process.communicate(timeout=60)
    answer, saved = (tmp_path / "out").read_text().split("\n", 1)
    assert answer == "xx"
    assert Trace.from_json(saved).text == "xx"


def test_s5_a_long_name_is_as_good_as_any(serve: Engines, capsys: Any, tmp_path: Path) -> None:
    serve(ANSWER)
    path = tmp_path / ("n" * 253)
    assert main([*RAW, "--save", str(path)]) == 0
    assert Trace.from_json(path.read_text()).text == "Hi!"
    assert os.listdir(tmp_path) == [path.name]
