"""What all labs share: options with limits, progress, results that grow, and a stop at any time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.engine.local import LocalEngine
from playground.experiments.bench import Bench
from playground.experiments.lab import Progress, described, read_options, record, run_lab
from playground.findings.report import LabResult
from playground.trace import SamplingParams
from tests.experiments.toy import TOY, Options
from tests.fakes import loaded, scripted, tiny_llama


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(tiny_llama()))
    yield made
    made.close()


def test_options_are_described_for_a_form() -> None:
    told = {item["name"]: item for item in described(TOY)}
    assert {name: item["kind"] for name, item in told.items()} == {
        "tokens": "whole", "warmth": "number", "question": "text", "seeds": "list", "raw": "switch",
    }  # fmt: skip
    assert told["seeds"] == {
        "name": "seeds", "kind": "list", "default": [1, 2], "label": "seeds", "low": 0, "high": 99, "most": 4,
        "hint": "one answer each",
    }  # fmt: skip
    json.dumps(told, allow_nan=False)  # limits that are not finite are null


def test_options_are_read_with_their_defaults() -> None:
    assert read_options(TOY, {}) == Options()
    given = {"tokens": 5.0, "warmth": 1, "question": "x", "seeds": [3, 1, 3], "raw": False}
    assert read_options(TOY, given) == Options(tokens=5, warmth=1.0, question="x", seeds=(1, 3), raw=False)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tokens": 0}, r"tokens must be a whole number in \[1, 50\], got 0"),
        ({"tokens": 2.5}, r"tokens must be a whole number in \[1, 50\], got 2.5"),
        ({"tokens": True}, "tokens must be a whole number"),
        ({"tokens": "5"}, "tokens must be a whole number"),
        ({"tokens": 10**5000}, r"tokens must be a whole number in \[1, 50\], got a number of many digits"),
        ({"tokens": float("nan")}, "tokens must be a whole number"),
        ({"warmth": 3}, r"warmth must be a number in \[0, 2\], got 3"),
        ({"warmth": float("inf")}, "warmth must be a number"),
        ({"question": " "}, "question must be a text of 1 to 20 characters"),
        ({"question": "x" * 21}, "question must be a text of 1 to 20 characters"),
        ({"question": None}, "question must be a text"),
        ({"question": 10**5000}, "question must be a text of 1 to 20 characters, got a number of many"),
        ({"seeds": []}, "seeds must be a list of 1 to 4 whole numbers"),
        ({"seeds": [1, 2, 3, 4, 5]}, "seeds must be a list of 1 to 4 whole numbers"),
        ({"seeds": [100]}, r"seeds must be a whole number in \[0, 99\], got 100"),
        ({"seeds": [10**5000]}, "seeds must be a whole number in .*, got a number of many digits"),
        ({"seeds": [1, 2, 3, 4, 10**5000]}, "seeds must be a list of 1 to 4 whole numbers, got 5 of them"),
        ({"seeds": 7}, "seeds must be a list"),
        ({"raw": 1}, "raw must be true or false"),
        ({"raw": 10**5000}, "raw must be true or false"),
        ({"spoon": 1}, "the lab toy has no option 'spoon'; it has tokens, warmth, question, seeds, raw"),
    ],
)
def test_bad_options_are_refused_by_name(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_options(TOY, given)


def test_results_grow_and_progress_never_falls(engine: LocalEngine) -> None:
    events = list(run_lab(TOY, Bench(engine), Options(tokens=4, seeds=(1, 2, 3))))
    shares = [event.share for event in events if isinstance(event, Progress)]
    results = [event for event in events if isinstance(event, LabResult)]
    assert shares == sorted(shares)
    assert (min(shares), max(shares)) == (0, 1)
    assert [len(result.found.answers) for result in results] == [1, 2, 3, 3]
    assert [result.complete for result in results] == [False, False, False, True]
    assert results[-1].model == engine.info
    assert results[-1].others == 0
    assert results[-1].seconds > 0


def test_a_result_is_one_strict_json_object_with_its_method(engine: LocalEngine) -> None:
    *_, last = run_lab(TOY, Bench(engine), Options())
    told = json.loads(json.dumps(record(TOY, last), allow_nan=False))
    assert told["lab"] == "toy"
    assert (told["question"], told["method"], told["bounds"]) == (
        TOY.question,
        list(TOY.method),
        list(TOY.bounds),
    )
    assert told["options"] == {"tokens": 3, "warmth": 0.0, "question": "abc", "seeds": [1, 2], "raw": True}
    assert told["found"]["answers"][0]["ids"] == list(last.found.answers[0].ids)


def test_a_lab_gives_what_the_engine_gives_alone(engine: LocalEngine) -> None:
    *_, last = run_lab(TOY, Bench(engine), Options(warmth=1.0, tokens=6))
    for answer in last.found.answers:
        alone = engine.run(engine.raw("abc"), SamplingParams(temperature=1.0, seed=answer.seed, max_tokens=6))
        assert answer.ids == alone.answer_ids


def test_stopping_ends_the_run_within_a_step() -> None:
    engine = LocalEngine(loaded(scripted([120] * 200, prompt_length=3, delay=0.02)))
    try:
        events = run_lab(TOY, Bench(engine), Options(tokens=50))
        for _ in range(4):
            next(events)
        events.close()  # type: ignore[attr-defined]  # it is a generator
        until = {"running": 0, "waiting": 0, "free": 16}
        for _ in range(200):
            if engine.status() == until:
                break
            time.sleep(0.01)
        assert engine.status() == until
    finally:
        engine.close()


def test_prompts_and_answers_past_the_limits_are_refused(engine: LocalEngine) -> None:
    with pytest.raises(ValueError, match="a prompt of 3 tokens, and 2 are the limit here"):
        list(run_lab(TOY, Bench(engine, most_prompt=2), Options()))
    with pytest.raises(ValueError, match="needs 3 new tokens, and 2 are the limit here"):
        list(run_lab(TOY, Bench(engine, most_new=2), Options()))


def test_a_run_that_fails_ends_the_lab_in_a_sentence() -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("out of coffee")

    engine = LocalEngine(loaded(scripted([120, broken], prompt_length=3)))
    try:
        with pytest.raises(ValueError, match="out of coffee"):
            list(run_lab(TOY, Bench(engine), Options()))
    finally:
        engine.close()


def test_lanes_of_others_in_a_pass_are_told(engine: LocalEngine) -> None:
    bench = Bench(engine)
    busy = engine.stream(engine.raw("other"), SamplingParams(max_tokens=200, ignore_eos=True, seed=1))
    with busy:
        next(busy)
        *_, last = run_lab(TOY, bench, Options(tokens=20, seeds=(1,)))
    assert last.others == 1
    assert Bench(engine).owner != bench.owner


def test_labs_are_listed_without_torch() -> None:
    heavy = ("torch", "transformers", "gradio", "plotly")
    check = f"import sys, playground.experiments; print([name for name in {heavy} if name in sys.modules])"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", check], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
