"""Runs of one conversation under two templates: what a stranger may ask, and what the board is told."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest

from playground.engine.local import LocalEngine
from playground.trace import SamplingParams
from playground.ui.lanes import Bench
from playground.ui.prompt_run import MOST_LISTED, run_both
from playground.ui.run import Server
from playground.ui.visitors import Visitor, Visitors
from tests.engines import engine_of
from tests.fakes import tiny_llama
from tests.ui.asking import Received, ids_of, named, rows_of, serve, served
from tests.ui.fake_engine import FakeEngine
from tests.ui.javascript import evaluate, needs_node
from tests.ui.test_records import close

FRANCE = [{"role": "user", "content": "What is the capital of France?"}]
OWN, LLAMA = {"template": "own"}, {"template": "llama3"}
PARAMS = SamplingParams(temperature=0.8, seed=7, max_tokens=8)
BY = Visitor("", "10.0.0.1")


def asking(**changes: Any) -> dict[str, Any]:
    request = {
        "messages": FRANCE, "first": OWN, "second": LLAMA, "params": {"temperature": 0.8, "seed": "7"},
        "max_tokens": 8,
    }  # fmt: skip
    return request | changes


async def ran(server: Server, asked: Any, own: Bench | None = None, by: Visitor = BY) -> Received:
    own = own or Bench()
    async with own.turn(instead=True):
        return await served(own, lambda outbox: run_both(server, outbox, own, asked, by))


def run(server: Server, asked: Any) -> Received:
    return asyncio.run(ran(server, asked))


def prompts(ops: Received) -> Received:
    return sorted(named(ops, "prompt"), key=lambda op: op["side"])


def test_both_prompts_are_those_of_their_templates() -> None:
    engine = FakeEngine()
    ops = run(serve(engine), asking())
    for op, template in zip(prompts(ops), (None, "llama3"), strict=True):
        true = engine.chat(FRANCE, template=template)
        assert [row[0] for row in op["tokens"]] == list(true.ids)
        assert op["template"] == true.template
        assert all(len(row) == 6 for row in op["tokens"][1:])  # with the model's surprise at each
    assert ops[0]["op"] == "status"
    assert [op["op"] for op in ops if op["op"] != "status"][:2] == ["reset", "aligned"]
    assert named(ops, "reset")[0]["lanes"] == 2


def test_tokens_are_aligned_by_ids() -> None:
    ops = run(serve(FakeEngine()), asking())
    [op] = named(ops, "aligned")
    first, second = ([row[0] for row in each["tokens"]] for each in prompts(ops))
    assert op["whole"]
    assert [i for i, _ in op["rows"] if i is not None] == list(range(len(first)))
    assert [j for _, j in op["rows"] if j is not None] == list(range(len(second)))
    both = [(i, j) for i, j in op["rows"] if i is not None and j is not None]
    assert all(first[i] == second[j] for i, j in both)
    said = FakeEngine().vocabulary.encode(FRANCE[0]["content"])
    shared = [first[i] for i, _ in both]
    assert any(shared[at : at + len(said)] == said for at in range(len(shared)))


def test_answers_stream_side_by_side_and_end() -> None:
    engine = FakeEngine()
    ops = run(serve(engine), asking(max_tokens=5))
    ends = {op["lane"]: op for op in named(ops, "end")}
    assert {lane: op["reason"] for lane, op in ends.items()} == {0: "max_tokens", 1: "max_tokens"}
    assert len(ids_of(ops, 0)) == len(ids_of(ops, 1)) == 5
    assert ops[-1] == {"op": "status", "state": "idle", "text": ""}
    assert [params.seed for _, params in engine.seen] == [7, 7]  # the same dice


def test_a_seed_is_drawn_once_for_both_sides() -> None:
    engine = FakeEngine()
    run(serve(engine), asking(params={"temperature": 1}))
    seeds = {params.seed for _, params in engine.seen}
    assert len(seeds) == 1
    assert None not in seeds


@needs_node
def test_first_tokens_are_told_for_both_sides() -> None:
    with engine_of(tiny_llama(positions=512), context=512) as engine:
        ops = run(serve(engine), asking())
        told = {op["side"]: op for op in named(ops, "side")}
        for side, template in ((0, None), (1, "llama3")):
            true = engine.redistribute_ids(engine.chat(FRANCE, template=template).ids, (), 0, PARAMS)
            op = told[side]
            assert op["watched"]
            assert close(op["end_prob"], true.end_prob)
            shown = evaluate(
                "readStep(answer.steps[0], { texts: answer.texts, names: answer.names || [] })",
                answer=op["first"],
            )
            probs = {row["id"]: row["prob"] for row in shown["candidates"]}
            for candidate in true.candidates:
                assert close(probs[candidate.token_id], candidate.prob)
            other = sorted(told[1 - side]["first"]["steps"][0]["r"], key=lambda row: -row[1])
            assert {row[0] for row in other[:MOST_LISTED]} <= set(probs)
            assert ids_of(ops, side)[0] == shown["id"]


def test_an_engine_that_cannot_look_lists_what_it_has() -> None:
    class Blind(FakeEngine):
        def redistribute_ids(self, *asked: Any, **more: Any) -> Any:
            raise ValueError("no logits are kept")

    told = named(run(serve(Blind()), asking()), "side")
    assert [op["watched"] for op in told] == [False, False]
    assert all(op["first"]["steps"][0]["r"] for op in told)


def test_the_same_template_twice_gives_the_same_twice() -> None:
    ops = run(serve(FakeEngine()), asking(second=OWN))
    assert all(i == j for i, j in named(ops, "aligned")[0]["rows"])
    assert ids_of(ops, 0) == ids_of(ops, 1)
    assert [row["r"] for row in rows_of(ops, 0)] == [row["r"] for row in rows_of(ops, 1)]


def test_raw_text_and_an_edited_template() -> None:
    edited = {"template": "edited", "jinja": "Q: {{ messages[0].content }}\nA:"}
    ops = run(serve(FakeEngine()), asking(first={"template": "none"}, second=edited))
    texts = [b"".join(bytes.fromhex(row[1]) for row in op["tokens"]).decode() for op in prompts(ops)]
    assert texts == [FRANCE[0]["content"], f"Q: {FRANCE[0]['content']}\nA:"]


def test_stop_ends_both_with_all_that_they_have() -> None:
    engine = FakeEngine(gate=threading.Semaphore(4))
    own = Bench()

    async def stopped() -> Received:
        server = serve(engine)
        task = asyncio.ensure_future(ran(server, asking(max_tokens=100), own))
        while engine.steps_made < 4:
            await asyncio.sleep(0.01)
        own.halt()
        ops = await asyncio.wait_for(task, 10)
        assert server.seats.taken == 0
        return ops

    ops = asyncio.run(stopped())
    assert {op["lane"]: op["reason"] for op in named(ops, "end")} == {0: "stopped", 1: "stopped"}
    assert len(ids_of(ops, 0)) + len(ids_of(ops, 1)) == 4
    assert ops[-1] == {"op": "status", "state": "idle", "text": "Stopped."}
    assert engine.closed == 2


def test_with_one_seat_one_side_follows_the_other() -> None:
    engine = FakeEngine()
    ops = run(serve(engine, 1), asking(max_tokens=3))
    lanes = [op["lane"] for op in ops if op["op"] in ("tokens", "end")]
    assert lanes == sorted(lanes)
    assert len(named(ops, "side")) == 2
    assert {op["lane"]: op["reason"] for op in named(ops, "end")} == {0: "max_tokens", 1: "max_tokens"}


def test_stopped_before_its_turn_the_second_side_has_an_end_too() -> None:
    engine = FakeEngine(gate=threading.Semaphore(2))
    own = Bench()

    async def stopped() -> Received:
        task = asyncio.ensure_future(ran(serve(engine, 1), asking(max_tokens=100), own))
        while engine.steps_made < 2:
            await asyncio.sleep(0.01)
        own.halt()
        return await asyncio.wait_for(task, 10)

    ops = asyncio.run(stopped())
    assert {op["lane"]: op["reason"] for op in named(ops, "end")} == {0: "stopped", 1: "stopped"}
    assert engine.opened == 1


def test_whoever_waits_is_told_their_place() -> None:
    async def waited() -> Received:
        server = serve(FakeEngine(), 2)
        await server.host.engine()
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(server.seats.seat())
            task = asyncio.ensure_future(ran(server, asking()))
            while not server.seats.waiting:
                await asyncio.sleep(0.01)
        return await task

    told = [op["text"] for op in named(asyncio.run(waited()), "status")]
    assert any("number 1" in text for text in told)
    assert told[-1] == ""


def test_a_stranger_has_no_more_lanes_than_they_may() -> None:
    server = serve(FakeEngine())
    limited = Server(server.host, server.seats, server.settings, Visitors(most_runs=1))
    ops = run(limited, asking())
    assert [op["op"] for op in ops] == ["status"]
    assert "lets each visitor have 1 runs at once" in ops[0]["text"]
    assert limited.seats.taken == 0


def test_an_engine_that_fails_leaves_no_side_without_an_end() -> None:
    ops = run(serve(FakeEngine(fail_at=2)), asking())
    assert {op["lane"]: op["reason"] for op in named(ops, "end")} == {0: "error", 1: "error"}
    assert ops[-1]["state"] == "error"
    assert "ran out of memory" in ops[-1]["text"]


def test_a_prompt_that_leaves_no_room_changes_nothing_on_the_board() -> None:
    with engine_of(tiny_llama(), context=64) as engine:
        ops = run(serve(engine), asking())
    assert {op["op"] for op in ops} == {"status"}
    assert ops[-1]["state"] == "error"
    assert "shorten the prompt" in ops[-1]["text"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"messages": []}, "messages must be a list"),
        ({"first": None}, "a template must be an object"),
        ({"second": {"template": "x"}}, "template must be one of"),
        ({"second": {"template": "edited", "jinja": ""}}, "The edited template is empty"),
        (
            {"second": {"template": "edited", "jinja": "{{ ''.__class__.__mro__[1] }}"}},
            "a template may not do",
        ),
        (
            {"second": {"template": "edited", "jinja": "{{ 'x' * 3000000 }}"}},
            "more than 2,000,000 characters",
        ),
        ({"second": {"template": "edited", "jinja": "{{ 'word ' * 20000 }}"}}, "this server reads at most"),
        ({"params": None}, "settings must be an object"),
        ({"params": {"temperature": -1}}, "temperature must be in"),
        ({"params": {"seed": "x"}}, "seed must be a whole number"),
        ({"max_tokens": 5000}, "max_tokens must be a whole number from 1 to 1,024"),
        ({"max_tokens": None}, "max_tokens must be a whole number"),
        ({"thinking": 1}, "thinking must be on or off"),
    ],
)
def test_what_is_wrong_is_said_and_the_board_stays(changes: Any, words: str) -> None:
    server = serve(FakeEngine())
    ops = run(server, asking(**changes))
    assert [op["op"] for op in ops] == ["status"]
    assert ops[0]["state"] == "error"
    assert words in ops[0]["text"]
    assert server.seats.taken == 0


@pytest.mark.parametrize("asked", [None, 7, [], "x"])
def test_a_run_is_an_object(asked: Any) -> None:
    [op] = run(serve(FakeEngine()), asked)
    assert "a run must be an object" in op["text"]


@pytest.mark.model
def test_the_wrong_template_on_the_bundled_model(bundled: Any) -> None:
    engine = LocalEngine(bundled, max_lanes=4, kv_mb=256, logits_pool_mb=16)
    try:
        ops = run(serve(engine), asking(params={"temperature": 0}, max_tokens=8))
    finally:
        engine.close()
    assert (
        bytes.fromhex("".join(row["b"] for row in rows_of(ops, 0)[:7])).decode()
        == "The capital of France is Paris."
    )
    ends = {op["lane"]: op["reason"] for op in named(ops, "end")}
    assert ends == {0: "end_token", 1: "max_tokens"}
    probs = [op["end_prob"] for op in sorted(named(ops, "side"), key=lambda op: op["side"])]
    assert probs[1] > 1000 * probs[0]  # a model that is lost may end at once
