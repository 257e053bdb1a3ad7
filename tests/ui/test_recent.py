"""Runs of one open page, found again by their ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playground.engine.local import LocalEngine
from playground.trace import Finished, Prompt, SamplingParams, TokenStep, Trace
from playground.ui.recent import Made, Recent, made_by, stored
from playground.ui.records import SHORT_SHA
from tests.comparisons import answer_of, step_of, trace_of
from tests.engines import check_trace, engine_of, prompt_of
from tests.fakes import END_OF_TEXT, IM_END, IM_START, VOCABULARY, tiny_llama


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    """A random model over bytes: most of what it writes is no UTF-8."""
    with engine_of(tiny_llama(), end_ids=(IM_END, END_OF_TEXT)) as made:
        yield made


def made(
    engine: LocalEngine,
    prompt: Sequence[int],
    params: SamplingParams,
    forced: Sequence[int] = (),
    known: int = 0,
) -> Made:
    """A press on the page: with `known`, one that goes on and tells the ids of its prompt alone."""
    asked = prompt_of(prompt)
    if known:
        asked = Prompt("", (), (), asked.ids, None)
    events = list(engine.stream(asked, params, forced=forced, known=known))
    read = next(event for event in events if isinstance(event, Prompt))
    steps = [event for event in events if isinstance(event, TokenStep)]
    finished = next(event for event in events if isinstance(event, Finished))
    return made_by(engine.info, engine.vocabulary, read, params, forced[:known], steps, finished)


def found(recent: Recent, trace: Trace, **more: Any) -> Trace:
    return recent.trace(trace.prompt.ids, trace.answer_ids, trace.model.sha256[:SHORT_SHA], **more)


def same(one: Trace, other: Trace) -> bool:
    """Whether two traces differ in nothing but their names."""
    return replace(one, id=other.id, created=other.created) == other


bytes_ = [*"é👩🏽\ufffd".encode(), 0xC3, 0xED, 0xA0, 0x80, 0xF4, 0xFF, 65, 32, IM_START, IM_END, END_OF_TEXT]
token_ids = st.sampled_from(bytes_) | st.integers(0, VOCABULARY - 1)
stops = st.lists(st.text(min_size=1, max_size=2) | st.sampled_from(["\ufffd", "A\ufffd", "é"]), max_size=2)
params_ = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 0.7, 3.0]),
    banned=st.lists(token_ids, max_size=2).map(tuple),
    seed=st.integers(0, 2**64 - 1),
    max_tokens=st.integers(10, 16),
    stop=stops.map(tuple),
    ignore_eos=st.booleans(),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    prompt=st.lists(token_ids, min_size=1, max_size=5), params=params_, forced=st.lists(token_ids, max_size=9)
)
def test_a_run_comes_back_as_its_engine_had_it(
    engine: LocalEngine, prompt: list[int], params: SamplingParams, forced: list[int]
) -> None:
    run, recent = made(engine, prompt, params, forced), Recent()
    assert run.finished is not None
    recent.note(run)
    trace = check_trace(recent.trace(prompt, run.ids, engine.info.sha256[:SHORT_SHA]))
    assert trace.finished == run.finished
    assert [replace(step, trimmed=0) for step in trace.steps] == list(run.steps)
    assert (trace.prompt, trace.params, trace.model) == (run.prompt, params, engine.info)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(params=params_, other=params_, at=st.integers(1, 9), token_id=token_ids)
def test_forks_are_put_together_from_what_was_made(
    engine: LocalEngine, params: SamplingParams, other: SamplingParams, at: int, token_id: int
) -> None:
    recent, prompt = Recent(), [5, 6, 7]
    first = made(engine, prompt, params)
    recent.note(first)
    at = min(at, len(first.ids))
    fork = made(engine, prompt, other, (*first.ids[:at], token_id), known=at)
    recent.note(fork)
    name = engine.info.sha256[:SHORT_SHA]
    assert recent.trace(prompt, first.ids, name).finished == first.finished  # it stays as it was
    if not fork.steps or len(fork.ids) <= at:
        return
    trace = recent.trace(prompt, fork.ids, name)
    assert Trace.from_json(trace.to_json()) == trace
    assert trace.params == other
    assert trace.prompt == first.prompt  # its tokens, which the fork did not tell
    assert trace.answer_ids == fork.ids
    assert [step.candidates for step in trace.steps] == [
        step.candidates for step in (*first.steps[:at], *fork.steps)
    ]


def test_a_token_that_was_made_twice_is_told_apart_by_what_the_board_shows() -> None:
    cool = trace_of(
        [step_of(0, 5, {5: 0.6, 6: 0.4}, {5: 0.9, 6: 0.1}, u=0.2)], SamplingParams(temperature=0.5)
    )
    warm = trace_of([step_of(0, 5, {5: 0.6, 6: 0.4}, {5: 0.6, 6: 0.4}, u=0.2)], SamplingParams(temperature=1))
    again = trace_of([step_of(0, 5, {5: 0.6, 6: 0.4}, {5: 0.9, 6: 0.1}, u=0.7)], SamplingParams(seed=2))
    recent = Recent()
    for each in (cool, warm, again):
        recent.note(stored(each))
    assert same(found(recent, cool), again)  # the latest
    for each, shown in ((cool, (0.9, 0.2)), (warm, (0.6, 0.2)), (again, (0.900001, 0.7))):
        assert same(found(recent, each, shown=[shown]), each)


def test_what_waits_or_was_stopped_is_whole_as_far_as_it_went() -> None:
    trace = answer_of([5, 6, 7, 8])
    recent = Recent()
    recent.note(replace(stored(trace), finished=None))
    stopped = found(recent, trace)
    assert (stopped.text, stopped.finished.reason, stopped.finished.message) == (
        "EFGH", "stopped", "Stopped after 4 tokens.",
    )  # fmt: skip
    assert stopped.finished.passes == 4
    times = [step.queue_s + step.forward_s + step.sample_s for step in trace.steps]
    assert stopped.finished.ttft_s == pytest.approx(times[0])
    assert stopped.finished.tpot_s == pytest.approx(sum(times[1:]) / 3)
    assert stopped.finished.decode_tps == pytest.approx(3 / sum(times[1:]))
    assert stopped.finished.prefill_tps is None
    part = recent.trace(trace.prompt.ids, [5, 6], trace.model.sha256[:SHORT_SHA])
    assert (part.text, part.finished.message) == ("EF", "Stopped after 2 tokens.")
    assert Trace.from_json(part.to_json()) == part


def test_tokens_that_were_given_count_in_no_time() -> None:
    trace = answer_of([5, 6, 7])
    free = replace(trace.steps[0], queue_s=0.0, forward_s=0.0, sample_s=0.0)
    recent = Recent()
    recent.note(replace(stored(replace(trace, steps=(free, *trace.steps[1:]))), finished=None))
    times = [step.queue_s + step.forward_s + step.sample_s for step in trace.steps[1:]]
    finished = found(recent, trace).finished
    assert (finished.ttft_s, finished.tpot_s) == (None, pytest.approx(sum(times) / 2))


def test_what_is_not_there_is_said() -> None:
    trace, recent = answer_of([5, 6, 7]), Recent()
    recent.note(stored(trace))
    name = trace.model.sha256[:SHORT_SHA]
    for prompt, answer, model in (
        (trace.prompt.ids, [5, 6, 8], name),
        (trace.prompt.ids, [5, 6, 7, 8], name),
        (trace.prompt.ids[:-1], [5, 6, 7], name),
        (trace.prompt.ids, [5, 6, 7], "f" * SHORT_SHA),
    ):
        with pytest.raises(ValueError, match="no longer has this run"):
            recent.trace(prompt, answer, model)
    with pytest.raises(ValueError, match="no token"):
        recent.trace(trace.prompt.ids, [], name)
    with pytest.raises(ValueError, match="no longer has this run"):
        found(Recent(), trace)


def test_a_run_whose_prompt_was_never_told_cannot_be_saved() -> None:
    trace, recent = answer_of([5, 6, 7]), Recent()
    recent.note(replace(stored(trace), prompt=Prompt("", (), (), trace.prompt.ids, None)))
    with pytest.raises(ValueError, match="no longer has this run"):
        found(recent, trace)
    recent.note(stored(trace))  # and one that tells it
    assert same(found(recent, trace), trace)


def test_the_oldest_go_first() -> None:
    traces = [answer_of([*range(1, 40), last]) for last in range(1, 40)]
    recent = Recent(most=20_000)
    for each in traces:
        recent.note(stored(each))
    assert same(found(recent, traces[-1]), traces[-1])
    with pytest.raises(ValueError, match="no longer"):
        found(recent, traces[0])


def test_a_hundred_presses_of_step_are_one_run() -> None:
    trace, recent = answer_of([1 + index % 50 for index in range(100)]), Recent()
    whole = stored(trace)
    for end in range(1, 101):
        steps = trace.steps[end - 1 : end]
        recent.note(
            replace(
                whole,
                ids=trace.answer_ids[:end],
                steps=steps,
                finished=trace.finished if end == 100 else None,
            )
        )
    assert same(found(recent, trace), trace)
