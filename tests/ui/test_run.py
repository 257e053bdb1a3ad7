"""A press of Generate: what reaches the board, and what ends a run."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from playground.settings import Settings
from playground.trace import SamplingParams
from playground.ui.form import Form, read_form
from playground.ui.host import Host
from playground.ui.run import Server, generate
from playground.ui.seats import Seats
from playground.ui.stream import INTERVAL, Outbox, Session, messages
from tests.ui.fake_engine import HOSTILE, FakeEngine

FORM = Form([{"role": "user", "content": "What is the capital of France?"}], SamplingParams(seed=4))
NUMBERS: dict[str, float | None] = {"temperature": 0.8, "max_tokens": 20}


def serve(engine: FakeEngine, lanes: int = 2, **settings: Any) -> Server:
    return Server(Host(lambda progress: engine), Seats(lanes), Settings(**settings))


def work(server: Server, form: Form = FORM) -> Callable[[Outbox], Awaitable[None]]:
    return lambda outbox: generate(server, outbox, lambda: form)


def ops_of(received: list[str]) -> list[dict[str, Any]]:
    return [op for text in received for op in json.loads(text)["ops"]]


def named(received: list[str], name: str) -> list[dict[str, Any]]:
    return [op for op in ops_of(received) if op["op"] == name]


async def collect(server: Server, session: Session | None = None, form: Form = FORM) -> list[str]:
    return [text async for text in messages(session or Session(), work(server, form))]


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to be")


def steps_in(received: list[str]) -> int:
    return sum(len(op["steps"]) for op in named(received, "tokens"))


def test_a_run_arrives_whole_and_in_order() -> None:
    engine = FakeEngine()
    received = asyncio.run(collect(serve(engine)))
    kinds = [op["op"] for op in ops_of(received) if op["op"] != "status"]
    assert kinds[:3] == ["turn", "reset", "prompt"]
    assert kinds[-1] == "end"
    assert set(kinds[3:-1]) == {"tokens"}
    indices = [row["i"] for op in named(received, "tokens") for row in op["steps"]]
    assert indices == list(range(engine.steps_made))
    assert ops_of(received)[-1] == {"op": "status", "state": "idle", "text": ""}
    assert engine.closed == engine.opened == 1


def test_messages_are_numbered_so_that_late_and_repeated_ones_can_be_dropped() -> None:
    async def story() -> tuple[list[str], list[str]]:
        session = Session()
        server = serve(FakeEngine())
        return await collect(server, session), await collect(server, session)

    first, second = asyncio.run(story())
    assert [json.loads(text)["n"] for text in first] == list(range(1, len(first) + 1))
    runs = [{json.loads(text)["run"] for text in received} for received in (first, second)]
    assert len(runs[0]) == len(runs[1]) == 1
    assert max(runs[0]) < min(runs[1])


def test_b43_steps_that_come_together_leave_together() -> None:
    """However fast the engine, the number of updates follows from the time, not from the tokens."""
    engine = FakeEngine()
    form = Form(FORM.said, SamplingParams(seed=4, max_tokens=200, stop=(), ignore_eos=True))
    began = time.monotonic()
    received = asyncio.run(collect(serve(engine), form=form))
    most = (time.monotonic() - began) / INTERVAL + 2
    assert steps_in(received) == engine.steps_made
    assert len(received) <= most


def test_b43_twice_the_tokens_take_about_twice_the_bytes() -> None:
    def size(tokens: int) -> int:
        form = Form("x", SamplingParams(seed=4, max_tokens=tokens, ignore_eos=True))
        received = asyncio.run(collect(serve(FakeEngine()), form=form))
        assert steps_in(received) == tokens
        return sum(map(len, received))

    assert size(200) < 2.5 * size(100)


def test_a_run_that_fails_by_itself_says_so() -> None:
    received = asyncio.run(collect(serve(FakeEngine(ends_with="nan_logits"))))
    assert [op["reason"] for op in named(received, "end")] == ["nan_logits"]
    assert ops_of(received)[-1] == {"op": "status", "state": "error", "text": "It ended: nan_logits."}


def test_stop_keeps_what_was_made_and_marks_it() -> None:
    async def story() -> tuple[FakeEngine, list[str]]:
        gate = threading.Semaphore(5)
        engine = FakeEngine(gate=gate)
        session = Session()
        reading = asyncio.ensure_future(collect(serve(engine), session))
        await until(lambda: engine.steps_made == 5)
        await asyncio.sleep(0)
        session.stop()
        session.stop()  # twice does no harm
        received = await reading
        gate.release(100)  # let the reading thread see that it is over
        await until(lambda: engine.closed == 1)
        return engine, received

    engine, received = asyncio.run(story())
    end = named(received, "end")
    assert [op["reason"] for op in end] == ["stopped"]
    assert 0 < steps_in(received) <= 5  # the last ones may have been on their way
    assert engine.steps_made <= 6
    assert ops_of(received)[-1]["text"] == "Stopped."


def test_stop_when_idle_does_nothing() -> None:
    session = Session()
    session.stop()
    session.stop()
    assert steps_in(asyncio.run(collect(serve(FakeEngine()), session))) > 0


def test_b52_a_closed_page_ends_the_run_within_a_step() -> None:
    async def story() -> None:
        gate = threading.Semaphore(5)
        engine, seats = FakeEngine(gate=gate), Seats(1)
        server = Server(Host(lambda progress: engine), seats, Settings())
        stream = messages(Session(), work(server))
        async for text in stream:
            if steps_in([text]):
                break
        await stream.aclose()  # what a closed tab comes to
        await until(lambda: engine.closed == 1)
        gate.release(100)
        await until(lambda: seats.free == 1)
        assert engine.steps_made <= 6
        await until(lambda: not [t for t in threading.enumerate() if t.name == "read a run"])

    asyncio.run(story())


def test_a_newer_run_ends_the_older_one_of_the_same_page() -> None:
    async def story() -> None:
        engine = FakeEngine(step_s=0.01)
        server, session = serve(engine), Session()
        older = asyncio.ensure_future(collect(server, session))
        await until(lambda: engine.steps_made >= 3)
        newer = await collect(server, session)
        stale = await older
        assert [op["reason"] for op in named(stale, "end")] == ["stopped"]
        assert [op["reason"] for op in named(newer, "end")] == ["end_token"]
        assert json.loads(stale[-1])["run"] < json.loads(newer[0])["run"]

    asyncio.run(story())


def test_b53_a_cancelled_waiting_run_never_runs() -> None:
    async def story() -> None:
        gate = threading.Semaphore(2)
        engine = FakeEngine(gate=gate)
        server = serve(engine, lanes=1)
        hers, his = Session(), Session()
        running = asyncio.ensure_future(collect(server, hers))
        await until(lambda: engine.steps_made == 2)
        for _ in range(5):
            waiting = asyncio.ensure_future(collect(server, his))
            await until(lambda: server.seats.waiting == 1)
            his.stop()
            told = await waiting
            assert server.seats.waiting == 0
            assert "you are number 1" in named(told, "status")[0]["text"]
            assert not named(told, "reset")
        hers.stop()
        assert [op["reason"] for op in named(await running, "end")] == ["stopped"]
        assert server.seats.free == 1
        assert engine.opened == 1

    asyncio.run(story())


def test_b42_two_visitors_see_only_their_own() -> None:
    async def story() -> None:
        engine = FakeEngine(step_s=0.001)
        server = serve(engine)
        texts = ["alpha", "omega"]
        forms = [Form(text, SamplingParams(seed=index, max_tokens=8)) for index, text in enumerate(texts)]
        sessions = [Session(), Session()]
        for _ in range(5):
            received = await asyncio.gather(
                *(collect(server, session, form) for session, form in zip(sessions, forms, strict=True))
            )
            for text, own in zip(texts, received, strict=True):
                (prompt,) = named(own, "prompt")
                assert b"".join(bytes.fromhex(token[1]) for token in prompt["tokens"]).decode() == text
                assert len(named(own, "reset")) == 1

    asyncio.run(story())


def test_an_error_is_one_sentence_and_what_was_made_stays() -> None:
    received = asyncio.run(collect(serve(FakeEngine(fail_at=3))))
    assert ops_of(received)[-1] == {
        "op": "status", "state": "error", "text": "The model ran out of memory at this step.",
    }  # fmt: skip
    assert steps_in(received) == 3


def test_a_prompt_that_cannot_be_read_leaves_the_screen_as_it_was() -> None:
    received = asyncio.run(collect(serve(FakeEngine(), max_prompt_tokens=5)))
    assert [op["op"] for op in ops_of(received)] == ["status"]
    assert "reads at most 5" in ops_of(received)[0]["text"]


def test_a_failed_load_is_said_at_the_press_of_generate() -> None:
    def broken(progress: Any) -> Any:
        raise RuntimeError("There is no model org/nothing.")

    server = Server(Host(broken), Seats(1), Settings())
    received = asyncio.run(collect(server))
    assert named(received, "status")[-1] == {
        "op": "status", "state": "error", "text": "There is no model org/nothing.",
    }  # fmt: skip


def test_generate_waits_for_the_model_and_says_so() -> None:
    loaded = threading.Event()

    def load(progress: Callable[[str, float], None]) -> FakeEngine:
        progress("Fetching", 0.25)
        loaded.wait()
        return FakeEngine()

    async def story() -> list[str]:
        server = Server(Host(load), Seats(1), Settings())
        received = []
        async for text in messages(Session(), work(server)):
            received.append(text)
            loaded.set()
        return received

    received = asyncio.run(story())
    first = ops_of(received)[0]
    assert (first["op"], first["state"]) == ("status", "loading")
    assert "25%" in first["text"]
    assert named(received, "end")


def texts(**changes: str | None) -> dict[str, str | None]:
    return {"system": "", "prompt": "Hi", "seed": "", "stops": "", **changes}


def test_the_form_becomes_messages_and_settings() -> None:
    form = read_form("chat", texts(system="Be brief.", seed=" 7 ", stops="\n, F\n\\n"), NUMBERS)
    assert form.said == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert (form.params.seed, form.params.stop) == (7, (", F", "\\n"))
    assert (form.params.temperature, form.params.max_tokens) == (0.8, 20)
    assert read_form("raw", texts(system="ignored"), NUMBERS).said == "Hi"
    assert read_form("chat", texts(seed=None), NUMBERS).params.seed is None


@pytest.mark.parametrize(
    ("changes", "numbers", "words"),
    [
        ({"prompt": ""}, {}, "type a prompt"),
        ({"prompt": None}, {}, "type a prompt"),
        ({"prompt": "x" * 2_000_001}, {}, "2,000,001 characters"),
        ({"seed": "-1"}, {}, "seed must be"),
        ({"seed": "1.5"}, {}, "seed must be"),
        ({"seed": "99999999999999999999"}, {}, "seed must be"),
        ({}, {"temperature": 1e9}, "temperature must be"),
        ({}, {"temperature": None}, "set temperature"),
        ({}, {"top_k": -5}, "top_k must be"),
    ],
)
def test_wrong_forms_are_refused_by_name(
    changes: dict[str, Any], numbers: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        read_form("chat", texts(**changes), {**NUMBERS, **numbers})


@pytest.mark.parametrize("hostile", HOSTILE)
def test_b38_hostile_text_travels_letter_for_letter(hostile: str) -> None:
    form = Form(hostile, SamplingParams(seed=0, max_tokens=1))
    received = asyncio.run(collect(serve(FakeEngine()), form=form))
    (prompt,) = named(received, "prompt")
    assert b"".join(bytes.fromhex(token[1]) for token in prompt["tokens"]).decode() == hostile
