"""Whatever a model writes, the trace of it can be saved and read again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playground.engine.local import LocalEngine
from playground.trace import SamplingParams
from tests.engines import check_trace, engine_of, prompt_of
from tests.fakes import END_OF_TEXT, IM_END, IM_START, VOCABULARY, tiny_llama


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    """A random model over bytes: most of what it writes is no UTF-8."""
    with engine_of(tiny_llama(), end_ids=(IM_END, END_OF_TEXT)) as made:
        yield made


halves = [*"é👩🏽\ufffd".encode(), 0xC3, 0xED, 0xA0, 0x80, 0xF4, 0xFF]  # and the half of a surrogate pair
token_ids = st.sampled_from([*halves, 65, 32, IM_START, IM_END, END_OF_TEXT]) | st.integers(0, VOCABULARY - 1)
stops = st.lists(st.text(min_size=1, max_size=2) | st.sampled_from(["\ufffd", "A\ufffd", "é"]), max_size=2)
params = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 0.7, 1.0, 3.0]),
    top_k=st.integers(0, 5),
    top_p=st.floats(0.05, 1),
    min_p=st.floats(0, 1),
    typical_p=st.floats(0.05, 1),
    repetition_penalty=st.floats(0.5, 2),
    presence_penalty=st.floats(-2, 2),
    frequency_penalty=st.floats(-2, 2),
    logit_bias=st.dictionaries(token_ids, st.floats(-100, 100), max_size=2),
    banned=st.lists(token_ids, max_size=2).map(tuple),
    seed=st.integers(0, 2**64 - 1),
    max_tokens=st.integers(12, 20),
    min_tokens=st.integers(0, 3),
    stop=stops.map(tuple),
    ignore_eos=st.booleans(),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    prompt=st.lists(token_ids, min_size=1, max_size=6), params=params, forced=st.lists(token_ids, max_size=12)
)
def test_every_trace_of_a_run_is_read_again(
    engine: LocalEngine, prompt: list[int], params: SamplingParams, forced: list[int]
) -> None:
    trace = check_trace(engine.run(prompt_of(prompt), params, forced=forced))
    if trace.steps:
        step = len(trace.steps) // 2
        other = trace.steps[step].candidates[-1].token_id
        check_trace(engine.fork(trace, step=step, token_id=other))
