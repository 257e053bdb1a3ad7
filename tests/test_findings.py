"""The file of a comparison: it survives its JSON, and a stranger's is refused in one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.codec import to_plain
from playground.findings import Branch, Comparison, Divergence, LaneNumbers, SampleTree
from playground.findings import compare as module
from playground.params import SamplingParams
from playground.trace import ModelInfo, Trace
from tests import fakes
from tests.comparisons import MODEL, answer_of, comparison_of, traces_of
from tests.engines import engine_of, prompt_of

LANES = [
    SamplingParams(temperature=0, max_tokens=4, seed=3),
    SamplingParams(temperature=1.5, min_p=0.05, max_tokens=6, seed=3, logit_bias={70: -1.5}),
    SamplingParams(top_k=4, max_tokens=5, seed=9, stop=("\ud83d", "é")),
]


@pytest.fixture(scope="module")
def run() -> Iterator[list[Trace]]:
    with engine_of(fakes.tiny_llama()) as engine:
        yield traces_of(engine, prompt_of([72, 101, 108, 108, 111]), LANES)


def small() -> Comparison:
    return comparison_of([answer_of([1, 2, 3]), answer_of([1, 4])])


def test_a_comparison_of_a_real_run_survives_its_json(run: list[Trace]) -> None:
    made = comparison_of(run, names=("greedy", "wild 🎲", '=HYPERLINK("x")'), reference=2, same_dice=False)
    source = made.to_json()
    assert source.startswith('{"version": 1, ')
    assert Comparison.from_json(source) == made
    assert Comparison.from_json(source.encode()) == made


@settings(deadline=None, max_examples=40)
@given(
    answers=st.lists(st.lists(st.integers(0, 20), max_size=4), min_size=1, max_size=6),
    names=st.lists(st.text(min_size=1, max_size=80).filter(str.strip), min_size=6, max_size=6),
    data=st.data(),
)
def test_any_comparison_survives_its_json(answers: list[list[int]], names: list[str], data: Any) -> None:
    made = comparison_of(
        [answer_of(ids) for ids in answers],
        names=tuple(names[: len(answers)]),
        reference=data.draw(st.integers(0, len(answers) - 1)),
        same_dice=data.draw(st.booleans()),
        exact=data.draw(st.booleans()),
    )
    assert Comparison.from_json(made.to_json()) == made


def test_samples_and_sweeps_survive_their_json() -> None:
    samples = comparison_of(
        [answer_of([1], SamplingParams(seed=seed)) for seed in range(16)], kind="samples", same_dice=False
    )
    sweep = comparison_of(
        [answer_of([1], SamplingParams(temperature=step / 4, seed=2)) for step in range(9)],
        kind="sweep",
        sweep="temperature",
    )
    for made in (samples, sweep):
        assert Comparison.from_json(made.to_json()) == made


def refused(source: str | bytes) -> str:
    with pytest.raises(ValueError, match=r"[cC]omparison") as caught:
        Comparison.from_json(source)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 400
    return sentence


def broken(path: str, value: Any) -> str:
    """The JSON of a small comparison with one value replaced, or removed where `value` is ... ."""
    plain = json.loads(small().to_json())
    place: Any = plain
    *parents, last = (int(name) if name.isdecimal() else name for name in path.split("."))
    for name in parents:
        place = place[name]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(plain)


HOSTILE: list[tuple[str, Any, str]] = [
    ("version", 2, "version 2"), ("version", "1", "version"), ("version", True, "whole number"),
    ("version", ..., "no version"), ("more", 1, "unknown field 'more'"), ("exact", ..., "no field 'exact'"),
    ("id", "../../etc/passwd", "no id"), ("id", 5, "text"), ("created", None, "text"),
    ("kind", "magic", "one of"), ("kind", ["lanes"], "one of"),
    ("kind", "sweep", "names a setting"), ("sweep", "temperature", "names a setting"), ("sweep", 3, "text"),
    ("names", ["one"], "1 names for 2 lanes"), ("names", "ab", "list"), ("names.0", 5, "text"),
    ("names.0", "", "name"), ("names.0", " ", "name"), ("names.0", "x" * 81, "name"),
    ("names.0", "\ud83d", "name"), ("names.1", "a\udfffb", "name"),
    ("reference", 2, "reference"), ("reference", -1, "reference"), ("reference", 0.0, "whole number"),
    ("reference", True, "whole number"), ("reference", 10**30, "reference"),
    ("same_dice", 1, "true or false"), ("same_dice", None, "true or false"),
    ("traces", [], "0"), ("traces", {}, "list"), ("traces", None, "list"), ("traces.0", 3, "object"),
    ("traces.1.prompt.ids", [9, 9, 9], "another prompt"),
    ("traces.1.model.sha256", "1" * 64, "another model"),
    ("traces.1.model.vocabulary", 65, "another model"), ("traces.1.version", 7, "lane 2.*version 7"),
    ("traces.1.steps.0.prob", 1.5, "lane 2"), ("traces.1.steps.1.index", 0, "lane 2"),
    ("traces.1.steps.0.token_id", 64, "lane 2"), ("traces.0.params.temperature", -1, "temperature"),
    ("traces.1.finished.text", "else", "lane 2"), ("traces.1.id", "x", "lane 2"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "said"), HOSTILE)
def test_a_changed_comparison_is_refused_in_one_sentence(path: str, value: Any, said: str) -> None:
    assert re.search(said, refused(broken(path, value)))


@pytest.mark.parametrize(
    "source",
    [
        "", "nothing", "[]", "3", "null", "{", "NaN", '{"version": NaN}', '{"version": 1}',
        '{"version": -Infinity}', "[" * 100_000, '{"version":' * 100_000, b"\xff\xfe\xfa", b"\x00",
        '{"version": 1, "id": ' + "[" * 900 + "]" * 900 + "}", "9" * 10_000,
    ],
    ids=range(16),
)  # fmt: skip
def test_what_is_no_comparison_is_refused_in_one_sentence(source: str | bytes) -> None:
    refused(source)


def test_too_large_a_file_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_FILE", 1000)
    monkeypatch.setattr(module, "read_object", lambda *_: pytest.fail("it was read"))
    assert "MB" in refused(small().to_json())


def test_a_trace_is_no_comparison() -> None:
    refused(answer_of([1]).to_json())


def test_there_are_only_so_many_lanes() -> None:
    comparison_of([answer_of([1])] * 6)
    with pytest.raises(ValueError, match="1 to 6 lanes, got 7"):
        comparison_of([answer_of([1])] * 7)
    with pytest.raises(ValueError, match="1 to 16 lanes, got 17"):
        comparison_of([answer_of([1])] * 17, kind="samples")


def test_lanes_of_samples_differ_in_the_seed_alone_and_those_of_a_sweep_in_its_setting() -> None:
    cool, warm = (answer_of([1], SamplingParams(temperature=heat, seed=5)) for heat in (0.5, 1.5))
    with pytest.raises(ValueError, match="lane 2 has other settings"):
        comparison_of([cool, warm], kind="samples")
    with pytest.raises(ValueError, match="lane 2 has other settings"):
        comparison_of([cool, warm], kind="sweep", sweep="top_p")
    with pytest.raises(ValueError, match="no setting 'stop' to sweep"):
        comparison_of([cool, warm], kind="sweep", sweep="stop")
    comparison_of([cool, warm], kind="sweep", sweep="temperature")


def test_lanes_of_two_models_are_refused() -> None:
    other = ModelInfo("other", "1" * 64, "float32", "cpu", MODEL.vocabulary, 256, (0,))
    with pytest.raises(ValueError, match="lane 2 comes from another model"):
        comparison_of([answer_of([1]), replace(answer_of([1]), model=other)])


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_no_mutation_of_a_comparison_does_more_than_raise_value_error(data: st.DataObject) -> None:
    plain = json.loads(small().to_json())
    place: Any = plain
    while True:
        name = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not (isinstance(place[name], dict | list) and place[name] and data.draw(st.booleans())):
            break
        place = place[name]
    text = st.text(st.characters(exclude_categories=()), max_size=6)
    place[name] = data.draw(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | text,
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
            max_leaves=3,
        )
    )
    try:
        read = Comparison.from_json(json.dumps(plain))
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017 - not every mutation is wrong
    else:
        assert Comparison.from_json(read.to_json()) == read


def test_findings_become_plain_json_and_what_is_infinite_null() -> None:
    leaf = Branch((4, 5), "ab", (1,), 0.5, 0.25, (), (1,))
    tree = SampleTree(2, Branch((), "", (0, 1), 1.0, 1.0, (leaf,), (0,)), 0.25)
    plain = json.loads(json.dumps(to_plain(tree), allow_nan=False))
    assert plain["root"]["children"][0]["ids"] == [4, 5]
    assert to_plain(Divergence(3, 0.5, None, 0.1)) == {"index": 3, "raw": 0.5, "final": None, "lost": 0.1}
    infinite = float("inf")
    row = LaneNumbers(
        "a", {"banned": (3,), "logit_bias": {7: -infinite}}, 1, -infinite, infinite, 0.0, 1.0, 1.0, 0, 0, 0,
        None, None, "max_tokens",
    )  # fmt: skip
    plain = json.loads(json.dumps(to_plain(row), allow_nan=False))
    assert plain["settings"] == {"banned": [3], "logit_bias": {"7": None}}
    assert plain["mean_logprob"] is None
    assert plain["perplexity"] is None
