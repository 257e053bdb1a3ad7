"""What the Compare tab may ask for, and what a stranger may not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.params import LARGEST_SEED
from playground.ui.compare import read_fork, read_plan, seeds_of
from tests.ui.asking import asking, lane, named, run, serve, sweeping
from tests.ui.fake_engine import HOSTILE, FakeEngine

SERVER = serve(FakeEngine())
NAN, HUGE = float("nan"), 10**400


def test_lanes_keep_their_settings_and_their_names() -> None:
    plan = read_plan(asking(), SERVER)
    assert (plan.kind, plan.names, plan.sweep, plan.exact) == ("lanes", ("cool", "warm"), None, False)
    assert [each.temperature for each in plan.params] == [0.2, 1.5]
    assert {each.max_tokens for each in plan.params} == {12}
    assert plan.said == [{"role": "user", "content": "Say hi"}]
    assert read_plan(asking(mode="raw"), SERVER).said == "Say hi"
    told = read_plan(asking(system="Be brief.", thinking=False), SERVER)
    assert told.said[0] == {"role": "system", "content": "Be brief."}
    assert told.thinking is False


def test_same_dice_are_one_seed_and_own_dice_are_not() -> None:
    def seeds(**changes: Any) -> list[int | None]:
        return [each.seed for each in read_plan(asking(**changes), SERVER).params]

    assert seeds(seed="7") == [7, 7]
    first, second = seeds(seed="")
    assert first == second is not None
    assert seeds(seed="")[0] != first  # drawn anew
    assert seeds(seed="7", same_dice=False) == [7, 8]
    own = [lane("a", seed="8"), lane("b"), lane("c", seed=str(LARGEST_SEED))]
    assert seeds(seed="7", same_dice=False, lanes=own) == [8, 7, LARGEST_SEED]
    assert seeds(seed="7", same_dice=True, lanes=own) == [7, 7, 7]
    drawn = seeds(seed="", same_dice=False, lanes=[lane() for _ in range(6)])
    assert len(set(drawn)) == 6


@given(
    st.none() | st.integers(0, LARGEST_SEED), st.lists(st.none() | st.integers(0, 3), min_size=1, max_size=16)
)
def test_lanes_that_roll_their_own_dice_never_share_a_drawn_seed(
    seed: int | None, own: list[int | None]
) -> None:
    seeds = seeds_of(seed, own, same_dice=False)
    drawn = [made for made, asked in zip(seeds, own, strict=True) if asked is None]
    assert [made for made, asked in zip(seeds, own, strict=True) if asked is not None] == [
        asked for asked in own if asked is not None
    ]
    assert len(set(drawn)) == len(drawn)
    assert not set(drawn) & {asked for asked in own if asked is not None}
    assert all(0 <= each <= LARGEST_SEED for each in seeds)


def test_samples_are_one_setting_with_other_seeds() -> None:
    plan = read_plan(asking(kind="samples", samples=16, seed=str(LARGEST_SEED)), SERVER)
    assert len({each.seed for each in plan.params}) == 16
    assert {each.temperature for each in plan.params} == {0.2}
    assert not plan.same_dice
    assert [each.seed for each in plan.params[:2]] == [LARGEST_SEED, 0]
    assert plan.names[0] == "sample 1"


def test_a_sweep_goes_from_one_value_to_the_other_in_even_steps() -> None:
    plan = read_plan(asking(kind="sweep", sweep=sweeping(steps=9)), SERVER)
    assert plan.values == [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2]
    assert plan.names[1] == "temperature 0.25"
    assert (plan.sweep, {each.max_tokens for each in plan.params}) == ("temperature", {8})
    down = read_plan(asking(kind="sweep", sweep=sweeping("top_p", 1, 0.5, 3)), SERVER)
    assert down.values == [1, 0.75, 0.5]
    whole = read_plan(asking(kind="sweep", sweep=sweeping("top_k", 1, 3, 9)), SERVER)
    assert whole.values == [1, 2, 3]  # each once
    assert all(type(value) is int for value in whole.values)


def changed(**params: Any) -> dict[str, Any]:
    return asking(lanes=[lane(), lane(**params)])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (None, "a comparison must be an object"),
        ([1], "a comparison must be an object"),
        ("x" * 10_000_000, "a comparison must be an object"),
        ({}, "kind must be one of lanes, samples, sweep"),
        (asking(kind=["lanes"]), "kind must be one of"),
        (asking(mode="poem"), "mode must be one of chat, raw"),
        (asking(prompt=""), "type a prompt"),
        (asking(prompt=7), "The prompt must be a text"),
        (asking(prompt="x" * 2_000_001), "The prompt has 2,000,001 characters"),
        (asking(system=["x"]), "The system message must be a text"),
        (asking(lanes=None), "lanes must be a list of 2 to 6"),
        (asking(lanes=[]), "lanes must be a list of 2 to 6, got 0 of them"),
        (asking(lanes=[lane()]), "lanes must be a list of 2 to 6, got 1 of them"),
        (asking(lanes=[lane() for _ in range(7)]), "lanes must be a list of 2 to 6, got 7 of them"),
        (asking(lanes=["x", "y"]), "a lane must be an object"),
        (asking(lanes=[lane(name="a" * 10_000_000), lane()]), "a lane's name has 10,000,000 characters"),
        (asking(lanes=[lane(name="  "), lane()]), "give every lane a name"),
        (asking(lanes=[lane(name="a\ud800"), lane()]), "made of whole characters"),
        (asking(lanes=[lane(name=5), lane()]), "a lane's name must be a text"),  # type: ignore[arg-type]
        (asking(lanes=[{"name": "a", "params": None}, lane()]), "settings must be an object"),
        (changed(temperature=NAN), "temperature must be in"),
        (changed(temperature=HUGE), "temperature must be in"),
        (changed(temperature="hot"), "temperature must be in"),
        (changed(top_k=-1), "top_k must be"),
        (changed(temprature=1), "there is no setting 'temprature'"),
        (changed(seed="-1"), "seed must be"),
        (changed(seed="١٢"), "seed must be"),
        (changed(seed="9" * 20), "seed must be"),
        (changed(stop=["x" * 20_000]), "stop is too long"),
        (changed(banned=list(range(10_001))), "banned is too long"),
        (changed(min_tokens=50), "min_tokens must be at most max_tokens"),
        (asking(seed=NAN), "seed must be"),
        (asking(seed={}), "seed must be"),
        (asking(seed="<b>"), "seed must be"),
        (asking(max_tokens=None), "max_tokens must be a whole number"),
        (asking(max_tokens=0), "max_tokens must be a whole number from 1 to 1,024"),
        (asking(max_tokens=1025), "max_tokens must be a whole number from 1 to 1,024"),
        (asking(max_tokens=12.5), "max_tokens must be a whole number"),
        (asking(same_dice="yes"), "same dice must be on or off"),
        (asking(exact=1), "exact must be on or off"),
        (asking(thinking="much"), "thinking must be on or off"),
        (asking(kind="samples", samples=1), "samples must be a whole number from 2 to 16"),
        (asking(kind="samples", samples=17), "samples must be a whole number from 2 to 16"),
        (asking(kind="samples"), "samples must be a whole number"),
        (asking(kind="sweep"), "a sweep must be an object"),
        (asking(kind="sweep", sweep=sweeping("seed")), "the swept setting must be one of"),
        (asking(kind="sweep", sweep=sweeping(low=NAN)), "from of the sweep must be a number"),
        (asking(kind="sweep", sweep=sweeping(high=HUGE)), "to of the sweep must be a number"),
        (asking(kind="sweep", sweep=sweeping(low=-1)), "temperature must be in"),
        (asking(kind="sweep", sweep=sweeping(steps=26)), "steps of the sweep must be a whole number"),
        (asking(kind="sweep", sweep=sweeping(low=1, high=1)), "A sweep needs two values at least"),
        (asking(kind="sweep", sweep=sweeping("top_k", 3, 3.2)), "A sweep needs two values at least"),
        (asking(kind="sweep", sweep={**sweeping(), "tokens": 5000}), "tokens of the sweep must be"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(asked: Any, words: str) -> None:
    ops = run(SERVER, asked)
    assert [(op["op"], op["state"]) for op in ops] == [("status", "error")]
    assert words in ops[0]["text"]
    assert "\n" not in ops[0]["text"]
    assert len(ops[0]["text"]) <= 500


def test_more_lanes_than_the_server_has_are_refused() -> None:
    ops = run(serve(FakeEngine(), lanes=4), asking(kind="samples", samples=5))
    assert "needs 5 lanes at once and this server runs at most 4" in ops[-1]["text"]


@pytest.mark.parametrize("hostile", [*HOSTILE, "\x00", "👩🏽", "\u202e"])
def test_b38_names_and_prompts_may_be_any_text(hostile: str) -> None:
    ops = run(SERVER, asking(prompt=hostile, mode="raw", lanes=[lane(hostile), lane("other")], max_tokens=1))
    assert [op["names"] for op in named(ops, "reset")] == [[hostile, "other"]]
    assert ops[-1]["state"] == "idle"


FORK = {
    "model": "0" * 16, "prompt_ids": [5, 6], "forced": [7, 8], "known": 1, "from": 0, "name": "fork",
    "params": {"temperature": 0.8, "max_tokens": 12},
}  # fmt: skip


def test_a_fork_keeps_its_ids_and_gets_a_seed_and_room() -> None:
    info = FakeEngine().info
    made = read_fork(FORK, info, SERVER)
    assert (made.prompt_ids, made.forced, made.known, made.source) == ((5, 6), (7, 8), 1, 0)
    assert made.params.seed is not None
    full = read_fork({**FORK, "forced": [7] * 12, "known": 11}, info, SERVER)
    assert full.params.max_tokens > 12


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "f" * 16}, "another model"),
        ({"model": None}, "another model"),
        ({"prompt_ids": []}, "prompt_ids must be a list of 1 to"),
        ({"prompt_ids": [10**9]}, "prompt_ids must hold ids"),
        ({"forced": []}, "forced must be a list"),
        ({"forced": [True]}, "forced must hold ids"),
        ({"forced": [7] * 2000}, "forced must be a list of 1 to 1024 token ids, got 2000 of them"),
        ({"forced": [7] * 1024}, "this server writes at most"),
        ({"known": 3}, "known must be a whole number from 0 to 2"),
        ({"known": True}, "known must be"),
        ({"from": 99}, "from must be a whole number"),
        ({"name": "x" * 81}, "a lane's name has 81 characters"),
        ({"params": {"max_tokens": 5000}}, "max_tokens must be at most 1024"),
        ({"params": {"temperature": NAN}}, "temperature must be in"),
    ],
)
def test_wrong_forks_are_refused_by_name(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_fork({**FORK, **changes}, FakeEngine().info, SERVER)


def test_a_request_is_checked_before_anything_runs() -> None:
    engine = FakeEngine()
    run(serve(engine), asking(lanes=[]))
    assert engine.opened == 0
