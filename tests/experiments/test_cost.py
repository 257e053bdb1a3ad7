"""Lab cost: tokens and passes against the engine's own numbers, prices against sums by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from playground.engine.local import LocalEngine
from playground.experiments.bench import Bench
from playground.experiments.cost import ANEW, COST, KEPT, Bill, Cost, Options, report
from playground.experiments.lab import run_lab
from playground.findings.report import LabResult, Say, Table
from tests.fakes import loaded, tiny_llama

SMALL = Options(question="abc", tokens=12, calls=3, instructions=20, result=10, reply=4)


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(tiny_llama(positions=512)))
    yield made
    made.close()


def found_by(engine: LocalEngine, options: Options, **limits: int) -> Cost:
    *_, last = run_lab(COST, Bench(engine, **limits), options)
    assert isinstance(last, LabResult)
    return last.found


def test_an_agents_calls_read_less_where_the_prefix_is_kept(engine: LocalEngine) -> None:
    bills = {bill.name: bill for bill in found_by(engine, SMALL).bills}
    kept, anew = bills[KEPT], bills[ANEW]
    prompts = [20 + call * (4 + 10) for call in range(3)]  # each call brings the answer and a result
    assert anew.read == sum(prompts)
    assert anew.reused == 0
    assert kept.read + kept.reused == sum(prompts)
    # at hand for the next call are the prompt before it and what of the answer was read in turn
    assert sum(prompts[:-1]) <= kept.reused <= sum(prompt + 4 - 1 for prompt in prompts[:-1])
    assert kept.written == anew.written == 12


def test_a_long_answer_is_a_pass_for_each_token(engine: LocalEngine) -> None:
    bills = {bill.name: bill for bill in found_by(engine, SMALL).bills}
    prompt = len(engine.chat([{"role": "user", "content": "abc"}]).ids)
    for bill in (bills["question"], bills["long answer"]):
        assert bill.read == prompt
        assert bill.passes == bill.written  # the first token comes from the pass over the prompt
    assert bills["long answer"].written == 12


def test_prices_are_the_users_own(engine: LocalEngine) -> None:
    found = found_by(
        engine,
        Options(question="abc", tokens=12, calls=2, instructions=20, result=10, reply=4,
                input=3.0, cached=0.5, output=7.0),
    )  # fmt: skip
    for bill in found.bills:
        by_hand = (bill.read * 3.0 + bill.reused * 0.5 + bill.written * 7.0) / 1_000_000
        assert bill.price == pytest.approx(by_hand)
    notes = [block.note for block in report(found) if isinstance(block, Table)]
    assert any("numbers you gave" in note for note in notes)


def test_instructions_that_do_not_fit_are_shortened_and_that_is_said(engine: LocalEngine) -> None:
    options = Options(question="abc", tokens=12, calls=2, instructions=4000, result=10, reply=4)
    found = found_by(engine, options, most_prompt=100)
    assert found.shortened == 100 - 14
    notes = [block.note for block in report(found) if isinstance(block, Table)]
    assert any("shortened to 86 tokens" in note for note in notes)
    with pytest.raises(ValueError, match="an agent of 12 calls does not fit here"):
        found_by(engine, Options(question="abc", calls=12, result=50, reply=4), most_prompt=100)


def test_what_is_there_so_far_is_told() -> None:
    bill = Bill("question", 1, 8, 30, 0, 8, 1.0, 6.2e-05)
    first = report(Cost((bill,), None))[0]
    assert isinstance(first, Say)
    assert "8 passes, 30 tokens read" in "".join(part.text for part in first.parts)
