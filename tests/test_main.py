"""The command line: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import playground
from playground.__main__ import main
from playground.engine.local import LocalEngine
from playground.engine.models import Loaded, LoadError
from playground.terminal import BANDS
from playground.trace import Finished, Prompt, Trace, from_event_record
from tests.fakes import IM_END, byte_tokenizer, loaded, probabilities, scripted

ROOT = Path(__file__).parents[1]
RAW = ["--raw", "abc", "--seed", "7"]
ANSWER = [*b"Hi!", IM_END]

Engines = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engines]:
    """serve(rows, …) lets playground.load give a scripted model; returns the arguments that load got."""
    engines: list[LocalEngine] = []

    def serve(
        rows: Any, *, prompt_length: int = 3, tokenizer: Any = None, **more: Any
    ) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def load(model: str | None = None, **settings: Any) -> LocalEngine:
            asked.append({"model": model, **settings})
            made = scripted(rows, prompt_length=prompt_length, **more)
            engines.append(LocalEngine(loaded(made, tokenizer)))
            return engines[-1]

        monkeypatch.setattr(playground, "load", load)
        return asked

    yield serve
    for engine in engines:
        engine.close()


def records(text: str) -> list[dict[str, Any]]:
    """JSON Lines, read by a parser that takes no NaN and no Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def refused(capsys: pytest.CaptureFixture[str], *options: str, code: int = 2) -> str:
    """The one line on stderr with which these arguments are refused."""
    assert main(options) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


# --- what is printed --------------------------------------------------------------------------------------


