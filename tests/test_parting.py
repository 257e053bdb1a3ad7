"""Where lanes part and why, against a bar of three tokens that a person can work out."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from playground.comparing import parting
from playground.engine.local import LocalEngine
from playground.findings import Parting
from playground.params import SamplingParams
from playground.sampling import dice
from playground.trace import Trace
from tests import fakes
from tests.comparisons import answer_of, step_of, trace_of, traces_of
from tests.engines import engine_of, prompt_of

PROMPT = prompt_of([72, 101, 108, 108, 111])
BAR = {70: 0.5, 71: 0.3, 72: 0.2}  # F, G, H: what the third token is drawn from
SETTINGS = [
    {}, {"temperature": 0}, {"temperature": 3.0}, {"temperature": 0.3, "top_k": 2}, {"banned": (70,)},
    {"min_p": 0.5},
]  # fmt: skip


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    rows = [65, 66, fakes.probabilities(BAR), 67, 68]
    with engine_of(fakes.scripted(rows, prompt_length=5)) as made:
        yield made


def by_hand(settings: dict[str, object], u: float) -> int:
    """The third token under `settings` with the roll `u`."""
    left = {token: prob for token, prob in BAR.items() if token not in settings.get("banned", ())}  # type: ignore[operator]
    heat = settings.get("temperature", 1)
    best = max(left, key=left.__getitem__)
    if heat == 0:
        return best
    scores = {token: prob ** (1 / heat) for token, prob in left.items()}  # type: ignore[operator]
    if settings.get("top_k"):
        del scores[min(scores, key=scores.__getitem__)]
    if settings.get("min_p"):
        scores = {token: score for token, score in scores.items() if score >= 0.5 * scores[best]}
    edge = 0.0
    for token in sorted(scores, key=lambda each: -scores[each]):
        edge += scores[token] / sum(scores.values())
        if u < edge:
            return token
    raise AssertionError


def wanted_cause(first: dict[str, object], second: dict[str, object], u: float, v: float) -> str:
    settings = by_hand(second, u) == by_hand(second, v)
    dice_ = by_hand(first, v) == by_hand(second, v)
    return {(True, True): "either", (True, False): "settings", (False, True): "dice"}.get(
        (settings, dice_), "both"
    )


def look(engine: LocalEngine, traces: list[Trace]) -> Parting:
    """The parting of two lanes, with what each lane's settings pick with each lane's dice."""
    bare = parting(0, 1, traces)
    if bare.index is None:
        return bare
    rivals = [trace.answer_ids[bare.index] for trace in traces]
    params = [trace.params for trace in traces]
    picks = engine.picks(PROMPT.ids, traces[0].answer_ids, bare.index, params, watched=rivals)
    return parting(0, 1, traces, picks)


def part(engine: LocalEngine, lanes: list[SamplingParams]) -> Parting:
    return look(engine, traces_of(engine, PROMPT, lanes))


def test_the_cause_is_what_a_person_works_out(engine: LocalEngine) -> None:
    kinds = list(itertools.product(range(len(SETTINGS)), (1, 2, 3, 6)))
    lanes = [SamplingParams(**SETTINGS[kind], seed=seed, max_tokens=3) for kind, seed in kinds]  # type: ignore[arg-type]
    runs = dict(zip(kinds, traces_of(engine, PROMPT, lanes), strict=True))
    causes: Counter[str] = Counter()
    for first, second in itertools.product(SETTINGS, SETTINGS):
        for one, other in [(1, 1), (1, 2), (3, 6)]:
            u, v = dice(one, 2), dice(other, 2)
            traces = [runs[SETTINGS.index(first), one], runs[SETTINGS.index(second), other]]
            found = look(engine, traces)
            picked = by_hand(first, u), by_hand(second, v)
            assert tuple(trace.answer_ids[2] for trace in traces) == picked
            if picked[0] == picked[1]:
                assert found.index is None
                continue
            assert found.index == 2
            assert found.reference_token is not None
            assert found.lane_token is not None
            assert (found.reference_token.token_id, found.lane_token.token_id) == picked
            assert found.cause == wanted_cause(first, second, u, v)
            causes[found.cause] += 1
            certain = parting(0, 1, traces).cause  # without a look at the logits
            assert certain in (found.cause, "unknown")
            if one == other or first == second:
                assert certain == found.cause
    assert set(causes) == {"either", "settings", "dice", "both"}


def test_both_tokens_have_their_probabilities_in_both_lanes(engine: LocalEngine) -> None:
    seed = next(seed for seed in range(99) if 0.55 < dice(seed, 2) < 0.78)  # G of 1, F of a cold bar
    lanes = [SamplingParams(temperature=0, seed=seed, max_tokens=4), SamplingParams(seed=seed, max_tokens=4)]
    found = part(engine, lanes)
    there, here = found.reference_token, found.lane_token
    assert there is not None
    assert here is not None
    assert (there.text, here.text) == ("F", "G")
    assert (there.prob, here.prob) == (pytest.approx(0.5), pytest.approx(0.3))
    assert (there.reference_final, here.reference_final) == (1.0, 0.0)
    assert (there.lane_final, here.lane_final) == (pytest.approx(0.5), pytest.approx(0.3))
    assert (there.removed_by_reference, here.removed_by_reference) == (None, "greedy")
    assert (there.removed_by_lane, here.removed_by_lane) == (None, None)
    assert found.sentence == (
        "Up to here both lanes read the same 2 tokens. The reference takes the likeliest token, “F”, and "
        "this lane's roll landed on “G”: the temperature made the difference, not the luck."
    )


def test_a_token_that_neither_lane_lists_of_the_other_is_found_by_a_look(engine: LocalEngine) -> None:
    lanes = [SamplingParams(logit_bias={token: 50.0}, seed=1, max_tokens=4) for token in (90, 91)]
    traces = traces_of(engine, PROMPT, lanes, top_n=1)
    bare = parting(0, 1, traces)
    assert bare.lane_token is not None
    assert bare.lane_token.reference_final is None  # and no number is made up
    picks = engine.picks(PROMPT.ids, traces[0].answer_ids, 0, lanes, watched=(90, 91))
    found = parting(0, 1, traces, picks)
    assert found.lane_token is not None
    assert found.lane_token.reference_final == pytest.approx(0, abs=1e-9)
    assert found.lane_token.reference_final is not None
    assert found.sentence == (
        "The lanes part at their first token. With the same dice the roll landed on “[” instead of “Z”: the "
        "logit bias made the difference, not the luck."
    )


def test_other_seeds_under_the_same_settings_part_by_the_dice(engine: LocalEngine) -> None:
    low, high = (next(seed for seed in range(99) if (dice(seed, 2) < 0.4) == side) for side in (True, False))
    found = part(engine, [SamplingParams(seed=seed, max_tokens=4) for seed in (low, high)])
    assert found.cause == "dice"
    assert "The settings are the same; the roll landed on " in found.sentence
    assert found.sentence.endswith("instead of “F”: the dice made the difference.")


def test_a_forced_token_was_given(engine: LocalEngine) -> None:
    params = SamplingParams(temperature=0, seed=1, max_tokens=4)
    (free,) = traces_of(engine, PROMPT, [params])
    (forked,) = traces_of(engine, PROMPT, [params], forced=(65, 66, 99))
    assert (parting(0, 1, [free, forked]).cause, parting(0, 1, [forked, free]).cause) == ("given", "given")
    assert "This lane did not pick “c”: it was given" in parting(0, 1, [free, forked]).sentence
    assert "The reference did not pick “c”: it was given" in parting(0, 1, [forked, free]).sentence
    (other,) = traces_of(engine, PROMPT, [params], forced=(65, 66, 98))
    assert "“c” was given to the reference and “b” to this lane" in parting(0, 1, [forked, other]).sentence


def test_lanes_that_do_not_part() -> None:
    same = [answer_of([1, 2, 3]), answer_of([1, 2, 3]), answer_of([1]), answer_of([])]
    sentences = [parting(0, lane, same).sentence for lane in range(4)]
    assert sentences[0] == sentences[1] == "Both lanes have the same 3 tokens."
    assert sentences[2] == "Both lanes have the same token; then this lane ends."
    assert parting(2, 0, same).sentence == "Both lanes have the same token; then the reference ends."
    assert sentences[3] == "There is nothing to compare: one of these lanes has no token."
    found = parting(0, 2, same)
    assert (found.index, found.reference_token, found.lane_token, found.cause) == (
        None,
        None,
        None,
        "unknown",
    )


def test_the_end_token_parts_an_answer_from_one_that_goes_on() -> None:
    found = parting(0, 1, [answer_of([1, 2, 0], reason="end_token"), answer_of([1, 2, 3, 4])])
    assert found.index == 2
    assert found.reference_token is not None
    assert found.reference_token.token_id == 0


def pair(params: tuple[SamplingParams, SamplingParams], u: tuple[float | None, float | None]) -> list[Trace]:
    """Two lanes that share one token and part at the second."""
    bar = {1: 0.6, 2: 0.4}
    return [
        trace_of([step_of(0, 1, bar), step_of(1, token, bar, method=method, u=roll)], settings)
        for token, settings, roll, method in zip(
            (1, 2), params, u, ["greedy" if roll is None else "sampled" for roll in u], strict=True
        )
    ]


COOL, WARM, COLD = (
    SamplingParams(seed=1),
    SamplingParams(seed=1, temperature=2),
    SamplingParams(temperature=0, seed=1),
)


@pytest.mark.parametrize(
    ("params", "u", "cause"),
    [
        ((COOL, WARM), (0.5, 0.5), "settings"),
        ((COOL, WARM), (0.5, 0.7), "unknown"),
        ((COOL, COOL), (0.5, 0.7), "dice"),
        ((COOL, COOL), (0.5, 0.5), "rounding"),
        ((COLD, COLD), (None, None), "rounding"),
        ((COLD, replace(COLD, banned=(1,))), (None, None), "settings"),
        ((COLD, replace(COLD, banned=(1,), seed=2)), (None, None), "settings"),
        ((COLD, COOL), (None, 0.7), "settings"),
        ((COLD, replace(COOL, seed=2)), (None, 0.7), "unknown"),
        ((replace(COOL, stop=("x",)), replace(COOL, max_tokens=9)), (0.5, 0.7), "dice"),
    ],
)
def test_without_a_look_only_what_is_certain_is_said(params: tuple, u: tuple, cause: str) -> None:
    found = parting(0, 1, pair(params, u))
    assert found.cause == cause
    assert found.sentence.startswith("Up to here both lanes read the same token. ")
    assert ("cannot be told" in found.sentence) == (cause == "unknown")
    assert ("rounded" in found.sentence) == (cause == "rounding")


def test_a_step_that_does_not_come_out_again_was_rounded() -> None:
    traces = pair((COOL, WARM), (0.5, 0.5))
    same = [[traces[0].steps[1]] * 2] * 2  # recomputed, both pick the reference's token
    found = parting(0, 1, traces, same)
    assert found.cause == "rounding"
    traces = pair((COOL, replace(WARM, seed=2)), (0.5, 0.7))
    assert "Computed anew" in parting(0, 1, traces, same).sentence


def test_the_sentence_of_greedy_lanes_speaks_of_no_roll() -> None:
    found = parting(0, 1, pair((COLD, replace(COLD, banned=(1,))), (None, None)))
    assert found.sentence.endswith(
        "No dice are rolled; the likeliest token left is “B” here and “A” in the reference: the ban made the "
        "difference."
    )


def test_it_took_both() -> None:
    traces = pair((COOL, replace(WARM, seed=2, top_k=9)), (0.5, 0.7))
    ours, theirs = traces[0].steps[1], traces[1].steps[1]
    third = step_of(1, 3, {1: 0.6, 3: 0.4})
    found = parting(0, 1, traces, [[ours, third], [ours, theirs]])
    assert found.cause == "both"
    assert found.sentence.endswith(
        "It took both to get “B” instead of “A”: this lane's settings pick “A” with the reference's dice, "
        "and the reference's settings “C” with this lane's dice."
    )
    either = parting(0, 1, traces, [[ours, theirs], [theirs, theirs]])
    assert either.cause == "either"
    assert "Either would have done: the settings with the reference's dice" in either.sentence
