"""Where two lanes part and how far they are apart: what a stranger may ask, and that the answer is true."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from playground.sampling import dice
from playground.ui.partings import divergence_teller, parting_teller
from playground.ui.run import Server
from tests.engines import engine_of
from tests.fakes import tiny_llama
from tests.ui.asking import asking, ids_of, lane, named, run, serve
from tests.ui.fake_engine import FakeEngine
from tests.ui.test_look import served

NAN = float("nan")


def ask(teller: Callable[[Server], Any], server: Server, asked: Any) -> dict[str, Any]:
    asyncio.run(server.host.engine())
    return json.loads(asyncio.run(teller(server)(asked)))


def question(ops: list[dict[str, Any]], reference: int = 0, other: int = 1) -> dict[str, Any]:
    """What the board asks about two lanes of a run."""
    (reset,), (prompt,) = named(ops, "reset"), named(ops, "prompt")
    lanes = [{"ids": ids_of(ops, n), "params": reset["params"][n]} for n in range(reset["lanes"])]
    prompt_ids = [row[0] for row in prompt["tokens"]]
    return {
        "model": reset["model"], "prompt_ids": prompt_ids, "lanes": lanes, "reference": reference,
        "lane": other,
    }  # fmt: skip


def parted(ops: list[dict[str, Any]], first: int = 0, second: int = 1) -> int:
    pairs = zip(ids_of(ops, first), ids_of(ops, second), strict=False)
    return next(index for index, (one, other) in enumerate(pairs) if one != other)


def finals(logits: np.ndarray, temperature: float) -> np.ndarray:
    shares = np.exp((logits - logits.max()) / temperature)
    return shares / shares.sum()


def test_the_parting_is_where_a_plain_computation_puts_it_and_says_what_it_says() -> None:
    """Against the bare model: no cache, no stages, softmax and cumulative sum by hand."""
    model = tiny_llama()
    with engine_of(model, max_lanes=4) as engine:
        server = serve(engine)
        lanes = [lane("a", temperature=0.5), lane("b", temperature=1.5)]
        ops = run(server, asking(lanes=lanes, max_tokens=30, seed="5"))
        told = ask(parting_teller, server, question(ops))
        asked = question(ops)
        prompt_ids = asked["prompt_ids"]
        index, ids = 0, list(prompt_ids)
        while True:
            with torch.no_grad():
                logits = model(torch.tensor([ids])).logits[0, -1].double().numpy()
            picks = []
            for temperature in (0.5, 1.5):
                shares = finals(logits, temperature)
                order = np.lexsort((np.arange(len(shares)), -shares))
                place = int(np.searchsorted(np.cumsum(shares[order]), dice(5, index), side="right"))
                picks.append(int(order[place]))
            if picks[0] != picks[1]:
                break
            ids.append(picks[0])
            index += 1
        assert told["index"] == index == parted(ops)
        assert told["cause"] == "settings"
        assert "the temperature made the difference, not the luck" in told["sentence"]
        for name, token_id in (("reference_token", picks[0]), ("lane_token", picks[1])):
            rival = told[name]
            assert rival["token_id"] == token_id
            assert math.isclose(rival["prob"], finals(logits, 1)[token_id], rel_tol=1e-4)
            assert math.isclose(rival["reference_final"], finals(logits, 0.5)[token_id], rel_tol=1e-4)
            assert math.isclose(rival["lane_final"], finals(logits, 1.5)[token_id], rel_tol=1e-4)


def test_other_dice_are_named_as_the_cause() -> None:
    ops = run(
        serve(FakeEngine()), asking(kind="samples", samples=4, max_tokens=20, lanes=[lane(temperature=2)])
    )
    told = ask(parting_teller, served(FakeEngine()), question(ops, 0, 3))
    assert told["index"] == parted(ops, 0, 3)
    assert told["cause"] == "dice"
    assert told["reference"] == 0
    assert told["lane"] == 3


def test_a_given_token_is_no_pick() -> None:
    ops = run(serve(FakeEngine()), asking())
    asked = question(ops)
    same = asked["lanes"][0]
    fork = {**same, "ids": [*same["ids"][:2], 99], "forced": 3}
    told = ask(parting_teller, served(FakeEngine()), {**asked, "lanes": [same, fork]})
    assert (told["index"], told["cause"], told["lane_token"]["token_id"]) == (2, "given", 99)
    fork = {**same, "ids": [*same["ids"][:2], 99]}
    told = ask(parting_teller, served(FakeEngine()), {**asked, "lanes": [same, fork]})
    assert told["cause"] == "rounding"  # settings and dice would not pick it


def test_lanes_that_do_not_part_say_so() -> None:
    ops = run(serve(FakeEngine()), asking(lanes=[lane("a"), lane("b")]))
    told = ask(parting_teller, served(FakeEngine()), question(ops))
    assert (told["index"], told["reference_token"], told["lane_token"]) == (None, None, None)
    assert told["sentence"].startswith("Both lanes have the same")


def test_divergences_stand_at_every_shared_index_with_their_figure() -> None:
    engine = FakeEngine()
    ops = run(serve(engine), asking())
    asked = question(ops)
    told = ask(divergence_teller, served(engine), asked)
    shared = min(len(each["ids"]) for each in asked["lanes"])
    assert [row["index"] for row in told["rows"]] == list(range(shared))
    parts = parted(ops)
    assert all(row["raw"] < 1e-12 for row in told["rows"][: parts + 1])  # one prefix, one model
    assert all(row["final"] > 0 for row in told["rows"][: parts + 1])
    assert any(row["raw"] > 0.01 for row in told["rows"][parts + 1 :])
    assert set(told["figure"]) == {"light", "dark"}
    assert told["figure"]["light"]["data"]
    itself = ask(divergence_teller, served(engine), {**asked, "lane": 0})
    assert all(row["raw"] == row["final"] == row["lost"] == 0 for row in itself["rows"])


PAIR = [{"ids": [7, 8], "params": {"seed": 1}}, {"ids": [7, 9], "params": {"seed": str(2**64 - 1)}}]
GOOD = {
    "model": "0" * 16, "prompt_ids": [5, 6], "reference": 0, "lane": 1, "lanes": PAIR,
}  # fmt: skip


def second(**changes: Any) -> dict[str, Any]:
    return {**GOOD, "lanes": [PAIR[0], {**PAIR[1], **changes}]}


@pytest.mark.parametrize("teller", [parting_teller, divergence_teller])
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (None, "must be an object"),
        ([[]], "must be an object"),
        ({**GOOD, "model": "f" * 16}, "another model"),
        ({**GOOD, "model": ["0"]}, "another model"),
        ({**GOOD, "prompt_ids": []}, "prompt_ids must be a list of 1 to 8192"),
        ({**GOOD, "prompt_ids": [5] * 8193}, "got 8193 of them"),
        ({**GOOD, "prompt_ids": [-1]}, "prompt_ids must hold ids"),
        ({**GOOD, "lanes": []}, "lanes must be a list of 2 to 12"),
        ({**GOOD, "lanes": [1, 2]}, "a lane must be an object"),
        ({**GOOD, "lane": 2}, "the lane must be a whole number from 0 to 1"),
        ({**GOOD, "reference": True}, "the reference must be a whole number"),
        (second(ids=[10**9]), "ids of a lane must hold ids"),
        (second(ids=[7] * 1025), "ids of a lane must be a list of 0 to 1024"),
        (second(ids="x" * 10_000_000), "ids of a lane must be a list"),
        (second(params=None), "settings must be an object"),
        (second(params={"temperature": NAN, "seed": 1}), "temperature must be in"),
        (second(params={"max_tokens": 5000, "seed": 1}), "max_tokens must be at most 1024"),
        (second(params={}), "has a seed"),
        (second(forced=-1), "forced must be"),
        (second(forced=NAN), "forced must be"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(teller: Any, asked: Any, words: str) -> None:
    told = ask(teller, served(FakeEngine()), asked)
    assert set(told) == {"error"}
    assert words in told["error"]
    assert "\n" not in told["error"]
    assert len(told["error"]) <= 500


@pytest.mark.parametrize("teller", [parting_teller, divergence_teller])
def test_good_questions_of_many_wait_for_no_run_but_not_without_end(teller: Any) -> None:
    async def many() -> list[str]:
        server = serve(FakeEngine(), lanes=1)
        await server.host.engine()
        tell = teller(server)
        async with server.seats.seat():  # the only one
            return await asyncio.gather(*(tell(GOOD) for _ in range(20)))

    answers = [json.loads(answer) for answer in asyncio.run(many())]
    refused = [answer["error"] for answer in answers if "error" in answer]
    assert len(refused) == 4  # more than wait at once
    assert all("try again" in error for error in refused)
