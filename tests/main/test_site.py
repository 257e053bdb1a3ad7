"""The command line: runs as pages and sites that need no server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from playground.__main__ import main
from playground.ui.recorded import recorded_trace
from tests.main.command_line import ANSWER, RAW, Engines, refused, shell


def test_a_run_is_kept_as_a_page_and_a_saved_one_becomes_the_same(
    serve: Engines, capsys: Any, tmp_path: Path
) -> None:
    serve(ANSWER)
    saved, page, later = (tmp_path / name for name in ("run.json", "run.html", "later.html"))
    assert main([*RAW, "--save", str(saved), "--html", str(page)]) == 0
    assert capsys.readouterr().out == "Hi!\n"
    assert main(["--show", str(saved), "--html", str(later)]) == 0
    assert capsys.readouterr().out == "Hi!\n"
    assert page.read_text("utf-8") == later.read_text("utf-8")
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert sorted(os.listdir(tmp_path)) == ["later.html", "run.html", "run.json"]


def test_a_page_that_cannot_be_written_is_refused_before_the_run(capsys: Any, tmp_path: Path) -> None:
    missing = str(tmp_path / "none" / "run.html")
    assert "--html cannot write" in refused(capsys, *RAW, "--html", missing)
    assert "it is a folder" in refused(capsys, *RAW, "--html", str(tmp_path))
    run = tmp_path / "run.json"
    run.write_text(recorded_trace().to_json())
    assert "there is no such folder" in refused(capsys, "--show", str(run), "--html", missing)


def test_a_site_of_saved_runs_and_of_the_shipped_one(capsys: Any, tmp_path: Path) -> None:
    run = tmp_path / "my run.trace.json"
    run.write_text(recorded_trace().to_json())
    assert main(["site", str(tmp_path / "some"), str(run), str(run)]) == 0
    assert sorted(os.listdir(tmp_path / "some" / "runs")) == [
        "my-run-trace-2.html", "my-run-trace.html", "plotly.min.js",
    ]  # fmt: skip
    told = capsys.readouterr()
    assert told.err == f"2 runs: open {tmp_path / 'some' / 'index.html'}\n"
    assert main(["site", str(tmp_path / "shipped")]) == 0
    assert sorted(os.listdir(tmp_path / "shipped" / "runs")) == ["plotly.min.js", "recorded-run.html"]


def test_what_a_site_refuses_in_one_sentence(capsys: Any, tmp_path: Path) -> None:
    folder, bad = tmp_path / "out", tmp_path / "bad.json"
    bad.write_text("{}")
    assert "OUT" in refused(capsys, "site")
    assert "site cannot read" in refused(capsys, "site", str(folder), str(tmp_path / "none.json"))
    assert "it has no version" in refused(capsys, "site", str(folder), str(bad))
    assert not folder.exists()
    assert "it is no folder" in refused(capsys, "site", str(bad))
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    assert "is not a file of this program's" in refused(capsys, "site", str(folder))
    assert (folder / "index.html").read_text() == "mine"


def test_a_site_that_cannot_be_written_ends_with_1(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    told = refused(capsys, "site", str(tmp_path), code=1)
    assert "No space left on device" in told
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_word_alone_is_a_prompt_after_two_dashes(serve: Engines, capsys: Any) -> None:
    asked = serve(ANSWER, prompt_length=4)
    assert main(["--raw", "--seed", "7", "--", "site"]) == 0
    assert capsys.readouterr().out == "Hi!\n"
    assert len(asked) == 1


def test_help_of_a_site() -> None:
    done = shell('"$@" site --help')
    assert done.returncode == 0
    assert "static site" in done.stdout
