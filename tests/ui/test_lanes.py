"""Lanes of a comparison from the press of Run to what was found, over the fake engine and a tiny real one."""

from __future__ import annotations

import asyncio
import base64
import csv
import gzip
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from playground.engine.local import LocalEngine
from playground.findings import Comparison
from playground.trace import SamplingParams, TokenStep, Trace
from playground.ui.kept import MOST_PACKED
from playground.ui.lanes import Bench, fork, reopen, save
from tests.engines import check_trace, engine_of
from tests.fakes import tiny_llama
from tests.ui.asking import (
    Received,
    asking,
    compared,
    ids_of,
    lane,
    named,
    rows_of,
    run,
    serve,
    served,
    sweeping,
)
from tests.ui.fake_engine import FakeEngine
from tests.ui.test_run import until

SIX = [lane(f"lane {number}", temperature=number / 4) for number in range(6)]


@pytest.fixture
def real() -> Iterator[LocalEngine]:
    with engine_of(tiny_llama(), max_lanes=16) as engine:
        yield engine


def kept_traces(own: Bench) -> list[Trace]:
    assert own.kept is not None
    return own.kept.traces()


# -- a run ------------------------------------------------------------------------------------------


def test_lanes_arrive_in_order_and_then_their_numbers() -> None:
    engine, own = FakeEngine(), Bench()
    ops = run(serve(engine), asking(lanes=SIX), own)
    kinds = [op["op"] for op in ops if op["op"] != "status"]
    assert kinds[:2] == ["reset", "prompt"]
    assert kinds[-1] == "numbers"
    assert set(kinds[2:-1]) == {"tokens", "end"}
    (reset,) = named(ops, "reset")
    assert (reset["kind"], reset["lanes"], reset["names"]) == ("lanes", 6, [each["name"] for each in SIX])
    assert [each["temperature"] for each in reset["params"]] == [
        each["params"]["temperature"] for each in SIX
    ]
    assert reset["batch"] == {"dtype": "float32", "exact": False, "same_dice": True}
    assert reset["sweep"] is None
    for number in range(6):
        assert [row["i"] for row in rows_of(ops, number)] == list(range(len(rows_of(ops, number))))
    assert sorted(op["lane"] for op in named(ops, "end")) == list(range(6))
    rows = named(ops, "numbers")[0]["rows"]
    assert [row["tokens"] for row in rows] == [len(ids_of(ops, number)) for number in range(6)]
    assert [row["settings"] for row in rows] == [
        {"temperature": each["params"]["temperature"]} for each in SIX
    ]
    assert ops[-1] == {"op": "status", "state": "idle", "text": ""}
    assert (engine.opened, engine.closed) == (1, 1)  # one batch
    assert {row["n"] for row in rows_of(ops, 0)[:3]} == {6}
    assert [trace.answer_ids for trace in kept_traces(own)] == [tuple(ids_of(ops, n)) for n in range(6)]


def test_same_dice_fall_alike_until_the_lanes_part() -> None:
    ops = run(serve(FakeEngine()), asking())
    cool, warm = rows_of(ops, 0), rows_of(ops, 1)
    assert [row["d"][1] for row in cool] == [row["d"][1] for row in warm[: len(cool)]]
    own = run(serve(FakeEngine()), asking(same_dice=False))
    assert rows_of(own, 0)[0]["d"][1] != rows_of(own, 1)[0]["d"][1]


def test_b31_in_fp32_each_lane_is_that_lane_alone(real: LocalEngine) -> None:
    server = serve(real)
    for exact in (False, True):
        own = Bench()
        ops = run(server, asking(lanes=SIX, max_tokens=20, exact=exact, same_dice=False), own)
        assert ops[-1]["state"] == "idle"
        for number, trace in enumerate(kept_traces(own)):
            check_trace(trace)
            prompt = real.chat([{"role": "user", "content": "Say hi"}])
            alone = real.run(prompt, trace.params, reuse=False)
            assert alone.answer_ids == trace.answer_ids == tuple(ids_of(ops, number))
            assert (alone.text, alone.finished.reason) == (trace.text, trace.finished.reason)
        lanes = {step.batch_lanes for trace in kept_traces(own) for step in trace.steps[1:]}
        assert (lanes == {1}) == exact


