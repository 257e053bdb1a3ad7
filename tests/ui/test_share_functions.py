"""Links and setups in the page's JavaScript: the same as in Python, and as suspicious."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playground.links import LARGEST_LINK, LONGEST_LINK, Lane, Message, Range, Setup
from playground.params import SamplingParams
from playground.ui.assets import PURE, script
from tests.test_hostile_links import HOSTILE, link_of
from tests.test_links import setups
from tests.ui.javascript import evaluate, needs_node, run_node

pytestmark = needs_node
ODD = "half \udc4b, whole 👋🏽, \x00, \u2028, ‮, \\ud83d, \ud83d"


def each(expression: str, values: Sequence[Any]) -> list[Any]:
    """What an expression of JavaScript, which may wait, gives for each `value`; a message where it throws."""
    code = f"""
        {script(*PURE)}
        const one = async (value) => {{
            try {{ return {{ made: await ({expression}) }}; }}
            catch (error) {{ return {{ refused: error.message }}; }}
        }};
        Promise.all(input.map(one)).then((all) => console.log(JSON.stringify(all)));
    """
    return run_node(code, values)


def made(expression: str, values: Sequence[Any]) -> list[Any]:
    answers = each(expression, values)
    assert not [answer for answer in answers if "refused" in answer]
    return [answer["made"] for answer in answers]


def plain(values: list[Any]) -> Any:
    """With every number as a float: JavaScript writes 6.4e16 as a whole number, not always the same one."""
    return json.loads(json.dumps(values), parse_int=float)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(setups, min_size=1, max_size=8))
def test_any_setup_comes_back_from_a_link_of_either_side(drawn: list[Setup]) -> None:
    said = [json.loads(setup.to_json()) for setup in drawn]
    # Defaults are left out as in Python.
    assert plain(made("plainSetup(readSetup(value))", said)) == plain(said)
    assert plain(
        made("settingsIn(value).then(plainSetup)", [setup.to_fragment() for setup in drawn])
    ) == plain(said)
    links = made("settingsLink(readSetup(value))", said)
    assert [Setup.from_fragment(link) for link in links] == drawn


def test_defaults_are_those_of_python() -> None:
    [whole] = made("readSetup(value)", [{"v": 1}])
    assert Setup.from_json(json.dumps({"v": 1, **whole})) == Setup()
    assert made("settingsLink(readSetup(value))", [{"v": 1}]) == ["#s=q1YqU7IyrAUA"]


def test_texts_of_every_kind_survive() -> None:
    setup = Setup(
        system=ODD, prompt=ODD, messages=(Message("user", ODD),), watched=(ODD,), seed=2**64 - 1,
        lanes=(Lane(name=ODD, params=SamplingParams(stop=(ODD,), seed=2**53 + 1)),),
    )  # fmt: skip
    [whole] = made("settingsIn(value)", [setup.to_fragment()])
    assert whole["prompt"] == ODD
    assert (whole["seed"], whole["lanes"][0]["params"]["seed"]) == (str(2**64 - 1), str(2**53 + 1))
    [link] = made("settingsIn(value).then(settingsLink)", [setup.to_fragment()])
    assert Setup.from_fragment(link) == setup


def test_b40_hostile_values_are_refused_in_one_sentence() -> None:
    hostile = [pair for pair in HOSTILE if pair[0] != "version 1.0"]  # to JavaScript that is 1
    answers = each("settingsIn(value)", [link_of(json.dumps(value)) for _, value in hostile])
    for (name, _), answer in zip(hostile, answers, strict=True):
        assert "refused" in answer, name
        said = answer["refused"]
        assert said.startswith("Th"), (name, said)
        assert said.endswith(".")
        assert "\n" not in said
        assert len(said) < 400


@pytest.mark.parametrize(
    "texts",
    [
        [b"", b"nothing", b"{", b'{"v":NaN}', b'{"v":1,"samples":Infinity}', b"[" * 10**5, b'{"v":1}{"v":1}'],
        [b'\xef\xbb\xbf{"v":1}', '{"v":1}'.encode("utf-16"), b'{"v":1,"prompt":"\xed\xa0\xbd"}', b"\0"],
        [b'{"v":1,"lanes":[{"params":{"temperature":1e999}}]}', b'{"v":1,"prompt":"\xff"}', b"9" * 10_000],
    ],
    ids=["no JSON", "no UTF-8", "no number"],
)
def test_b40_what_is_no_json_is_refused(texts: list[bytes]) -> None:
    answers = each("settingsIn(value)", [link_of(text) for text in texts])
    assert all("refused" in answer for answer in answers), answers


def test_b40_a_link_that_was_changed_on_its_way_is_refused() -> None:
    broken = [
        "", "#", "#s", "#s=", "#S=q1YqU7IyrAUA", "q1YqU7IyrAUA", "#s=q1YqU7IyrAU", "#s=q1YqU7IyrAUA=", "#s=A",
        "#s=q1YqU7Iy+AUA", "#s=q1YqU7IyrAUA\n", "#s=q1Yq U7IyrAUA", "#s=%71YqU7IyrAUA", "#s=AAAA", "#s=q1Yqé",
        "#s=q1YqU7IyrAUA&x=1", "#s=" + "A" * 10**5, "#s=" + "_" * 7997,
    ]  # fmt: skip
    for link, answer in zip(broken, each("settingsIn(value)", broken), strict=True):
        assert answer.get("refused", "").startswith("This link"), (link, answer)


def test_b40_a_link_cut_anywhere_is_refused() -> None:
    whole = Setup(prompt="What is the capital of France?", seed=2**60).to_fragment()
    answers = each("settingsIn(value)", [whole[:length] for length in range(len(whole))])
    assert all("refused" in answer for answer in answers)


def test_b40_a_bomb_is_refused_before_it_goes_off() -> None:
    [answer] = each("settingsIn(value)", [link_of(bytes(5 * 2**20))])
    assert "unpacks to more than" in answer["refused"]


def test_what_is_too_long_makes_no_link() -> None:
    prompt = "".join(f"{n * 7919 % 1_000_003:x} " for n in range(3000))
    plain = {"v": 1, "prompt": prompt}
    few = {"v": 1, "prompt": "a" * LARGEST_LINK}
    assert made("settingsLink(readSetup(value))", [plain, few]) == [None, None]
    [link] = made("settingsLink(readSetup(value))", [{"v": 1, "prompt": prompt[:4000]}])
    assert len(link) <= LONGEST_LINK


def test_links_of_saved_runs() -> None:
    id = "0123456789abcdef" * 2
    places = [None, {"lane": 0, "index": 17}, {"lane": "prompt", "index": 3}]
    for place in places:
        link = evaluate("replayLink(id, place)", id=id, place=place)
        assert evaluate("replayIn(link)", link=link) == {"id": id, "place": place}
    hostile = [
        "#r=", f"#r={id[:-1]}", f"#r={id}0", f"#r={id.upper()}", f"#r={id}&t=0", f"#r={id}&t=-1.2",
        f"#r={id}&t=0.1&x=2", f"#r={id}\n", f"#r=../{id}", f"#r={id}&t=__proto__.1", f"#r={id}&t=0.99999999",
    ]  # fmt: skip
    assert all("refused" in answer for answer in each("replayIn(value)", hostile))


def test_links_begin_where_the_server_is_known() -> None:
    base = "linkBase(address, location)"
    here = "http://127.0.0.1:7860/play/?__theme=dark#s=q1YqU7IyrAUA"
    assert evaluate(base, address="", location=here) == "http://127.0.0.1:7860/play/"
    assert evaluate(base, address="https://a.example/x", location=here) == "https://a.example/x"


# -- forms ------------------------------------------------------------------------------------------

FORM = {
    "mode": "chat", "system": "Be brief.", "prompt": "Say “hi” 👋\nor not", "seed": " 18446744073709551615 ",
    "stops": "END\n\n ###", "watched": " Paris\n Lyon", "banned": "", "biases": " Paris = -5\n#7 = 2.5",
    "thinking": None, "ignore_eos": True, "history": [{"role": "user", "content": "before"}],
    "numbers": {
        "temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.05, "typical_p": 1,
        "repetition_penalty": 1.1, "presence_penalty": -0.5, "frequency_penalty": 0, "max_tokens": 128,
        "min_tokens": 3,
    },
}  # fmt: skip


def test_the_form_comes_back_from_its_setup() -> None:
    setup = evaluate("setupOfForm(form, 'org/name')", form=FORM)
    read = Setup.from_json(json.dumps(evaluate("plainSetup(setup)", setup=setup)))
    assert read.seed == 2**64 - 1
    assert read.lanes[0].params.stop == ("END", " ###")
    assert (read.model, read.watched, read.messages[0].content) == ("org/name", (" Paris", " Lyon"), "before")
    back = evaluate("formOfSetup(setup)", setup=setup)
    assert back["left"] == []
    assert back["form"] == {**FORM, "seed": str(2**64 - 1), "stops": "END\n ###"}


def test_what_the_form_cannot_hold_is_said() -> None:
    params = SamplingParams(stop=("a\nb", "c"), logit_bias={7: 2.0, 8: float("-inf"), 9: 1e6}, banned=(3,))
    setup = json.loads(Setup(lanes=(Lane(params=params),)).to_json())
    back = evaluate("formOfSetup(readSetup(setup))", setup=setup)
    assert (back["form"]["stops"], back["form"]["biases"]) == ("c", "#7 = 2")
    assert len(back["left"]) == 2
    assert all(said.endswith(".") for said in back["left"])


REQUEST: dict[str, Any] = {
    "kind": "lanes", "mode": "chat", "system": "", "prompt": "hi", "same_dice": False, "exact": True,
    "seed": "7", "max_tokens": 60, "thinking": False,
    "lanes": [{"name": "calm", "params": {"temperature": 0}},
              {"name": "wild", "params": {"temperature": 2, "seed": "5"}}],
}  # fmt: skip


def test_the_compare_form_comes_back_from_its_setup() -> None:
    setup = evaluate("setupOfRequest(request, 1, '')", request=REQUEST)
    read = Setup.from_json(json.dumps(evaluate("plainSetup(setup)", setup=setup)))
    assert (read.kind, read.reference, read.seed, read.exact) == ("lanes", 1, 7, True)
    assert [lane.name for lane in read.lanes] == ["calm", "wild"]
    assert [lane.params.max_tokens for lane in read.lanes] == [60, 60]
    assert read.lanes[1].params.seed == 5
    back = evaluate("requestOfSetup(setup)", setup=setup)
    assert back["left"] == []
    assert (back["request"]["tokens"], back["request"]["seed"], back["request"]["thinking"]) == (
        60,
        "7",
        False,
    )
    assert evaluate("laneParams(lane.params)", lane=back["lanes"][1])["temperature"] == 2


def test_a_sweep_comes_back_from_its_setup() -> None:
    sweep = {"setting": "top_p", "from": 0.1, "to": 1, "steps": 9, "tokens": 24}
    request = {**REQUEST, "kind": "sweep", "lanes": REQUEST["lanes"][:1], "sweep": sweep, "max_tokens": 24}
    setup = evaluate("setupOfRequest(request, -1, '')", request=request)
    read = Setup.from_json(json.dumps(evaluate("plainSetup(setup)", setup=setup)))
    assert read.sweep == Range(setting="top_p", low=0.1, high=1, steps=9, tokens=24)
    back = evaluate("requestOfSetup(setup)", setup=setup)["request"]
    assert back["sweep"] == {"setting": "top_p", "values": [0.1, 1], "steps": 9}
    assert back["tokens"] == 24


def test_what_the_compare_form_cannot_hold_is_said() -> None:
    lane = Lane(name=" ", params=SamplingParams(typical_p=0.5, stop=("x",)))
    setup = Setup(kind="lanes", lanes=(lane, replace(lane, name="b")), watched=("w",))
    back = evaluate("requestOfSetup(readSetup(setup))", setup=json.loads(setup.to_json()))
    assert [lane["name"] for lane in back["lanes"]] == ["lane 1", "b"]
    assert len(back["left"]) == 2
    assert "typical p, stop" in back["left"][0]


# -- the picture of a strip -------------------------------------------------------------------------

MEASURE = "(text, small) => [...text].length * (small ? 7 : 10)"


def token(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "strength": 0.5, "special": False, "mono": False, "breaks": False, **more}


def test_tokens_stand_in_lines_and_none_leaves_the_picture() -> None:
    tokens = [token(" word" + "x" * (n % 9)) for n in range(200)] + [token("y" * 300)]
    laid = evaluate(f"layTokens(tokens, 0, {MEASURE})", tokens=tokens)
    right = evaluate("PICTURE.width - PICTURE.margin")
    boxes = laid["boxes"]
    assert "".join(box["text"] for box in boxes) == "".join(each["text"].strip(" ") for each in tokens)
    for box, after in itertools.pairwise(boxes):
        assert box["x"] + box["width"] <= right
        assert after["y"] > box["y"] or (after["y"] == box["y"] and after["x"] >= box["x"] + box["width"])
    assert boxes[-1]["y"] < laid["bottom"]


def test_a_line_break_ends_a_line_and_blanks_are_shown_alone() -> None:
    tokens = [token("a⏎", breaks=True), token(" b"), token("  ")]
    first, second, third = evaluate(f"layTokens(tokens, 0, {MEASURE}).boxes", tokens=tokens)
    assert second["y"] - first["y"] == evaluate("PICTURE.line")
    assert (second["text"], third["text"]) == ("b", "␣␣")
    assert second["x"] == evaluate("PICTURE.margin") + 10


def test_lanes_stand_below_each_other_under_their_names() -> None:
    lanes = [{"name": name, "tokens": [token(name)]} for name in ("one", "two")]
    laid = evaluate(f"layLanes(lanes, 100, {MEASURE})", lanes=lanes)
    assert [name["text"] for name in laid["names"]] == ["one", "two"]
    heights = [laid["names"][0]["y"], laid["boxes"][0]["y"], laid["names"][1]["y"], laid["boxes"][1]["y"]]
    assert heights == sorted(heights)
    assert 100 < heights[0] < heights[-1] < laid["height"]


def test_a_picture_shows_bytes_where_characters_are_not_whole() -> None:
    steps = [{"id": 1, "hex": "f09f"}, {"id": 2, "hex": "918b"}, {"id": 3, "hex": "0a"}, {"id": 4, "hex": ""}]
    shown = evaluate("pictureTokens(steps, () => 0)", steps=steps)
    assert [each["text"] for each in shown] == ["F0 9F", "91 8B 👋", "⏎", "id 4"]
    assert [each["mono"] for each in shown] == [True, True, False, False]
    assert [each["breaks"] for each in shown] == [False, False, True, False]
