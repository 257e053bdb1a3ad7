"""The command line that the Labs tab tells: a shell and the parser of `lab` read the form back from it."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import fields
from typing import Any

import pytest

from playground.experiments import LABS
from playground.experiments.lab import Lab, described, read_options
from playground.lab_command import lab_parser
from tests.ui.javascript import evaluate, needs_node

pytestmark = needs_node
ODD = 'it\'s "so" $HOME `id` \\ *? \n --tokens=3 «Ünï» 👋🏽'


def told(lab: Lab, **values: Any) -> str:
    """The command line for a form whose other fields are as they were."""
    options = described(lab)
    form = {each["name"]: each["default"] for each in options} | values
    made = evaluate("labCommand(lab, options, form, flags)", lab=lab.name, options=options, form=form,
                    flags=[["--model", "a model's folder"], ["--device", "cpu"]])  # fmt: skip
    assert isinstance(made, str)
    return made


def changed(item: Any) -> Any:
    """Another value of an option, within its limits."""
    value, low = item.default, item.metadata["low"]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return ODD[: int(min(len(ODD), item.metadata["high"]))]
    return [int(low), int(low) + 1] if isinstance(value, tuple) else low


@pytest.mark.parametrize("lab", LABS.values(), ids=lambda lab: lab.name)
def test_the_parser_reads_back_what_the_form_says(lab: Lab) -> None:
    values = {item.name: changed(item) for item in fields(lab.options)}
    words = shlex.split(told(lab, **values))
    assert words[:4] == ["python", "-m", "playground", "lab"]
    read = lab_parser().parse_args(words[4:])
    given = {item.name: getattr(read, item.name) for item in fields(lab.options) if item.name in read}
    differing = {item.name for item in fields(lab.options) if values[item.name] != item.default}
    assert set(given) == differing
    assert read_options(lab, given) == read_options(lab, values)
    assert (read.lab, read.model, read.device) == (lab.name, "a model's folder", "cpu")


@pytest.mark.parametrize("lab", LABS.values(), ids=lambda lab: lab.name)
def test_what_is_as_it_was_is_not_told(lab: Lab) -> None:
    assert told(lab) == f"python -m playground lab {lab.name} --model 'a model'\\''s folder' --device cpu"


@pytest.mark.parametrize(
    "word", ["plain", "", " ", "-x", "a'b", "$(id)", "a\nb", ODD, "~", "!1", "a=b,c:d/e"]
)
def test_a_shell_takes_a_word_as_it_is(word: str) -> None:
    line = "printf %s " + evaluate("shellWord(word)", word=word)
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
    assert done.stdout == word.encode()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("32, 128, 512", [32, 128, 512]),
        (" 1 2;3\n4,, ", [1, 2, 3, 4]),
        ("1.5 -2", [1.5, -2]),
        ("8, many", [8, "many"]),  # for the server to refuse by name
        ("", []),
    ],
)
def test_a_list_is_read(text: str, numbers: list[Any]) -> None:
    assert evaluate("listOf(text)", text=text) == numbers


@pytest.mark.parametrize(
    ("option", "limits"),
    [
        ({"kind": "switch", "low": None, "high": None, "most": 1}, ""),
        ({"kind": "text", "low": None, "high": 400, "most": 1}, "at most 400 characters"),
        ({"kind": "text", "low": None, "high": None, "most": 1}, ""),
        ({"kind": "whole", "low": 1, "high": 4096, "most": 1}, "1 to 4,096"),
        ({"kind": "number", "low": 0.05, "high": None, "most": 1}, "from 0.05"),
        ({"kind": "number", "low": None, "high": 2, "most": 1}, "up to 2"),
        ({"kind": "list", "low": 2, "high": 8, "most": 6}, "at most 6 numbers, each 2 to 8"),
        ({"kind": "list", "low": None, "high": None, "most": 6}, "at most 6 numbers"),
    ],
)  # fmt: skip
def test_limits_are_told(option: dict[str, Any], limits: str) -> None:
    assert evaluate("limitsOf(option)", option=option) == limits
