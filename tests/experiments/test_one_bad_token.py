"""Lab one-bad-token: what counts as having come back, and runs that are known to."""

from __future__ import annotations

import pytest

from playground.engine.local import LocalEngine
from playground.experiments.bench import Bench
from playground.experiments.lab import run_lab
from playground.experiments.one_bad_token import ONE_BAD_TOKEN, OneBadToken, Options
from playground.experiments.rejoin import rejoined, same_ending
from playground.findings.report import LabResult
from playground.trace import SamplingParams
from tests.fakes import loaded, scripted, tiny_llama


def found_by(engine: LocalEngine, options: Options) -> OneBadToken:
    *_, last = run_lab(ONE_BAD_TOKEN, Bench(engine), options)
    assert isinstance(last, LabResult)
    return last.found


@pytest.mark.parametrize(
    ("first", "second", "start", "cut", "where"),
    [
        ([1, 2, 3, 4, 5, 6, 7], [1, 9, 3, 4, 5, 6, 7], 1, (False, False), (2, 2)),  # at once
        ([1, 2, 3, 4, 5, 6, 7], [1, 9, 8, 3, 4, 5, 6, 7], 1, (False, False), (3, 2)),  # one later
        ([1, 2, 3, 4, 5, 6, 7], [1, 9, 3, 4, 5, 6, 8], 1, (False, False), None),  # another end
        ([1, 2, 3, 4, 5, 6, 7], [1, 9, 0, 0, 0, 6, 7], 1, (False, False), None),  # two are too few
        ([1, 2, 3, 4, 5, 6, 7], [1, 9, 3, 4, 5, 6], 1, (False, False), None),  # it ended earlier
        ([1, 2, 3, 4, 5, 6, 7], [1, 9, 3, 4, 5, 6], 1, (False, True), (2, 2)),  # it was cut there
        ([1, 2, 3], [1, 9, 3], 1, (False, False), (2, 2)),  # no more was left
    ],
)
def test_what_counts_as_coming_back(
    first: list[int],
    second: list[int],
    start: int,
    cut: tuple[bool, bool],
    where: tuple[int, int] | None,
) -> None:
    assert rejoined(first, second, start, cut=cut) == where


def test_the_last_words_count_without_case_and_signs() -> None:
    assert same_ending("It is in Paris, France.", "Well: is in PARIS France")
    assert not same_ending("It is in Paris.", "It is in Lyon.")
    assert not same_ending("", "")


def test_a_model_that_only_counts_steps_always_comes_back() -> None:
    """Its next token depends on the step alone, so after any token it writes what it would have written."""
    rows = [100 + step for step in range(12)]
    engine = LocalEngine(loaded(scripted(rows, prompt_length=3)))
    try:
        prompt = len(Bench(engine).chat("abc").ids)
        engine.model.prompt_length = prompt
        found = found_by(engine, Options(question="abc", step=4, rank=20, answers=2, tokens=12))
        for case in found.cases:
            assert case.step == 3
            assert case.original.ids == tuple(rows)
            for going in case.going:
                if going.kind != "no bad token":
                    assert going.answer.ids[3] != rows[3]
                    assert going.joined == (4, 4)
    finally:
        engine.close()


def test_the_poor_token_has_the_rank_that_was_asked_for() -> None:
    engine = LocalEngine(loaded(tiny_llama(positions=512)))
    try:
        found = found_by(engine, Options(question="abc", step=3, rank=50, answers=2, tokens=10, seed=5))
        prompt = engine.chat([{"role": "user", "content": "abc"}])
        for number, case in enumerate(found.cases):
            params = SamplingParams(temperature=0.7, seed=5 + number, max_tokens=10)
            assert engine.run(prompt, params).answer_ids == case.original.ids
            assert 50 <= case.rank <= 50 + 1 + len(engine.info.end_ids)
            same, fresh, plain = case.going
            assert same.answer.ids[: case.step] == case.original.ids[: case.step]
            assert same.answer.ids[case.step] == fresh.answer.ids[case.step]
            assert plain.answer.ids[: case.step] == case.original.ids[: case.step]
            # with the dice it had, the run is the engine's own with that token forced
            forced = same.answer.ids[: case.step + 1]
            assert engine.run(prompt, params, forced=forced).answer_ids == same.answer.ids
    finally:
        engine.close()
