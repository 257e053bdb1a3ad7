"""The settings link: the same on both sides of it, in Python and in JavaScript, and short."""

from __future__ import annotations

import base64
import json
import math
import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from playground.links import (
    LARGEST_LINK,
    LONGEST_LINK,
    Lane,
    LinkError,
    LinkTooLong,
    Message,
    Range,
    Setup,
)
from playground.packing import RAW, inflate
from playground.params import SamplingParams
from tests.ui.javascript import needs_node, run_node


def as_javascript_has_it(text: str) -> str:
    """Two halves of a character side by side are that character, to JSON as to JavaScript."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def texts(most: int = 12, least: int = 0) -> st.SearchStrategy[str]:
    signs = st.characters(exclude_categories=())  # lone surrogates and NUL included
    return st.text(signs, min_size=least, max_size=most).map(as_javascript_has_it)


lists = st.lists(texts(), max_size=3).map(tuple)
seeds = st.none() | st.integers(0, 2**64 - 1) | st.sampled_from([2**53 - 1, 2**53, 2**53 + 1])
params = st.builds(
    SamplingParams,
    temperature=st.floats(0, 1e6),
    top_k=st.integers(0, 10**7),
    top_p=st.floats(0, 1, exclude_min=True),
    min_p=st.floats(0, 1),
    typical_p=st.floats(0, 1, exclude_min=True),
    repetition_penalty=st.floats(0, 1000, exclude_min=True),
    presence_penalty=st.floats(-1000, 1000),
    frequency_penalty=st.floats(-1000, 1000),
    logit_bias=st.dictionaries(
        st.integers(0, 10**6), st.floats(-1e30, 1e30) | st.just(-math.inf), max_size=3
    ),
    banned=st.lists(st.integers(0, 10**7), max_size=3).map(tuple),
    seed=seeds,
    max_tokens=st.integers(500, 10**7),
    min_tokens=st.integers(0, 500),
    stop=st.lists(texts(least=1), max_size=3).map(tuple),
    ignore_eos=st.booleans(),
)
lanes = st.lists(st.builds(Lane, name=texts(), params=params), min_size=1, max_size=6).map(tuple)
ranges = st.builds(
    Range,
    setting=texts(), low=st.floats(-1e9, 1e9), high=st.floats(-1e9, 1e9), steps=st.integers(1, 99),
    tokens=st.integers(1, 99),
)  # fmt: skip
setups = st.builds(
    Setup,
    kind=st.sampled_from(["run", "lanes", "samples", "sweep"]),
    mode=st.sampled_from(["chat", "raw"]),
    system=texts(),
    messages=st.lists(
        st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=texts()), max_size=3
    ).map(tuple),
    prompt=texts(60),
    thinking=st.sampled_from([None, True, False]),
    model=st.sampled_from(["", "org/name", "SmolLM2-135M-Instruct", "Qwen/Qwen3-0.6B"]),
    seed=seeds,
    watched=lists,
    banned=lists,
    biases=lists,
    lanes=lanes,
    same_dice=st.booleans(),
    exact=st.booleans(),
    samples=st.integers(1, 16),
    sweep=st.none() | ranges,
)
many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(setups)
@example(Setup(prompt="\ud83d half, whole 👋, \x00, \udc4b\ud83d, \\\ud83d", lanes=(Lane(name="‮é"),) * 6))
def test_every_setup_comes_back_from_its_link_and_its_file(setup: Setup) -> None:
    fragment = setup.to_fragment()
    assert len(fragment) <= LONGEST_LINK
    assert set(fragment[3:]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert Setup.from_fragment(fragment) == setup
    assert Setup.from_fragment(fragment.removeprefix("#")) == setup
    file = setup.to_json().encode()
    assert Setup.from_json(file.decode()) == setup


def test_the_format_stays_what_it_is() -> None:
    """Links are in other people's hands: an old one must mean for ever what it meant."""
    old = (
        "#s=FcxBCoMwEAXQq4S_DiURTTWb7rxCF6XIYKcoNTHEaSmId2-6e6u34wNvNVJeQxJ4XCcSNW9KJlYjpVloUetT9ZniyBdoLBR5"
        "g7_tSJQpFO4QDokzyTszvDm1GmGOQ_rbNBob86PU1jZVV9nG1M64tnbd2ZUv0HeQ9cWxTLZqj-N-_AA"
    )
    params = SamplingParams(temperature=0.8, min_p=0.05, max_tokens=128, seed=2**60)
    setup = Setup(prompt="What is the capital of France?", lanes=(Lane(params=params),))
    assert Setup.from_fragment(old) == setup
    assert Setup.from_fragment("#s=q1YqU7IyrAUA") == Setup()
    empty = SamplingParams(
        temperature=1, top_k=0, top_p=1, min_p=0, typical_p=1, repetition_penalty=1, presence_penalty=0,
        frequency_penalty=0, logit_bias={}, banned=(), seed=None, max_tokens=256, min_tokens=0, stop=(),
        ignore_eos=False,
    )  # fmt: skip
    assert Setup() == Setup(
        kind="run", mode="chat", system="", messages=(), prompt="", thinking=None, model="", seed=None,
        watched=(), banned=(), biases=(), lanes=(Lane(name="", params=empty),), reference=0, same_dice=True,
        exact=False, samples=8, sweep=None,
    )  # fmt: skip


