"""The command line: what it prints, as text, as JSON Lines and in a terminal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import playground
from playground.__main__ import main
from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.terminal import BANDS
from playground.trace import Finished, Prompt, from_event_record
from tests.fakes import IM_END, byte_tokenizer, probabilities
from tests.main.command_line import ANSWER, RAW, Engines, records, refused


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
