"""Runs that the server no longer has, made again from what the board tells of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playground.pages.standalone import standalone_page
from playground.params import SamplingParams
from playground.settings import Settings
from playground.trace import TokenStep, Trace
from playground.ui.form import Form
from playground.ui.host import Host
from playground.ui.records import settings
from playground.ui.run import Server
from playground.ui.serving import make_server
from playground.ui.share import save
from tests.engines import engine_of
from tests.fakes import END_OF_TEXT, IM_END, tiny_llama
from tests.ui.asking import named
from tests.ui.fake_engine import FakeEngine
from tests.ui.test_share import asked, goes_on, new_page, other_engine, ran, serve, trace_of

PARAMS = SamplingParams(seed=4, temperature=0.9, max_tokens=20)
SHORT = {"max_tokens": 20}
RAW = Form("What is the capital of France?", PARAMS)


@pytest.fixture(params=["fake", "tiny"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A server of the fake engine, and one of a real engine with a random model."""
    if request.param == "fake":
        yield serve(tmp_path)
        return
    with engine_of(tiny_llama(), end_ids=(IM_END, END_OF_TEXT)) as engine:
        yield make_server(Host(lambda progress: engine), Settings(store=str(tmp_path)), standalone_page)


def told_of(
    pointed: dict[str, Any], trace: Trace, *stretches: tuple[int, bool, SamplingParams]
) -> dict[str, Any]:
    """What the board sends of a run: by default all of it was rolled under its own settings."""
    parts = [("raw", 0, len(trace.prompt.ids))]
    ways = stretches or ((len(trace.steps), False, trace.params),)
    again = {"parts": parts, "stretches": [[until, forced, settings(own)] for until, forced, own in ways]}
    shown = [[step.final_prob, step.draw.u] for step in trace.steps]
    return {**pointed, "shown": shown, "again": again}


def numbers(trace: Trace) -> Trace:
    """Without what is another each time: names, times, how many went at once."""

    def plain(step: TokenStep) -> TokenStep:
        return replace(step, queue_s=0, forward_s=0, sample_s=0, batch_lanes=1)

    end = replace(
        trace.finished, passes=0, prefill_s=0, ttft_s=None, tpot_s=None, prefill_tps=None, decode_tps=None,
        reused_tokens=0,
    )  # fmt: skip
    return replace(trace, id="0" * 32, created="", steps=tuple(map(plain, trace.steps)), finished=end)


def test_a_run_is_made_again_as_it_was(server: Server) -> None:
    page = new_page()
    pointed = ran(server, page, RAW)
    trace = trace_of(server, page, pointed)
    making, saved = asked(server, save, new_page(), told_of(pointed, trace))
    assert (making["op"], saved["op"]) == ("again", "saved")
    assert server.store is not None
    assert numbers(server.store.load(saved["id"])) == numbers(trace)


def test_forks_and_stopped_runs_are_made_again_by_their_stretches(server: Server) -> None:
    page = new_page()
    pointed = ran(server, page, RAW)
    first = trace_of(server, page, pointed)
    other = next(each.token_id for each in first.steps[5].candidates if each.token_id != pointed["ids"][5])
    forced = [*pointed["ids"][:5], other]
    tail = goes_on(server, page, pointed, kind="fork", forced=forced, known=5)
    fork = trace_of(server, page, {**pointed, "ids": [*forced[:5], *tail]})
    begun = asked_again(server, told_of({**pointed, "ids": list(fork.answer_ids)}, fork, *[
        (5, False, PARAMS), (6, True, fork.params), (len(fork.steps), False, fork.params),
    ]))  # fmt: skip
    assert begun.answer_ids == fork.answer_ids
    assert [step.draw.method for step in begun.steps] == [step.draw.method for step in fork.steps]
    assert [step.prob for step in begun.steps] == pytest.approx([step.prob for step in fork.steps], rel=1e-4)
    assert (begun.params, begun.finished.text) == (fork.params, fork.finished.text)
    assert begun.finished.reason == fork.finished.reason
    cut = replace(first, steps=first.steps[:7])
    stopped = asked_again(server, told_of({**pointed, "ids": pointed["ids"][:7]}, cut))
    assert (stopped.finished.reason, stopped.params) == ("stopped", first.params)
    assert [step.draw.u for step in stopped.steps] == [step.draw.u for step in cut.steps]


def asked_again(server: Server, request: dict[str, Any]) -> Trace:
    _, saved = asked(server, save, new_page(), request)
    assert server.store is not None
    trace = server.store.load(saved["id"])
    assert isinstance(trace, Trace)
    return trace


def test_what_comes_out_otherwise_is_not_saved(server: Server) -> None:
    page = new_page()
    pointed = ran(server, page, RAW)
    trace = trace_of(server, page, pointed)
    count = len(trace.steps)
    wrong = [
        told_of(pointed, trace, (count, False, replace(PARAMS, seed=5))),
        told_of(pointed, trace, (count, False, replace(PARAMS, temperature=0.8))),
        told_of(pointed, trace, (count, True, PARAMS)),  # the dice of the board were not rolled
        {**told_of(pointed, trace), "shown": [[0.123, 0.456]] * count},
    ]
    for request in wrong:
        (refused,) = named(asked(server, save, new_page(), request), "refused")
        assert "came out otherwise" in refused["why"]
    assert server.store is not None
    assert server.store.ids() == []


def test_another_model_makes_nothing_again(tmp_path: Path) -> None:
    first, page = serve(tmp_path), new_page()
    pointed = ran(first, page, RAW)
    request = told_of(pointed, trace_of(first, page, pointed))
    engine = other_engine()
    (refused,) = named(asked(serve(tmp_path, engine), save, new_page(), request), "refused")
    assert "another model runs now" in refused["why"]
    assert engine.opened == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stretches": []}, "stretches must be a list"),
        ({"stretches": [[1, False]]}, "a stretch must be a list"),
        ({"stretches": [[0, False, SHORT]]}, "the end of a stretch"),
        ({"stretches": [[3, False, SHORT], [3, False, SHORT]]}, "the end of a stretch"),
        ({"stretches": [[3, False, SHORT]]}, "must come to all tokens"),
        ({"stretches": [[3, "no", {}]]}, "forced must be on or off"),
        ({"stretches": [[20, False, {"temperature": "hot"}]]}, "temperature"),
        ({"stretches": [[20, False, {"max_tokens": 65}]]}, "max_tokens must be at most 64"),
        ({"parts": [["raw", 0, 1]]}, "parts of a prompt"),
        ({"watched": [-1]}, "watched must hold ids"),
    ],
)
def test_what_a_stranger_tells_of_a_run_is_checked(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    engine = FakeEngine()
    server, page = serve(tmp_path, engine, hosted=True, max_new_tokens=64), new_page()
    pointed = ran(server, page, RAW)
    request = told_of(pointed, trace_of(server, page, pointed))
    request["again"] |= change
    (refused,) = named(asked(server, save, new_page(), request), "refused")
    assert words in refused["why"]
    assert engine.opened == 1


def test_a_run_is_made_again_in_the_seats_of_its_visitor_alone(tmp_path: Path) -> None:
    engine = FakeEngine()
    server, page = serve(tmp_path, engine, hosted=True, visitor_runs=1), new_page()
    pointed = ran(server, page, RAW)
    request = told_of(pointed, trace_of(server, page, pointed))
    with server.visitors.run("1.1.1.1"):
        (refused,) = named(asked(server, save, new_page(), request), "refused")
    assert "please wait for some to end" in refused["why"]
    asked(server, save, new_page(), request)
    assert engine.owners[-1] == "a" * 32
