"""How lanes end: end ids, stop strings, limits, failures, and people who leave."""

from __future__ import annotations

import gc
import threading
import time

import pytest
import torch

from playground.trace import Finished, SamplingParams, TokenStep
from tests import fakes
from tests.engines import check_trace, engine_of, prompt_of

PROMPT = prompt_of([72, 105, 33])
GREEDY = SamplingParams(temperature=0.0, max_tokens=12)


def spelled(text: str | bytes) -> list[int]:
    return list(text.encode() if isinstance(text, str) else text)


def run(
    rows: list, params: SamplingParams = GREEDY, end_ids: tuple[int, ...] = (fakes.IM_END,), **script: object
):
    with engine_of(fakes.scripted(rows, prompt_length=3, **script), end_ids=end_ids) as engine:
        return check_trace(engine.run(PROMPT, params))


def test_b01_half_a_character_in_the_stream() -> None:
    family = "👨‍👩".encode()
    trace = run([*family, fakes.IM_END], SamplingParams(temperature=0.0, max_tokens=30))
    shown = [step.text for step in trace.steps]
    assert "".join(shown) == "👨‍👩" == trace.text
    assert shown == ["", "", "", "👨", "", "", "\u200d", "", "", "", "👩", ""]
    cut = run(spelled(family), SamplingParams(temperature=0.0, max_tokens=2))
    assert "bytes F0 9F" in cut.finished.message
    assert cut.text == "�"


def test_b17_every_declared_end_id_ends() -> None:
    trace = run([5, 7, 9], end_ids=(2, 7))
    assert trace.answer_ids == (5, 7)
    assert (trace.finished.reason, trace.finished.detail) == ("end_token", "7")
    assert trace.text == "\x05"
    assert trace.steps[1].prob > 0.9
    assert trace.steps[1].trimmed == 1
    past = run([5, 7, 9], SamplingParams(temperature=0.0, max_tokens=3, ignore_eos=True), end_ids=(2, 7))
    assert past.answer_ids == (5, 7, 9)


def test_min_tokens_bans_the_end() -> None:
    trace = run([5, fakes.IM_END, fakes.IM_END], SamplingParams(temperature=0.0, min_tokens=2, max_tokens=9))
    assert len(trace.steps) == 3
    assert trace.steps[1].token_id != fakes.IM_END
    assert trace.finished.reason == "end_token"


@pytest.mark.parametrize(
    ("stop", "text", "rows"),
    [
        ((", F, G",), " D, E", 12),
        (("E",), " D, ", 5),
        (("F",), " D, E, ", 8),
        (("F", ", F"), " D, E", 8),
        ((", F", "F"), " D, E", 8),
    ],
)
def test_b19_b20_stop_strings(stop: tuple[str, ...], text: str, rows: int) -> None:
    script = spelled(" D, E, F, G, H")
    with engine_of(fakes.scripted(script, prompt_length=3)) as engine:
        settings = SamplingParams(temperature=0.0, max_tokens=20, stop=stop)
        seen = ""
        for event in engine.stream(PROMPT, settings):
            if isinstance(event, TokenStep):
                seen += event.text
                assert ", F" not in seen
                assert event.trimmed == 0
        trace = check_trace(engine.run(PROMPT, settings))
    assert seen == trace.text == text
    assert trace.finished.reason == "stop_string"
    assert trace.finished.detail in stop


def test_held_text_is_released_when_no_stop_comes() -> None:
    trace = run(spelled(" D, E, F, G"), SamplingParams(temperature=0.0, max_tokens=9, stop=(", F, Q",)))
    assert trace.text == " D, E, F,"
    ended = run([*spelled("a, F"), fakes.IM_END], SamplingParams(temperature=0.0, stop=(", F, Q",)))
    assert ended.text == "a, F"


def test_a_stop_inside_a_character_run_cuts_bytes() -> None:
    trace = run(spelled("aé日b"), SamplingParams(temperature=0.0, stop=("日",)))
    assert trace.text == "aé"
    assert trace.finished.trimmed == ((3, 1), (4, 1), (5, 1))


def test_b28_nothing_left() -> None:
    params = SamplingParams(temperature=0.0, banned=tuple(range(fakes.VOCABULARY)))
    assert run([5], params).finished.reason == "no_token_left"
    some = run([5, 6, 7], SamplingParams(temperature=0.0, logit_bias={7: -float("inf")}))
    assert some.answer_ids[2] != 7


@pytest.mark.parametrize("place", ["all", "one", "inf"])
def test_b28_nan_logits(place: str) -> None:
    row = torch.zeros(fakes.VOCABULARY)
    if place == "all":
        row[:] = float("nan")
    else:
        row[9] = float("nan") if place == "one" else float("inf")
    trace = run([5, 6, row])
    assert trace.answer_ids == (5, 6)
    assert trace.finished.reason == "nan_logits"
    assert trace.finished.message


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), ValueError("odd <b> thing")])
def test_b51_an_exception_ends_its_run_and_nothing_else(error: Exception) -> None:
    model = fakes.scripted([5, 6, 7, 8], prompt_length=3, raise_at={2: error})
    with engine_of(model) as engine:
        trace = check_trace(engine.run(PROMPT, GREEDY))
        assert trace.answer_ids == (5, 6)
        assert trace.finished.reason == "error"
        assert trace.finished.message.count(".") == 1
        model.raise_at = {}
        held = sum(batch.total_bytes for batch in engine._scheduler.seating.batches)
        assert held == 0
        assert engine.run(PROMPT, GREEDY).answer_ids[:3] == (5, 6, 7)
        assert engine.status()["running"] == 0


