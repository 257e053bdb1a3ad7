"""The command line: what it takes and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import playground
from playground.__main__ import main
from playground.engine.models import LoadError
from tests.fakes import IM_END
from tests.main.command_line import ANSWER, RAW, Engines, refused


def test_stop_strings_are_literal_unless_escapes_are_asked_for(serve: Engines, capsys: Any) -> None:
    serve([*b"a\\nb\nc", IM_END])
    assert main([*RAW, "--stop", r"\n"]) == 0
    assert capsys.readouterr().out == "a\n"
    assert main([*RAW, "--stop", r"\n", "--stop-escapes"]) == 0
    assert capsys.readouterr().out == "a\\nb\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["a", "--logit-bias", "259=1"], "logit_bias names token 259"),
        (["a", "--watch", "4000"], "watched has token 4000"),
        (["a", "--top-n", "0"], "top_n must be"),
        (["--messages", "numbers.json"], "message 1 must be an object"),
        (["a", "--save", "no/such/folder.json"], "--save cannot write"),
        (["a", "--save", "."], "--save cannot write"),
        (["a", "--save", "n" * 300], "--save cannot write"),
        (["a", "--save", "a\0b"], "--save cannot write 'a\\x00b': "),
        (["a", "--save", "loop.json"], "--save cannot write 'loop.json': "),
        (["--show", "nowhere.json"], "--show cannot read 'nowhere.json': No such file"),
        (["--show", "object.json"], "--show cannot read 'object.json': "),
        (["--show", "binary.json"], "--show cannot read 'binary.json': "),
        (["a", "--show", "object.json"], "runs nothing"),
        (["a" * 300, "--max-tokens", "1"], "this model reads 256"),
        (["a", "--top-p", "1.4"], "top_p must be in (0, 1], got 1.4"),
    ],
)
def test_a_bad_argument_is_one_sentence_and_code_2(
    options: list[str],
    words: str,
    serve: Engines,
    capsys: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serve(ANSWER)
    monkeypatch.chdir(tmp_path)
    files = {
        "broken": b"[",
        "deep": b"[" * 100_000,
        "object": b'{"a": 1}',
        "numbers": b"[1]",
        "binary": b"\xff\0",
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_bytes(content)
    (tmp_path / "loop.json").symlink_to("loop.json")
    assert words in refused(capsys, *options)


def test_a_model_that_cannot_be_loaded_is_one_sentence_and_code_1(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise LoadError("there is no file or folder 'x\x1b[31m/': check the path")

    monkeypatch.setattr(playground, "load", load)
    assert refused(capsys, "a", code=1) == "there is no file or folder 'x␛[31m/': check the path\n"