def test_samples_end_with_the_tree_of_where_they_part(real: LocalEngine) -> None:
    ops = run(serve(real), asking(kind="samples", samples=16, max_tokens=6))
    (tree,) = [op["tree"] for op in named(ops, "tree")]
    assert tree["samples"] == 16
    assert tree["root"]["samples"] == list(range(16))
    answers = [tuple(ids_of(ops, number)) for number in range(16)]

    def leaves(branch: dict[str, Any], before: tuple[int, ...] = ()) -> Iterator[tuple[int, tuple[int, ...]]]:
        ids = (*before, *branch["ids"])
        yield from ((sample, ids) for sample in branch["ended"])
        for child in branch["children"]:
            yield from leaves(child, ids)

    assert dict(leaves(tree["root"])) == dict(enumerate(answers))
    assert 0 < tree["held"] <= 1


def test_a_sweep_ends_with_its_heat_map() -> None:
    ops = run(serve(FakeEngine()), asking(kind="sweep", sweep=sweeping(steps=9)))
    (reset,) = named(ops, "reset")
    assert reset["sweep"] == {"setting": "temperature", "values": [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2]}
    (figure,) = named(ops, "figure")
    assert figure["name"] == "sweep"
    assert set(figure["figure"]) == {"light", "dark"}
    assert all({"data", "layout"} <= set(each) for each in figure["figure"].values())
    assert len(named(ops, "end")) == 9


def test_a_lane_that_fails_by_itself_is_named() -> None:
    ops = run(serve(FakeEngine(ends_with="nan_logits")), asking())
    assert [op["reason"] for op in named(ops, "end")] == ["nan_logits", "nan_logits"]
    assert ops[-1] == {"op": "status", "state": "error", "text": "cool: It ended: nan_logits."}


def test_an_error_of_the_engine_ends_every_lane_and_frees_the_seats() -> None:
    server, own = serve(FakeEngine(fail_at=3)), Bench()
    ops = run(server, asking(), own)
    ends = named(ops, "end")
    assert [(op["lane"], op["reason"]) for op in ends] == [(0, "error"), (1, "error")]
    assert {op["message"] for op in ends} == {"The model ran out of memory at this step."}
    assert ops[-1]["text"] == "The model ran out of memory at this step."
    assert len(ids_of(ops, 0)) == 3  # what was made stays
    assert (server.seats.free, own.kept) == (16, None)


def test_a_prompt_that_cannot_be_read_leaves_the_board_and_the_kept_lanes() -> None:
    own = Bench()
    run(serve(FakeEngine()), asking(), own)
    kept = own.kept
    ops = run(serve(FakeEngine(), max_prompt_tokens=5), asking(), own)
    assert [op["op"] for op in ops] == ["status"]
    assert "reads at most 5" in ops[0]["text"]
    assert own.kept is kept is not None


# -- stop, and others -------------------------------------------------------------------------------


def test_stop_keeps_what_every_lane_has_and_frees_the_seats() -> None:
    async def story() -> tuple[Received, Bench]:
        gate = threading.Semaphore(5)
        server, own = serve(FakeEngine(gate=gate), lanes=2), Bench()
        reading = asyncio.ensure_future(compared(server, asking(max_tokens=50, prompt="endless"), own))
        engine: Any = await server.host.engine()
        await until(lambda: engine.steps_made == 10)
        assert server.seats.free == 0
        own.halt()
        own.halt()  # twice does no harm
        ops = await reading
        assert server.seats.free == 2
        assert engine.closed == 1
        return ops, own

    ops, own = asyncio.run(story())
    assert [(op["lane"], op["reason"]) for op in named(ops, "end")] == [(0, "stopped"), (1, "stopped")]
    assert [row["tokens"] for row in named(ops, "numbers")[0]["rows"]] == [5, 5]
    assert [len(trace.steps) for trace in kept_traces(own)] == [5, 5]
    assert {trace.finished.reason for trace in kept_traces(own)} == {"stopped"}
    assert ops[-1] == {"op": "status", "state": "idle", "text": "Stopped."}


