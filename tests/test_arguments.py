"""The options of the command line, without a model."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from playground.arguments import Refused, messages_of, params_of, parser
from playground.trace import SamplingParams


def read(*options: str) -> tuple[Any, SamplingParams]:
    """Messages (or the raw text) and settings of a command line."""
    parsed = parser().parse_args(options)
    return messages_of(parsed), params_of(parsed)


def params(*options: str) -> SamplingParams:
    return read("a", *options)[1]


def test_every_setting_is_an_option() -> None:
    values = {
        "temperature": 0.5,
        "top_k": 9,
        "top_p": 0.9,
        "min_p": 0.01,
        "typical_p": 0.8,
        "repetition_penalty": 1.1,
        "presence_penalty": -0.5,
        "frequency_penalty": 0.25,
        "seed": 2**64 - 1,
        "max_tokens": 5,
        "min_tokens": 1,
    }
    options = [part for name, value in values.items() for part in ("--" + name.replace("_", "-"), str(value))]
    options += ["--logit-bias", "65=-1.5", "--logit-bias", "66=-inf", "--banned", "67", "--banned", "68"]
    options += ["--stop", "\\n", "--stop", "x", "--ignore-eos"]
    rest: dict[str, Any] = {
        "logit_bias": {65: -1.5, 66: -math.inf},
        "banned": (67, 68),
        "ignore_eos": True,
    }
    assert params(*options) == SamplingParams(**values, **rest, stop=("\\n", "x"))
    assert {item.name for item in fields(SamplingParams)} == {*values, *rest, "stop"}


def test_nothing_is_set_that_was_not_asked_for_and_a_seed_is_drawn() -> None:
    first, second = params(), params()
    assert first.seed != second.seed
    assert params("--seed", "5") == SamplingParams(seed=5)


def test_escape_sequences_are_read_only_on_request() -> None:
    text = r"\t\r\0\\\x41\u00e9é😀"
    assert params("--stop", text).stop == (text,)
    assert params("--stop", text, "--stop-escapes").stop == ("\t\r\0\\Aéé😀",)
    assert params("--stop-escapes").stop == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "nothing to answer"),
        (["--raw"], "--raw needs a text"),
        (["--raw", "a", "--system", "s"], "--raw takes a text alone"),
        (["a", "--top-p", "1.4"], "top_p must be in (0, 1], got 1.4"),
        (["a", "--temperature", "nan"], "temperature must be in [0, 1e+06], got nan"),
        (["a", "--top-k", "5.5"], "--top-k"),
        (["a", "--seed", "-1"], "seed must be a whole number"),
        (["a", "--stop", ""], "stop must be"),
        (["a", "--stop", r"\q", "--stop-escapes"], "escape sequence"),
        (["a", "--logit-bias", "65"], "must be ID=BIAS"),
        (["a", "--logit-bias", "x=1"], "logit_bias has the key 'x'"),
        (["a", "--banned", "-3"], "banned must be"),
        (["a", "--device", "tpu"], "must be auto, cpu, cuda, cuda:N or mps, got 'tpu'"),
        (["a", "--dtype", "int3"], "--dtype"),
        (["a", "--unknown", "1"], "unrecognized arguments"),
        (["a", "--temp", "1"], "unrecognized arguments"),
        (["a", "b"], "unrecognized arguments"),
        (["--messages", "nowhere.json"], "--messages cannot read 'nowhere.json': No such file"),
        (["--messages", "broken.json"], "which is not JSON"),
        (["--messages", "deep.json"], "which is not JSON"),
        (["--messages", "object.json"], "--messages needs a list"),
    ],
)
def test_a_bad_argument_is_refused_in_one_sentence(
    options: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in {"broken": "[", "deep": "[" * 100_000, "object": '{"a": 1}'}.items():
        (tmp_path / f"{name}.json").write_text(content)
    with pytest.raises(Refused) as caught:
        read(*options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.code == 2


def test_standard_input_may_be_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        class buffer:
            read = staticmethod(lambda: "é\n".encode() + b"\xff")

    monkeypatch.setattr("sys.stdin", Stdin)
    assert read("-")[0] == [{"role": "user", "content": "é\n\ufffd"}]


class Unreadable:
    class buffer:
        @staticmethod
        def read() -> bytes:
            raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    ("stdin", "words"), [(None, "standard input is closed"), (Unreadable, "Input/output error")]
)
def test_s7_standard_input_that_cannot_be_read_is_refused(
    stdin: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(Refused, match=words):
        read("-")
