"""Looks at a step: what a stranger may ask, and that the answer is the engine's own step."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from playground.settings import Settings
from playground.trace import SamplingParams
from playground.ui.host import Host
from playground.ui.look import MOST_CHARACTERS, find, looker
from playground.ui.run import Server
from playground.ui.seats import Seats
from tests.ui.fake_engine import HOSTILE, FakeEngine
from tests.ui.javascript import evaluate, needs_node
from tests.ui.test_records import close

PARAMS = {"temperature": 0.9, "top_k": 40, "seed": 5}


def served(engine: Any, **settings: Any) -> Server:
    server = Server(Host(lambda progress: engine), Seats(2), Settings(**settings))
    asyncio.run(server.host.engine())
    return server


def look(server: Server, asked: Any) -> dict[str, Any]:
    return json.loads(asyncio.run(looker(server)(asked)))


def asking(**changes: Any) -> dict[str, Any]:
    return {"prompt_ids": [5, 6], "answer_ids": [7, 8], "params": PARAMS, **changes}


@needs_node
@pytest.mark.parametrize("changes", [{}, {"temperature": 0}, {"top_p": 0.5, "min_p": 0.1}, {"top_k": 2}])
def test_a_look_is_the_engines_step_under_those_settings(changes: dict[str, Any]) -> None:
    engine = FakeEngine()
    params = {**PARAMS, **changes}
    answer = look(served(engine), asking(params=params))
    true = engine.redistribute_ids([5, 6], [7, 8], 2, SamplingParams.from_dict(params))
    shown = evaluate(
        "readStep(answer.steps[0], { texts: answer.texts, names: answer.names || [] })", answer=answer
    )
    assert (shown["index"], shown["id"], shown["draw"]["method"]) == (2, true.token_id, true.draw.method)
    finals = {row["id"]: row["finalProb"] for row in shown["candidates"]}
    for candidate in true.candidates:
        assert close(finals[candidate.token_id], candidate.final_prob)
    assert [stage["kept"] for stage in shown["stages"]] == [s.kept for s in true.stages if s.active]


def test_another_roll_gives_the_token_of_that_roll() -> None:
    server = served(FakeEngine())
    for u in (0.0, 0.31, 0.999999):
        record = look(server, asking(u=u))["steps"][0]
        method, rolled, low, high = record["d"]
        assert (method, rolled) == ("s", u)
        assert low <= u < high


def test_a_forced_token_stays_forced() -> None:
    record = look(served(FakeEngine()), asking(given=42))["steps"][0]
    assert (record["k"], record["d"][0]) == (42, "f")


def test_a_token_of_the_prompt_is_looked_at_as_the_first_of_an_answer() -> None:
    engine = FakeEngine()
    every = engine.chat([{"role": "user", "content": "The capital of France"}]).ids
    place = 9
    asked = {"prompt_ids": list(every[:place]), "answer_ids": [], "params": {"seed": 0, "max_tokens": 1}}
    record = look(served(engine), {**asked, "given": every[place]})["steps"][0]
    assert (record["i"], record["p"], record["k"], record["d"][0]) == (0, place, every[place], "f")
    assert record["s"] == []  # no setting applied
    true = engine.redistribute_ids(every[:place], (), 0, SamplingParams(seed=0), token_id=every[place])
    assert close(record["h"][0], true.entropy)
    assert close(record["h"][1], true.entropy)


def test_a_seed_that_javascript_cannot_hold_goes_as_digits() -> None:
    server = served(FakeEngine())
    seed = 2**64 - 1
    by_text = look(server, asking(params={**PARAMS, "seed": str(seed)}))
    by_number = look(server, asking(params={**PARAMS, "seed": seed}))
    assert by_text == by_number
    assert by_text != look(server, asking(params={**PARAMS, "seed": 1}))


def test_a_token_is_found_by_text_and_by_id() -> None:
    engine = FakeEngine()
    paris = engine.vocabulary.ids[b" Paris"]
    answer = look(served(engine), asking(find="Paris"))
    assert {"id": paris, "how": "space", "more": 0} in answer["found"]
    listed = [row[0] for row in answer["steps"][0]["r"]]
    assert all(each["id"] in listed for each in answer["found"])
    for text in (str(paris), f"#{paris}", f" {paris} "):
        assert find(engine.vocabulary, text)[0] == {"id": paris, "how": "id", "more": 0}
    digits = find(engine.vocabulary, "42")  # an id, and a text of two characters
    assert [(each["how"], each["more"]) for each in digits[:2]] == [("id", 0), ("text", 1)]
    assert find(engine.vocabulary, " Paris") == [{"id": paris, "how": "text", "more": 0}]
    assert all(each["how"] != "id" for each in find(engine.vocabulary, "999999999"))


@pytest.mark.parametrize("text", [*HOSTILE, "\x00", "👩🏽", "\u202e"])
def test_b38_any_text_may_be_looked_for(text: str) -> None:
    assert look(served(FakeEngine()), asking(find=text))["found"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (None, "a look must be an object"),
        ([1], "a look must be an object"),
        ({}, "prompt_ids must be a list of 1 to 8192"),
        (asking(prompt_ids=[]), "prompt_ids must be a list of 1 to 8192 token ids, got 0 of them"),
        (asking(prompt_ids=[5] * 8193), "got 8193 of them"),
        (asking(answer_ids=[5] * 1025), "answer_ids must be a list of 0 to 1024"),
        (asking(answer_ids=None), "answer_ids must be a list"),
        (asking(prompt_ids=[True]), "prompt_ids must hold ids from 0 to"),
        (asking(prompt_ids=[10**9]), "prompt_ids must hold ids from 0 to"),
        (asking(answer_ids=[-1]), "answer_ids must hold ids from 0 to"),
        (asking(answer_ids=["7"]), "answer_ids must hold ids from 0 to"),
        (asking(given=10**9), "given must hold ids"),
        (asking(given="<b>"), "given must hold ids"),
        (asking(u=1), "u must be a number in [0, 1), got 1"),
        (asking(u="0.5"), "u must be a number"),
        (asking(u=float("nan")), "u must be a number"),
        (asking(find=7), "a text to find must have at most"),
        (asking(find="x" * (MOST_CHARACTERS + 1)), "a text to find must have at most"),
        (asking(find="\ud800"), "a text to find must be made of whole characters"),
        (asking(params=None), "settings must be an object"),
        (asking(params={"temperature": -1}), "temperature must be in"),
        (asking(params={"temprature": 1}), "there is no setting 'temprature'"),
        (asking(params={"seed": "١٢"}), "seed must be a whole number"),
        (asking(params={"seed": "9" * 20}), "seed must be a whole number"),
        (asking(model="another"), "Not available here: this run was made by another model than the one"),
        (asking(model=["x"]), "Not available here: this run was made by another model than the one"),
        (asking(params={"max_tokens": 5000}), "max_tokens must be at most 1024 on this server"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(asked: Any, words: str) -> None:
    answer = look(served(FakeEngine()), asked)
    assert set(answer) == {"error"}
    assert words in answer["error"]
    assert "\n" not in answer["error"]
    assert len(answer["error"]) <= 500


def test_there_is_no_look_before_the_model_is_there() -> None:
    class Never(Host):
        ready = None

    server = Server(Never(lambda progress: FakeEngine()), Seats(1), Settings())
    assert look(server, asking()) == {"error": "Not available yet: the model is still loading."}


def test_looks_of_many_wait_for_no_run() -> None:
    async def many() -> list[str]:
        server = Server(Host(lambda progress: FakeEngine()), Seats(1), Settings())
        await server.host.engine()
        ask = looker(server)
        async with server.seats.seat():  # the only one
            return await asyncio.gather(*(ask(asking(u=place / 100)) for place in range(70)))

    answers = [json.loads(answer) for answer in asyncio.run(many())]
    refused = [answer for answer in answers if "error" in answer]
    assert len(refused) == 6  # more than wait at once
    assert all("try again" in answer["error"] for answer in refused)