def test_defaults_are_left_out_and_large_seeds_are_strings() -> None:
    assert json.loads(Setup().to_json()) == {"v": 1}
    assert Setup().to_json().startswith('{"v":1')
    params = SamplingParams(temperature=0, seed=2**64 - 1, logit_bias={7: -math.inf})
    setup = Setup(prompt="hi", seed=2**53 - 1, lanes=(Lane(name="greedy", params=params), Lane()))
    assert json.loads(setup.to_json()) == {
        "v": 1, "prompt": "hi", "seed": 2**53 - 1,
        "lanes": [
            {
                "name": "greedy",
                "params": {"temperature": 0, "seed": "18446744073709551615", "logit_bias": {"7": None}},
            },
            {},
        ],
    }  # fmt: skip


def test_an_ordinary_link_is_short() -> None:
    params = SamplingParams(temperature=0.8, min_p=0.05, max_tokens=128, seed=19)
    setup = Setup(prompt="What is the capital of France?", lanes=(Lane(params=params),))
    assert len(setup.to_fragment()) < 200
    six = tuple(Lane(name=f"T {n}", params=replace(params, temperature=n / 4)) for n in range(6))
    assert len(replace(setup, lanes=six).to_fragment()) < 500


def test_b40_what_is_too_long_makes_no_link_but_a_file() -> None:
    words = random.Random(1)
    setup = Setup(prompt=" ".join(f"{words.randrange(10**6):x}" for _ in range(3600)))
    assert len(setup.prompt) > 20_000
    with pytest.raises(LinkTooLong, match=r"at most 8,000 characters: save it as a file\.$"):
        setup.to_fragment()
    assert Setup.from_json(setup.to_json()) == setup


@many
@given(setups, st.data())
def test_no_changed_sign_does_more_than_raise_a_link_error(setup: Setup, data: st.DataObject) -> None:
    fragment = setup.to_fragment()
    place = data.draw(st.integers(3, len(fragment) - 1))
    sign = data.draw(st.sampled_from("AQgw_-az09"))
    try:
        read = Setup.from_fragment(fragment[:place] + sign + fragment[place + 1 :])
    except LinkError as error:
        assert "\n" not in str(error)  # noqa: PT017 - the sign may be the one that was there
    else:
        assert Setup.from_fragment(read.to_fragment()) == read


# How a page writes a link (`made`), as links.py says, and how it reads one (`read`).
BROWSER = """
async (given, fragment) => {
    const stream = (part, by) => new Response(new Blob([part]).stream().pipeThrough(by));
    const packed = await stream(JSON.stringify(given), new CompressionStream('deflate-raw')).arrayBuffer();
    const text = btoa(Array.from(new Uint8Array(packed), (byte) => String.fromCharCode(byte)).join(''));
    const made = '#s=' + text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    const signs = atob(fragment.slice(3).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(signs, (sign) => sign.charCodeAt(0));
    const json = await stream(bytes, new DecompressionStream('deflate-raw')).text();
    return { made, read: JSON.stringify(JSON.parse(json)) };
}
"""
SHARED = Setup(
    kind="lanes",
    system="</script><script>alert(1)</script>",
    messages=(Message("user", "é 日本 👋🏽"), Message("assistant", "\x00\u2028\ud83d")),
    prompt="half \udc4b, ‮ and \\ud83d",
    seed=2**64 - 1,
    thinking=False,
    lanes=(
        Lane(name="‮a", params=SamplingParams(temperature=1e-7, top_p=1 / 3, logit_bias={7: -math.inf})),
        Lane(params=SamplingParams(seed=2**53 - 1, stop=("\ud83d", "\n"), presence_penalty=-0.1)),
    ),
)


def check_what_javascript_made(answer: dict[str, str]) -> None:
    assert Setup.from_fragment(answer["made"]) == SHARED
    assert Setup.from_json(answer["read"]) == SHARED


@needs_node
def test_javascript_writes_and_reads_the_same_format() -> None:
    given = {"json": SHARED.to_json(), "fragment": SHARED.to_fragment()}
    code = f"""
        ({BROWSER})(JSON.parse(input.json), input.fragment).then((made) => console.log(JSON.stringify(made)));
    """
    check_what_javascript_made(run_node(code, given))


def test_the_bytes_of_a_link_are_utf_8_and_raw_deflate() -> None:
    data = base64.urlsafe_b64decode(SHARED.to_fragment()[3:] + "==")
    assert inflate(data, LARGEST_LINK, RAW) == SHARED.to_json().encode("utf-8")