def test_stop_of_real_lanes_gives_whole_traces(real: LocalEngine) -> None:
    async def story() -> Bench:
        own = Bench()
        asked = asking(lanes=[lane("a", ignore_eos=True), lane("b", ignore_eos=True)], max_tokens=150)
        reading = asyncio.ensure_future(compared(serve(real), asked, own))
        await until(lambda: own.stopper is not None and real.status()["running"] == 2)
        own.halt()
        await reading
        await until(lambda: real.status()["running"] == 0)
        return own

    for trace in kept_traces(asyncio.run(story())):
        assert Trace.from_json(trace.to_json()) == trace  # whatever was held back is in its text
        assert trace.finished.reason == "stopped"
        assert trace.steps


def test_stop_in_the_queue_means_it_never_runs() -> None:
    async def story() -> None:
        server, own = serve(FakeEngine(), lanes=3), Bench()
        async with server.seats.seat(count=2):
            waiting = asyncio.ensure_future(compared(server, asking(), own))
            await until(lambda: server.seats.waiting == 1)
            own.halt()
            ops = await waiting
        assert "needs 2 of 3 lanes and too many are busy: you are number 1" in ops[0]["text"]
        assert ops[-1] == {"op": "status", "state": "idle", "text": "Stopped."}
        assert (server.seats.free, server.seats.waiting) == (3, 0)
        engine: Any = await server.host.engine()
        assert engine.opened == 0

    asyncio.run(story())


def test_b52_a_closed_page_frees_the_seats_of_all_lanes() -> None:
    async def story() -> None:
        gate = threading.Semaphore(3)
        engine = FakeEngine(gate=gate)
        server, own = serve(engine, lanes=6), Bench()
        task = asyncio.ensure_future(compared(server, asking(lanes=SIX), own))
        await until(lambda: engine.steps_made == 18)
        task.cancel()  # what a closed tab comes to
        await until(lambda: server.seats.free == 6)
        await until(lambda: not [t for t in threading.enumerate() if t.name == "read a run"])
        assert engine.closed == 1

    asyncio.run(story())


def test_a_newer_run_takes_the_place_of_what_goes_and_of_what_waits() -> None:
    async def story() -> list[Received | None]:
        server, own = serve(FakeEngine(step_s=0.02)), Bench()

        async def turn(prompt: str) -> Received | None:
            async with own.turn(instead=True) as wanted:
                if not wanted:
                    return None
                return await served(own, lambda outbox: _compare(server, outbox, own, asking(prompt=prompt)))

        first = asyncio.ensure_future(turn("one"))
        await until(lambda: own.stopper is not None)
        second, third = (asyncio.ensure_future(turn(prompt)) for prompt in ("two", "three"))
        return list(await asyncio.gather(first, second, third))

    first, second, third = asyncio.run(story())
    assert first is not None
    assert not named(first, "numbers")
    assert second is None  # its place was taken before it began
    assert third is not None
    assert third[-1] == {"op": "status", "state": "idle", "text": ""}


async def _compare(server: Any, outbox: Any, own: Bench, asked: Any) -> None:
    from playground.ui.lanes import compare

    await compare(server, outbox, own, asked)


def test_comparisons_of_many_visitors_do_not_mix() -> None:
    async def story() -> None:
        server = serve(FakeEngine(step_s=0.001), lanes=4)
        prompts = ["alpha", "omega", "delta"]
        asked = [asking(prompt=prompt, mode="raw", seed=str(seed)) for seed, prompt in enumerate(prompts)]
        benches = [Bench() for _ in prompts]
        got = await asyncio.gather(*(compared(server, *pair) for pair in zip(asked, benches, strict=True)))
        for prompt, ops, own in zip(prompts, got, benches, strict=True):
            (told,) = named(ops, "prompt")
            assert b"".join(bytes.fromhex(token[1]) for token in told["tokens"]).decode() == prompt
            assert {trace.prompt.text for trace in kept_traces(own)} == {prompt}
        assert server.seats.free == 4

    asyncio.run(story())


# -- forks ------------------------------------------------------------------------------------------