def test_b51_other_lanes_go_on() -> None:
    """Two lanes in one batch at different positions: the script raises for one of them."""
    model = fakes.scripted([], prompt_length=3, raise_at={6: ValueError("boom")})
    with engine_of(model) as engine:
        ends = {}
        settings = SamplingParams(temperature=0.0, max_tokens=5, ignore_eos=True)
        healthy = engine.stream(
            prompt_of([1]), SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True)
        )
        failing = engine.stream(prompt_of([1, 2, 3, 4, 5]), settings)
        for name, stream in (("failing", failing), ("healthy", healthy)):
            ends[name] = next(event for event in stream if isinstance(event, Finished))
        assert ends["failing"].reason == "error"
        assert ends["healthy"].reason == "max_tokens"


def test_b52_a_closed_iterator_stops_the_model() -> None:
    model = fakes.scripted([], prompt_length=3, delay=0.02)
    with engine_of(model) as engine:
        stream = engine.stream(PROMPT, SamplingParams(max_tokens=200, ignore_eos=True))
        for _ in range(6):
            next(stream)
        stream.close()
        deadline = time.monotonic() + 5
        while engine.status()["running"] and time.monotonic() < deadline:
            time.sleep(0.005)
        passes = model.passes
        assert passes <= 9
        model.delay = 0.0
        assert engine.run(PROMPT, GREEDY).finished.reason in ("max_tokens", "end_token")
    names = [thread.name for thread in threading.enumerate()]
    assert "playground-engine" not in names


def test_b53_a_waiting_run_that_is_cancelled_never_runs() -> None:
    model = fakes.scripted([], prompt_length=3, delay=0.01)
    long = SamplingParams(max_tokens=200, ignore_eos=True)
    with engine_of(model, max_lanes=1) as engine:
        first = engine.stream(PROMPT, long)
        next(first)
        for _ in range(5):
            waiting = engine.stream(prompt_of([9, 9, 9, 9]), long)
            got: list = []
            reader = threading.Thread(target=lambda stream=waiting, got=got: got.extend(stream))
            reader.start()
            engine._scheduler.call(lambda: None).result(timeout=5)
            assert engine.status()["waiting"] == 1
            waiting.stop()  # wakes the reader, which no token would have reached
            reader.join(timeout=5)
            assert [event.reason for event in got if isinstance(event, Finished)] == ["stopped"]
            assert not [event for event in got if isinstance(event, TokenStep)]
        assert engine.status()["waiting"] == 0
        first.close()
        first.close()


def test_a_stream_that_is_dropped_unread_stops() -> None:
    model = fakes.scripted([], prompt_length=3, delay=0.01)
    with engine_of(model) as engine:
        engine.stream(PROMPT, SamplingParams(max_tokens=200, ignore_eos=True))
        gc.collect()
        deadline = time.monotonic() + 5
        while engine._scheduler.call(lambda: len(engine._scheduler._runs)).result(timeout=5):
            assert time.monotonic() < deadline
        assert model.passes < 20


def test_stop_keeps_what_was_made() -> None:
    model = fakes.scripted(spelled("abcdefghij"), prompt_length=3, delay=0.01)
    with engine_of(model) as engine:
        stream = engine.stream(PROMPT, SamplingParams(temperature=0.0, max_tokens=200))
        got = [next(stream) for _ in range(4)]
        engine.close()
        got += list(stream)
    assert isinstance(got[-1], Finished)
    assert got[-1].reason == "stopped"
    assert got[-1].text == "".join(event.text for event in got if isinstance(event, TokenStep))


def test_no_stop_is_found_in_half_a_character() -> None:
    trace = run([0x61, 0xF0], SamplingParams(temperature=0.0, max_tokens=2, stop=("\ufffd",)))
    assert (trace.finished.reason, trace.text) == ("max_tokens", "a\ufffd")


def test_b28_nan_in_a_row_of_the_prompt() -> None:
    row = torch.full((fakes.VOCABULARY,), float("nan"))
    with engine_of(fakes.scripted([row, 5], prompt_length=2)) as engine:  # the row after the second id
        finished = engine.run(PROMPT, GREEDY).finished
    assert finished.reason == "nan_logits"
    assert "NanLogits" not in finished.message


def test_b51_an_error_while_a_prefix_is_kept_costs_nobody_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def keep(*args: object) -> None:
        raise torch.OutOfMemoryError("no room")

    with engine_of(fakes.scripted([5, 6, 7], prompt_length=3)) as engine:
        monkeypatch.setattr("playground.engine.pool.PrefixStore.keep", keep)
        for _ in range(2):
            assert engine.run(PROMPT, GREEDY).answer_ids[:3] == (5, 6, 7)
        assert not engine._scheduler.seating.batches
