"""The timeline: a snapshot, literal texts, and the same figure from the board's records."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from playground.figures.timeline import timeline
from playground.figures.words import literal, percent
from playground.trace import SamplingParams, TokenStep
from playground.ui.records import Recorder
from tests.figures.snapshots import check
from tests.ui.fake_engine import HOSTILE, FakeEngine
from tests.ui.javascript import evaluate, needs_node


def steps_of(count: int = 6) -> tuple[FakeEngine, list[TokenStep]]:
    engine = FakeEngine()
    events = list(engine.stream(engine.raw("Say"), SamplingParams(seed=2, max_tokens=count)))
    return engine, [event for event in events if isinstance(event, TokenStep)]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_snapshot(dark: bool) -> None:
    check(timeline(steps_of()[1], selected=2, dark=dark), "timeline_dark" if dark else "timeline_light")


def test_values_stand_at_the_index_of_their_token() -> None:
    steps = steps_of()[1]
    entropy, end, chosen = timeline(steps).data
    assert list(chosen.x) == [step.index + 1 for step in steps]
    assert list(chosen.y) == [step.prob for step in steps]
    assert list(end.y) == [step.end_prob for step in steps]
    assert list(entropy.y) == [step.entropy for step in steps]
    assert entropy.yaxis == "y2"


def test_two_tokens_of_one_text_keep_their_own_places() -> None:
    steps = steps_of(2)[1]
    twins = [steps[0], replace(steps[0], index=1, prob=0.5)]
    chosen = timeline(twins).data[2]
    assert chosen.text[0] == chosen.text[1]
    assert list(chosen.x) == [1, 2]


@pytest.mark.parametrize("text", [*HOSTILE, "<a href='javascript:x'>", "$x^2$", "%{y}", "&lt;b&gt;", "<br>"])
def test_b38_no_sign_with_a_meaning_to_plotly_is_left(text: str) -> None:
    shown = literal(text)
    assert not set(shown) & set("<>$%")
    for sign, entity in (("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("%", "&#37;"), ("&", "&amp;")):
        shown = shown.replace(entity, sign) if sign != "&" else shown
    assert shown.replace("&amp;", "&") == text.replace("\n", "⏎")


def test_shares_are_never_blank_and_never_falsely_whole() -> None:
    shares = [0, 1e-12, 0.0001, 0.005, 0.1234, 0.9995, 0.99995, 1]
    assert [percent(share) for share in shares] == [
        "0%", "<0.01%", "0.01%", "0.50%", "12.3%", "99.95%", ">99.99%", "100%",
    ]  # fmt: skip


@needs_node
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_board_draws_the_same_figure(dark: bool) -> None:
    """What the page fills from its records is what Python draws from the trace."""
    engine, steps = steps_of(40)
    notes = Recorder(visible=engine.vocabulary.visible, is_special=engine.vocabulary.is_special)
    op = notes.tokens(0, steps)
    drawn = evaluate(
        """(() => {
            const book = { texts: op.texts, names: op.names };
            return filledTimeline(look, op.steps.map((record) => readStep(record, book)), 3);
        })()""",
        op=op,
        look=json.loads(timeline((), dark=dark).to_json()),
    )
    true = json.loads(timeline(steps, selected=3, dark=dark).to_json())
    assert drawn["layout"].pop("yaxis2")["range"] == pytest.approx(true["layout"].pop("yaxis2")["range"])
    assert drawn["layout"] == true["layout"]
    for shown, wanted in zip(drawn["data"], true["data"], strict=True):
        assert shown.pop("y") == pytest.approx(wanted.pop("y"), rel=6e-5)
        assert shown == wanted