def test_an_answer_is_printed_as_it_is_and_a_line_about_it(serve: Engines, capsys: Any) -> None:
    asked = serve(ANSWER)
    assert main([*RAW, "--model", "some/where", "--dtype", "bfloat16", "--device", "cuda:1"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "Hi!\n"
    assert re.fullmatch(
        r"4 tokens · first after \d+\.\d\d s · \d+\.\d tokens/s · seed 7 · .*end token 257.*\n", printed.err
    )
    assert asked == [{"model": "some/where", "device": "cuda:1", "dtype": "bfloat16"}]


def test_json_lines_are_the_events_of_the_run(serve: Engines, capsys: Any) -> None:
    serve(ANSWER)
    assert main([*RAW, "--json", "--top-n", "3", "--watch", "65"]) == 0
    lines = records(capsys.readouterr().out)
    assert [line["event"] for line in lines] == ["prompt", *["token"] * 4, "end"]
    prompt, *steps, end = map(from_event_record, lines)
    assert isinstance(prompt, Prompt)
    assert isinstance(end, Finished)
    assert prompt.ids == (97, 98, 99)
    assert [step.token_id for step in steps] == ANSWER
    assert all(65 in [entry.token_id for entry in step.candidates] for step in steps)
    assert (end.text, end.reason) == ("Hi!", "end_token")


def test_b37_json_stays_valid_where_logits_are_infinite(serve: Engines, capsys: Any) -> None:
    serve([probabilities({72: 0.5, 105: 0.5})])
    assert main([*RAW, "--json", "--max-tokens", "1", "--top-n", "9"]) == 0
    step = records(capsys.readouterr().out)[1]
    assert None in [entry["logit"] for entry in step["candidates"]]


def test_a_broken_character_in_the_prompt_still_gives_utf8(serve: Engines, capsysbinary: Any) -> None:
    serve(ANSWER, prompt_length=4)
    assert main(["--raw", "a\udcffb", "--json"]) == 0
    printed = capsysbinary.readouterr()
    assert [line["event"] for line in records(printed.out.decode("utf-8"))][-1] == "end"


def test_messages_come_from_the_file_the_system_option_and_the_prompt(
    serve: Engines, capsys: Any, tmp_path: Path
) -> None:
    serve(ANSWER, prompt_length=999)
    (tmp_path / "chat.json").write_text('\ufeff[{"role": "user", "content": "é"}]', "utf-8")
    main(["--messages", str(tmp_path / "chat.json"), "--system", "S", "--json", "--max-tokens", "1"])
    expected = "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\né<|im_end|>\n"
    assert records(capsys.readouterr().out)[0]["text"] == f"{expected}<|im_start|>assistant\n"
    main(["--messages", str(tmp_path / "chat.json"), "more", "--json", "--max-tokens", "1"])
    assert "<|im_start|>user\nmore<|im_end|>" in records(capsys.readouterr().out)[0]["text"]
    main(["--messages", str(tmp_path / "chat.json"), "--continue-last", "--json", "--max-tokens", "1"])
    assert records(capsys.readouterr().out)[0]["text"] == "<|im_start|>user\né"


def test_a_model_without_a_template_goes_on_from_the_text_and_says_so(serve: Engines, capsys: Any) -> None:
    serve(ANSWER, tokenizer=byte_tokenizer(None))
    assert main(["abc"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "Hi!\n"
    assert "no chat template" in printed.err
    assert "no chat template" in refused(capsys, "abc", "--system", "S")


def test_held_text_is_printed_when_the_run_ends(serve: Engines, capsys: Any) -> None:
    serve([*b"say STO", IM_END])
    assert main([*RAW, "--stop", "STOP"]) == 0
    assert capsys.readouterr().out == "say STO\n"
    serve([*b"say STOP and on"])
    assert main([*RAW, "--stop", "STOP"]) == 0
    assert capsys.readouterr().out == "say \n"


# --- a terminal -------------------------------------------------------------------------------------------


def test_b38_what_a_model_writes_cannot_steer_the_terminal(serve: Engines, capsys: Any) -> None:
    attack = "\x1b[31mred\x1b]0;title\x07\r\x08\x7f\u009b2J"
    serve([*attack.encode(), IM_END])
    assert main(RAW) == 0
    printed = capsys.readouterr().out
    assert printed == "␛[31mred␛]0;title␇␍␈␡‹U+009B›2J\n"


def test_in_a_terminal_tokens_are_coloured_by_their_probability(
    serve: Engines, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    likeliest = [{66: 0.5}, {66: 0.2}, {67: 0.02}, {68: 0.005}]  # all others have less
    rows = [65, *map(probabilities, likeliest), IM_END]
    serve(rows)
    assert main([*RAW, "--temperature", "0"]) == 0
    legend, answer = capsys.readouterr().out.splitlines()
    assert [legend.find(name) for _, name, _ in BANDS] == sorted(legend.find(name) for _, name, _ in BANDS)
    assert answer == "A\x1b[36mB\x1b[0m\x1b[33mB\x1b[0m\x1b[1;35mC\x1b[0m\x1b[1;31mD\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    serve(rows)
    main([*RAW, "--temperature", "0"])
    assert "\x1b" not in capsys.readouterr().out


# --- options ----------------------------------------------------------------------------------------------


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


# --- endings ----------------------------------------------------------------------------------------------


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


# The command line over a slow scripted model, in a process of its own.
SLOW = """
import sys
import playground
from playground.__main__ import main
from playground.engine.local import LocalEngine
from tests.fakes import loaded, scripted

playground.load = lambda *_, **__: LocalEngine(loaded(scripted([120] * 200, prompt_length=3, delay=0.05)))
sys.exit(main())
"""


def start(*options: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOW, "--raw", "abc", *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True)


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


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line of the shell in which "$@" is the command line; only what needs no torch is quick."""
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "playground"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


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


# --- where a trace is saved -------------------------------------------------------------------------------


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


@pytest.mark.model
def test_the_example_of_the_documentation(
    bundled: Loaded, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playground, "load", lambda *_, **__: LocalEngine(bundled))
    assert main(["Say hi", "--temperature", "0", "--max-tokens", "4", "--top-n", "10", "--json"]) == 0
    prompt, *steps, end = records(capsys.readouterr().out)
    assert len(prompt["ids"]) == 32
    assert [step["token_id"] for step in steps] == [19556, 665, 28, 10668]
    assert [step["logprob"] for step in steps] == pytest.approx(
        [-2.3388, -0.7586, -0.7578, -0.4354], abs=1e-3
    )
    assert end["reason"] == "max_tokens"
    text = "The English alphabet is: A, B, C,"
    assert main(["--raw", text, "--temperature", "0", "--stop", ", F, G"]) == 0
    assert capsys.readouterr().out == " D, E\n"
