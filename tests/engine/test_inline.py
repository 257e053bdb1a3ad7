"""Each run in a process forked for it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from playground.engine import inline
from playground.engine.inline import InlineEngine, run_apart
from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.trace import Event, Finished, ModelInfo, SamplingParams, TokenStep
from tests import fakes
from tests.engine.forking import forking
from tests.engines import check_trace, engine_of, prompt_of

PROMPT = prompt_of([72, 105, 32, 116, 104])
FREE = SamplingParams(max_tokens=20, seed=5, ignore_eos=True)


def made(model: Any = None, apart: Any = None, **options: Any) -> InlineEngine:
    info = ModelInfo("stand-in", "0" * 64, "float32", "cpu", fakes.VOCABULARY, 256, (fakes.IM_END,))
    loaded = Loaded(model or fakes.tiny_llama(), fakes.byte_tokenizer(), info)
    return InlineEngine(loaded, apart or forking(run_apart), **options)


@pytest.fixture
def engine() -> Iterator[InlineEngine]:
    engine = made()
    yield engine
    assert engine._scheduler._thread.ident is None  # nothing ran in this process
    engine.close()


def untimed(event: Event) -> Event:
    """The event without what a clock said."""
    named = {field.name: 0.0 for field in fields(event) if field.name.endswith(("_s", "_tps"))}
    return replace(event, **named)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As in a forked process, so that sums round alike."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_events_are_those_of_the_local_engine(engine: InlineEngine) -> None:
    lanes = [FREE, replace(FREE, temperature=0.0), replace(FREE, seed=6, logit_bias={65: 2.0}, stop=("zz",))]
    asked = {"forced": (65, 66), "watched": (250,)}
    with engine_of(fakes.tiny_llama()) as local:
        expected = list(map(untimed, local.stream(PROMPT, lanes, **asked)))
        assert list(map(untimed, engine.stream(PROMPT, lanes, **asked))) == expected
        parent = check_trace(engine.run(PROMPT, FREE))
        fork = check_trace(engine.fork(parent, step=4, token_id=65))
        assert fork.answer_ids == local.fork(parent, step=4, token_id=65).answer_ids
        known = engine.stream(PROMPT, FREE, forced=parent.answer_ids[:8], known=7)
        assert [event.index for event in known if isinstance(event, TokenStep)] == list(range(7, 20))


def test_stop_tells_what_was_made_and_ends_the_process() -> None:
    pids: list[int] = []
    engine = made(apart=forking(run_apart, pids.append))
    long = replace(FREE, max_tokens=240)
    free = len(inline._free)
    stream = engine.stream(PROMPT, [long, replace(long, seed=6)])
    for _ in range(6):
        next(stream)
    assert len(inline._free) == free - 1
    stream.stop()
    ends = [event for event in stream if isinstance(event, Finished)]
    assert [end.reason for end in ends] == ["stopped"] * 2
    assert all(end.answer_tokens < 240 for end in ends)
    assert not os.path.exists(f"/proc/{pids[0]}")
    assert len(inline._free) == free
    stream.stop()  # over: harmless to whoever has its place now
    assert engine.run(PROMPT, FREE).finished.reason == "max_tokens"


def test_close_from_another_thread_ends_the_process() -> None:
    pids: list[int] = []
    engine = made(apart=forking(run_apart, pids.append))
    stream = engine.stream(PROMPT, replace(FREE, max_tokens=240))
    seen: list[Event] = []
    reader = threading.Thread(target=lambda: seen.extend(stream), daemon=True)
    reader.start()
    while not seen:
        time.sleep(0.01)
    stream.close()
    reader.join(20)
    assert not reader.is_alive()
    assert len(seen) < 240
    assert not os.path.exists(f"/proc/{pids[0]}")
    assert list(stream) == []


def test_a_stream_that_nobody_reads_starts_nothing() -> None:
    pids: list[int] = []
    engine = made(apart=forking(run_apart, pids.append))
    free = len(inline._free)
    stream = engine.stream(PROMPT, FREE)
    stream.close()
    assert list(stream) == []
    del stream
    assert (pids, len(inline._free)) == ([], free)


def test_two_visitors_at_once() -> None:
    engine = made()
    with engine_of(fakes.tiny_llama()) as local:
        expected = {seed: local.run(PROMPT, replace(FREE, seed=seed)).answer_ids for seed in (1, 2)}
    both = threading.Barrier(2, timeout=30)
    got: dict[int, tuple[int, ...]] = {}

    def visit(seed: int) -> None:
        stream = engine.stream(PROMPT, replace(FREE, seed=seed))
        first = [next(stream), next(stream)]
        both.wait()  # both processes are there
        events = [*first, *stream]
        got[seed] = tuple(event.token_id for event in events if isinstance(event, TokenStep))

    threads = [threading.Thread(target=visit, args=(seed,), daemon=True) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert got == expected


def test_many_visitors_at_the_very_same_moment() -> None:
    engine, ready = made(), threading.Barrier(6, timeout=30)
    got: list[int] = []

    def visit() -> None:
        ready.wait()
        got.append(len(engine.run(PROMPT, replace(FREE, max_tokens=3)).steps))

    threads = [threading.Thread(target=visit, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert got == [3] * 6


def test_a_fork_that_is_refused_is_tried_again_and_nothing_else_is() -> None:
    tries: list[str] = []

    def refusing(*asked: Any) -> Iterator[Event]:
        tries.append("a try")
        if len(tries) < 4:
            raise RuntimeError("os.fork is unsafe while filelock is changing descriptor ownership")
        yield from forking(run_apart)(*asked)
        raise RuntimeError("os.fork is unsafe, and the run had begun")

    engine = made(apart=refusing)
    assert list(engine.stream(PROMPT, replace(FREE, max_tokens=3)))[-1].reason == "max_tokens"
    assert len(tries) == 4


def test_what_cannot_run_is_refused_before_a_process_is_forked() -> None:
    pids: list[int] = []
    engine = made(apart=forking(run_apart, pids.append))
    with pytest.raises(ValueError, match="0 to 258"):
        engine.stream(prompt_of([999]), FREE)
    with pytest.raises(ValueError, match="at least one lane"):
        engine.stream(PROMPT, [])
    assert pids == []


def test_a_failing_model_is_one_sentence() -> None:
    engine = made(fakes.scripted([65] * 4, prompt_length=5, raise_at={3: RuntimeError("boom")}))
    trace = engine.run(PROMPT, FREE)
    assert trace.finished.reason == "error"
    assert trace.finished.message == "The model failed during this run (RuntimeError: boom)."
    assert len(trace.steps) == 3


def test_a_process_that_is_killed_keeps_what_was_made() -> None:
    pids: list[int] = []
    engine = made(apart=forking(run_apart, pids.append))
    stream = engine.stream(PROMPT, replace(FREE, max_tokens=240))
    events = [next(stream) for _ in range(4)]
    os.kill(pids[0], signal.SIGKILL)
    events += list(stream)
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.reason == "error"
    assert end.message == "The run could not go on (GPU task aborted)."
    ids = [event.token_id for event in events if isinstance(event, TokenStep)]
    assert end.answer_tokens == len(ids)
    joined = b"".join(map(engine.vocabulary.bytes_of, ids))
    assert end.text == joined.decode(errors="replace")


def test_an_accelerator_that_is_not_lent_is_one_sentence() -> None:
    class Refused(Exception):
        message = "No GPU was available\nafter 60s"

    def refusing(*asked: Any) -> Iterator[Event]:
        raise Refused
        yield

    free = len(inline._free)
    stream = made(apart=refusing).stream(PROMPT, FREE)
    with pytest.raises(ValueError, match=r"^The run could not go on \(No GPU was available after 60s\)\.$"):
        next(stream)
    assert len(inline._free) == free


def test_a_process_that_knows_another_model_says_so() -> None:
    engine = made()
    engine._number = 10**9
    with pytest.raises(ValueError, match="model was changed"):
        engine.run(PROMPT, FREE)


def test_looks_at_a_run_that_is_over_say_not_available(engine: InlineEngine) -> None:
    assert not engine.capabilities.full_logits
    trace = engine.run(PROMPT, FREE)
    pair = (trace.answer_ids, trace.answer_ids)
    for look in (
        lambda: engine.redistribute(trace, step=3, params=FREE),
        lambda: engine.redistribute_ids(PROMPT.ids, trace.answer_ids, 3, FREE, owner="a"),
        lambda: engine.picks(PROMPT.ids, trace.answer_ids, 3, [FREE], owner="a"),
        lambda: engine.divergences(PROMPT.ids, pair, (FREE, FREE), owner="a"),
    ):
        with pytest.raises(ValueError, match="Not available here"):
            look()


def test_the_forked_process_moves_the_model() -> None:
    places: list[str] = []
    engine = made(device="cuda", apart=run_apart)
    assert engine.info.device == "cuda"
    engine.model.to = places.append  # in this process, to see it
    engine.run(PROMPT, FREE)
    assert places == ["cuda"]
    engine.close()


def test_the_local_engine_starts_its_thread_with_its_first_run() -> None:
    with engine_of(fakes.tiny_llama()) as local:
        assert isinstance(local, LocalEngine)
        assert local._scheduler._thread.ident is None
        local.run(PROMPT, FREE)
        assert local._scheduler._thread.is_alive()