def forking(ops: Received, source: int, index: int, token_id: int, **changes: Any) -> dict[str, Any]:
    """What the board sends for a click on a candidate."""
    (reset,), (prompt,) = named(ops, "reset"), named(ops, "prompt")
    return {
        "model": reset["model"], "prompt_ids": [row[0] for row in prompt["tokens"]], "name": "cool, token 3",
        "forced": [*ids_of(ops, source)[:index], token_id], "known": index, "from": source,
        "params": reset["params"][source], **changes,
    }  # fmt: skip


def forked(server: Any, own: Bench, asked: Any) -> Received:
    return asyncio.run(served(own, lambda outbox: fork(server, outbox, own, asked)))


def test_a_fork_is_one_lane_more_and_the_others_stay(real: LocalEngine) -> None:
    server, own = serve(real), Bench()
    ops = run(server, asking(max_tokens=12), own)
    before = kept_traces(own)
    other = next(row[0] for row in rows_of(ops, 0)[3]["r"] if row[0] != ids_of(ops, 0)[3])
    told = forked(server, own, forking(ops, 0, 3, other))
    assert [op["op"] for op in told if op["op"] not in ("status", "tokens")] == ["lane", "end", "numbers"]
    (new,) = named(told, "lane")
    assert (new["lane"], new["known"], new["from"], new["name"]) == (2, 3, 0, "cool, token 3")
    rows = rows_of(told, 2)
    assert [row["i"] for row in rows] == list(range(3, 3 + len(rows)))
    assert (rows[0]["k"], rows[0]["d"][0]) == (other, "f")
    *same, fresh = kept_traces(own)
    assert same == before
    check_trace(fresh)
    assert fresh.answer_ids == (*ids_of(ops, 0)[:3], *(row["k"] for row in rows))
    assert fresh.answer_ids == real.fork(before[0], step=3, token_id=other).answer_ids
    assert [row["name"] for row in named(told, "numbers")[0]["rows"]] == ["cool", "warm", "cool, token 3"]
    assert named(told, "end")[0]["lane"] == 2


def test_forks_that_do_not_fit_are_refused_and_nothing_is_lost() -> None:
    server, own = serve(FakeEngine()), Bench()
    ops = run(server, asking(), own)
    kept = own.kept
    good = forking(ops, 0, 2, 9)

    def refused(asked: Any) -> str:
        told = forked(server, own, asked)
        assert [(op["op"], op["state"]) for op in told] == [("status", "error")]
        return str(told[0]["text"])

    assert "another comparison than this page" in refused({**good, "prompt_ids": [5, 6]})
    assert "another comparison than this page" in refused({**good, "from": 5})
    assert "another comparison than this page" in refused({**good, "forced": [9, 9, 9]})
    assert "a fork must be an object" in refused(None)
    assert own.kept is kept
    run(server, asking(kind="samples", samples=2), own)
    assert "Another comparison was run since" in refused(good)
    own.kept = None
    assert "no longer has this comparison" in refused(good)


def test_forks_come_to_an_end() -> None:
    server, own = serve(FakeEngine()), Bench()
    ops = run(server, asking(lanes=SIX, max_tokens=3), own)
    for _ in range(6):
        assert forked(server, own, forking(ops, 0, 1, 9))[-1]["state"] == "idle"
    assert "at most 12 lanes" in forked(server, own, forking(ops, 0, 1, 9))[-1]["text"]


def test_a_fork_in_the_middle_of_a_run_stops_it_softly_first() -> None:
    async def story() -> Received:
        engine = FakeEngine(step_s=0.02)
        server, own = serve(engine), Bench()
        running = asyncio.ensure_future(compared(server, asking(prompt="endless", max_tokens=500), own))
        await until(lambda: engine.steps_made >= 6)
        async with own.turn(after=True) as wanted:
            assert wanted
            ops = await running
            assert [op["reason"] for op in named(ops, "end")] == ["stopped", "stopped"]
            asked = forking(ops, 1, 2, 9, params={"temperature": 1, "seed": 3, "max_tokens": 5})
            return await served(own, lambda outbox: fork(server, outbox, own, asked))

    told = asyncio.run(story())
    assert [row["name"] for row in named(told, "numbers")[0]["rows"]] == ["cool", "warm", "cool, token 3"]


