from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.codec import from_plain, to_plain
from playground.params import SamplingParams

GOOD: dict[str, list[Any]] = {
    "temperature": [0, 1e-40, 1e-4, 1, 1e6],
    "top_k": [0, 1, 50, 50.0],
    "top_p": [1e-9, 0.95, 1],
    "min_p": [0, 0.05, 1],
    "typical_p": [1e-9, 0.9, 1],
    "repetition_penalty": [1e-3, 1, 2.5],
    "presence_penalty": [-2, 0, 2],
    "frequency_penalty": [-2, 0, 2],
    "seed": [None, 0, 2**32, 2**64 - 1],
    "max_tokens": [1, 8192],
    "min_tokens": [0, 256],
}
BAD: dict[str, list[Any]] = {
    "temperature": [-1, math.inf, math.nan, "", "1", None, True, 1e7],
    "top_k": [-5, 2.5, math.nan, math.inf, "3", None, True],
    "top_p": [0, 1.4, -0.1, math.nan, None, "0.9"],
    "min_p": [-0.1, 1.1, math.nan, None],
    "typical_p": [0, 1.1, math.nan, None],
    "repetition_penalty": [0, -1, math.inf, math.nan],
    "presence_penalty": [math.inf, math.nan, "x"],
    "frequency_penalty": [math.inf, math.nan, "x"],
    "seed": [-1, 2**64, 1.5, "7", True],
    "max_tokens": [0, -1, 1.5, None],
    "min_tokens": [-1, 257, None],
    "stop": [[""], [3], 3, None, {"a": 1}],
    "banned": [[-1], ["a"], "12", 3, None, [1.5]],
    "ignore_eos": [0, 1, None, "yes"],
}


def pairs(table: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(name, value) for name, values in table.items() for value in values]


def test_every_filter_and_penalty_is_off_by_default() -> None:
    assert SamplingParams() == SamplingParams(
        temperature=1, top_k=0, top_p=1, min_p=0, typical_p=1, repetition_penalty=1, presence_penalty=0,
        frequency_penalty=0, logit_bias={}, banned=(), seed=None, max_tokens=256, min_tokens=0, stop=(),
        ignore_eos=False,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "value"), pairs(GOOD))
def test_good_values(name: str, value: Any) -> None:
    assert getattr(SamplingParams(**{name: value}), name) == value


@pytest.mark.parametrize(("name", "value"), pairs(BAD))
def test_b22_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} (must|of)") as caught:
        SamplingParams(**{name: value})
    assert "\n" not in str(caught.value)


def test_the_message_names_value_and_range() -> None:
    with pytest.raises(ValueError, match=r"^top_p must be in \(0, 1\], got 1\.4$"):
        SamplingParams(top_p=1.4)
    with pytest.raises(ValueError, match=r"^min_tokens must be at most max_tokens, 4, got 5$"):
        SamplingParams(max_tokens=4, min_tokens=5)


@pytest.mark.parametrize(
    ("bias", "named"),
    [
        ({"-1": 5}, "-1"), ({-1: 5}, "-1"), ({"AI": -100}, "AI"), ({"2": "x"}, "2"), ({2: math.nan}, "2"),
        ({2: math.inf}, "2"), ({2: 1e31}, "2"), ({"٣": 1}, "٣"), ({2.0: 1}, "2.0"), ([1], "1"),
        (None, "None"),
    ],
)  # fmt: skip
def test_b27_a_bad_bias_is_refused_and_the_entry_named(bias: Any, named: str) -> None:
    with pytest.raises(ValueError, match=rf"^logit_bias .*{named}"):
        SamplingParams(logit_bias=bias)


def test_b27_ids_beyond_the_vocabulary_are_refused_before_the_run() -> None:
    SamplingParams(logit_bias={49151: 5}, banned=(0,)).check_vocabulary(49152)
    with pytest.raises(
        ValueError, match=r"^logit_bias names token 49152, but the ids of this model are 0 to 49151$"
    ):
        SamplingParams(logit_bias={"49152": 5}).check_vocabulary(49152)  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"^banned names token 9"):
        SamplingParams(banned=(9,)).check_vocabulary(9)


def test_b27_bias_values_that_mean_something() -> None:
    params = SamplingParams(logit_bias={"5": 1e30, 6: -math.inf, 7: None})  # type: ignore[dict-item]
    assert params.logit_bias == {5: 1e30, 6: -math.inf, 7: -math.inf}


def test_from_dict_refuses_unknown_settings_by_name() -> None:
    assert SamplingParams.from_dict({"top_k": 3}) == SamplingParams(top_k=3)
    with pytest.raises(ValueError, match="there is no setting 'topk'"):
        SamplingParams.from_dict({"topk": 3})
    for values in ([], None, "x", 3):
        with pytest.raises(ValueError, match="settings must be an object"):
            SamplingParams.from_dict(values)


@given(
    st.builds(
        SamplingParams,
        temperature=st.floats(0, 1e6),
        top_k=st.integers(0, 10**7),
        top_p=st.floats(0, 1, exclude_min=True),
        min_p=st.floats(0, 1),
        logit_bias=st.dictionaries(
            st.integers(0, 10**6), st.floats(-1e30, 1e30) | st.just(-math.inf), max_size=3
        ),
        banned=st.lists(st.integers(0, 10**7), max_size=3).map(tuple),
        seed=st.none() | st.integers(0, 2**64 - 1),
        stop=st.lists(st.text(st.characters(exclude_categories=()), min_size=1), max_size=3).map(tuple),
    )
)
def test_json_round_trip(params: SamplingParams) -> None:
    text = json.dumps(to_plain(params), allow_nan=False)
    assert from_plain(SamplingParams, json.loads(text)) == params
    assert SamplingParams.from_dict(json.loads(text)) == params


def test_reading_json_checks_the_ranges_too() -> None:
    plain = to_plain(SamplingParams())
    with pytest.raises(ValueError, match=r"top_p must be in \(0, 1\], got 2"):
        from_plain(SamplingParams, plain | {"top_p": 2.0})