# -- files ------------------------------------------------------------------------------------------


def file_of(own: Bench, asked: Any) -> dict[str, Any]:
    ops = asyncio.run(served(own, lambda outbox: save(serve(FakeEngine()), outbox, own, asked)))
    return ops[-1]


def text_of(file: dict[str, Any]) -> str:
    return gzip.decompress(base64.b64decode(file["data"])).decode()


def reopened(server: Any, own: Bench, data: Any) -> Received:
    return asyncio.run(served(own, lambda outbox: reopen(server, outbox, own, {"data": data})))


def bare(op: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in op.items() if name not in ("texts", "names")}


@pytest.mark.parametrize(
    "asked",
    [
        asking(prompt="Say hi 👩🏽", system="Be brief."),
        asking(kind="samples", samples=3, mode="raw", prompt="Hi"),
        asking(kind="sweep", sweep=sweeping(steps=3)),
        asking(same_dice=False, exact=True, max_tokens=40, lanes=[lane("x", stop=[" is"]), lane("y")]),
    ],
)
def test_a_saved_comparison_opens_to_the_same_operations(asked: dict[str, Any]) -> None:
    server, own = serve(FakeEngine()), Bench()
    ops = run(server, asked, own)
    file = file_of(own, {"format": "json"})
    assert (file["name"], file["mime"]) == ("comparison.json", "application/json")
    other = Bench()
    shown = reopened(server, other, file["data"])
    assert shown[-1] == {"op": "status", "state": "idle", "text": ""}
    (was,), (now,) = named(ops, "reset"), named(shown, "reset")
    added = {"recorded", "reference", "said", "live", "why"}
    assert {name: value for name, value in now.items() if name not in added} == was
    assert (now["live"], now["why"], now["reference"]) == (True, "", 0)
    assert now["recorded"]["model"] == "Fake-12M"
    assert now["said"] == {name: asked[name] for name in ("mode", "system", "prompt")}
    for name in ("prompt", "end", "numbers", "tree", "figure"):
        assert sorted(map(str, named(shown, name))) == sorted(map(str, named(ops, name)))
    for number in range(was["lanes"]):
        assert [row["k"] for row in rows_of(shown, number)] == ids_of(ops, number)
    assert other.kept is not None
    assert other.kept.traces() == kept_traces(own)
    assert text_of(file_of(other, {"format": "csv"})) == text_of(file_of(own, {"format": "csv"}))


def test_half_a_character_in_the_prompt_is_saved_too(real: LocalEngine) -> None:
    own = Bench()
    assert run(serve(real), asking(prompt="Hi \ud83d", mode="raw", max_tokens=3), own)[-1]["state"] == "idle"
    comparison = Comparison.from_json(text_of(file_of(own, {"format": "json"})))
    assert comparison.traces == tuple(kept_traces(own))


def test_an_opened_comparison_goes_on_where_its_model_runs() -> None:
    server, own = serve(FakeEngine()), Bench()
    ops = run(server, asking(), own)
    data = file_of(own, {"format": "json"})["data"]
    other = Bench()
    reopened(server, other, data)
    assert forked(server, other, forking(ops, 0, 2, 9))[-1]["state"] == "idle"


def test_another_models_comparison_opens_to_look_at_only() -> None:
    own = Bench()
    ops = run(serve(FakeEngine()), asking(), own)
    data = file_of(own, {"format": "json"})["data"]
    engine = FakeEngine(name="Other-7B")
    engine.info = engine.info.__class__(**{**_fields(engine.info), "sha256": "f" * 64})
    server, other = serve(engine), Bench()
    (reset,) = named(reopened(server, other, data), "reset")
    assert reset["live"] is False
    assert "Fake-12M made it, and Other-7B runs now" in reset["why"]
    assert "another model" in forked(server, other, forking(ops, 0, 2, 9))[-1]["text"]


def _fields(info: Any) -> dict[str, Any]:
    return {name: getattr(info, name) for name in info.__dataclass_fields__}


def test_a_file_has_the_lanes_that_are_left_and_their_new_names() -> None:
    own = Bench()
    ops = run(serve(FakeEngine()), asking(lanes=SIX), own)
    wanted = {"format": "json", "lanes": [4, 1], "names": ["hot", "=cool"], "reference": 1}
    comparison = Comparison.from_json(text_of(file_of(own, wanted)))
    assert (comparison.names, comparison.reference) == (("hot", "=cool"), 1)
    assert [trace.answer_ids for trace in comparison.traces] == [tuple(ids_of(ops, n)) for n in (4, 1)]
    table = list(csv.DictReader(io.StringIO(text_of(file_of(own, {**wanted, "format": "csv"})))))
    assert [row["name"] for row in table] == ["hot", "'=cool"]
    assert [row["temperature"] for row in table] == ["1.0", "0.25"]
    rows = json.loads(text_of(file_of(own, {**wanted, "format": "numbers"})))
    assert [row["tokens"] for row in rows] == [int(row["tokens"]) for row in table]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (None, "a file must be an object"),
        ({}, "format must be one of json, csv, numbers"),
        ({"format": "exe"}, "format must be one of"),
        ({"format": "json", "lanes": []}, "lanes must be a list of 1 to 2"),
        ({"format": "json", "lanes": [0, 0]}, "there twice"),
        ({"format": "json", "lanes": [2]}, "a lane must be a whole number from 0 to 1"),
        ({"format": "json", "lanes": ["0"]}, "a lane must be a whole number"),
        ({"format": "json", "names": ["one"]}, "names must be a list of 2 to 2"),
        ({"format": "json", "names": ["one", "\ud800"]}, "made of whole characters"),
        ({"format": "json", "lanes": [0], "reference": 1}, "the reference must be one of the lanes"),
    ],
)
def test_wrong_saves_are_refused_by_name(asked: Any, words: str) -> None:
    own = Bench()
    run(serve(FakeEngine()), asking(max_tokens=2), own)
    told = file_of(own, asked)
    assert (told["op"], told["state"]) == ("status", "error")
    assert words in told["text"]


def test_there_is_nothing_to_save_before_a_run() -> None:
    assert "nothing to save" in file_of(Bench(), {"format": "json"})["text"]


def packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode())).decode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "a file must be sent as text"),
        (["x"], "a file must be sent as text"),
        ("x" * (2 * MOST_PACKED), "This file is too large"),
        ("no base64!", "no text that was packed"),
        ("\ud800", "no text that was packed"),
        (base64.b64encode(b"plain").decode(), "it is broken"),
        (packed("{}")[:-8], "it is"),
        (packed("[]"), "this is not a comparison"),
        (packed('{"version": 1'), "this is not a comparison"),
        (packed('{"version": 1}'), "has no field"),
        (packed('{"version": 99}'), "version 99"),
        (packed("[" * 100_000), "nested too deeply"),
        (base64.b64encode(gzip.compress(b" " * 70_000_000)).decode(), "unpacks to more than"),
        (base64.b64encode(gzip.compress(b"\xff\xfe")).decode(), ""),
    ],
)
def test_b40_what_is_no_comparison_is_refused_in_a_sentence(data: Any, words: str) -> None:
    server, own = serve(FakeEngine()), Bench()
    run(server, asking(max_tokens=2), own)
    kept = own.kept
    ops = reopened(server, own, data)
    assert not named(ops, "reset")  # the board keeps what it had
    assert ops[-1]["state"] == "error"
    assert words in ops[-1]["text"]
    assert "\n" not in ops[-1]["text"]
    assert own.kept is kept


def test_what_is_kept_is_a_fraction_of_its_text(real: LocalEngine) -> None:
    own = Bench()
    run(serve(real), asking(lanes=SIX, max_tokens=60), own)
    assert own.kept is not None
    text = sum(len(trace.to_json()) for trace in own.kept.traces())
    assert sum(map(len, own.kept.packed)) < text / 3


def test_a_step_of_each_kind_is_a_step() -> None:  # the fake engine's numbers stand in files too
    engine = FakeEngine()
    events = list(engine.stream(engine.raw("Say"), [SamplingParams(seed=1, max_tokens=3)] * 2))
    assert [event.lane for event in events if isinstance(event, TokenStep)] == [0, 1, 0, 1, 0, 1]
