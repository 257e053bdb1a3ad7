"""Lanes against each other: the table and its CSV, alignment, the tree of samples, a sweep."""

from __future__ import annotations

import csv
import io
import itertools
import math
import random
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.comparing import csv_of, first_difference, numbers, sample_tree, sweep_of
from playground.comparing.table import words_of
from playground.engine.local import LocalEngine
from playground.findings import Branch, LaneNumbers, SampleTree
from playground.params import SamplingParams
from playground.trace import Stage, Trace
from tests import fakes
from tests.comparisons import answer_of, step_of, trace_of, traces_of
from tests.engines import engine_of, prompt_of

PROMPT = prompt_of([72, 101, 108, 108, 111])
ids = st.lists(st.integers(1, 4), max_size=12)


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    with engine_of(fakes.tiny_llama(vocab=300)) as made:
        yield made


# -- alignment -------------------------------------------------------------------------------------


@given(ids, ids)
def test_the_first_difference_is_where_the_common_start_ends(first: list[int], second: list[int]) -> None:
    index = first_difference(first, second)
    common = max(n for n in range(min(len(first), len(second)) + 1) if first[:n] == second[:n])
    assert index == (common if common < min(len(first), len(second)) else None)
    assert index == first_difference(second, first)


def test_an_answer_that_ends_differs_at_its_end_token_from_one_that_goes_on() -> None:
    assert first_difference([5, 6, 0], [5, 6, 7, 8]) == 2
    assert first_difference([5, 6], [5, 6, 7, 8]) is None
    assert first_difference([], [5]) is None


# -- the table -------------------------------------------------------------------------------------


def test_numbers_of_a_run_are_what_its_steps_say(engine: LocalEngine) -> None:
    lanes = [
        SamplingParams(temperature=0, max_tokens=9, seed=3),
        SamplingParams(temperature=0.8, top_p=0.6, max_tokens=17, seed=3),
    ]
    traces = traces_of(engine, PROMPT, lanes)
    for row, trace, name in zip(numbers(["a", "b"], traces), traces, "ab", strict=True):
        steps = trace.steps
        assert (row.name, row.tokens) == (name, len(steps))
        assert row.mean_logprob == pytest.approx(sum(step.logprob for step in steps) / len(steps))
        assert row.perplexity == pytest.approx(
            math.prod(step.prob for step in steps) ** (-1 / len(steps)), 1e-4
        )
        assert row.mean_entropy == pytest.approx(statistics.mean(step.entropy for step in steps))
        assert row.rank1_share == len([step for step in steps if step.rank == 1]) / len(steps)
        assert row.median_kept == statistics.median(step.stages[-1].kept for step in steps)
        assert (row.ttft_s, row.tpot_s) == (trace.finished.ttft_s, trace.finished.tpot_s)
        assert row.reason == trace.finished.reason
    greedy, nucleus = numbers(["a", "b"], traces)
    assert greedy.settings == {"temperature": 0.0, "top_p": 1.0, "max_tokens": 9}
    assert nucleus.settings == {"temperature": 0.8, "top_p": 0.6, "max_tokens": 17}
    assert (greedy.rank1_share, greedy.median_kept) == (1.0, 1.0)


def test_a_lane_without_tokens_has_no_means() -> None:
    (row,) = numbers(["a"], [answer_of([])])
    assert (row.tokens, row.words, row.repeated_4grams, row.settings) == (0, 0, 0, {})
    assert {row.mean_logprob, row.perplexity, row.mean_entropy, row.rank1_share, row.median_kept} == {None}


def test_forced_and_impossible_tokens_count() -> None:
    steps = [step_of(0, 1, {1: 0.5, 2: 0.5}), step_of(1, 3, {1: 0.5, 2: 0.5}, method="forced")]
    (row,) = numbers(["a"], [trace_of(steps)])
    assert (row.tokens, row.mean_logprob, row.perplexity) == (2, -math.inf, math.inf)
    steps[1] = replace(steps[1], logprob=-5000.0)
    assert numbers(["a"], [trace_of(steps)])[0].perplexity == math.inf  # beyond any float


def test_the_median_of_an_even_number_of_tokens_lies_between_two() -> None:
    kept = [replace(step_of(i, 1, {1: 1.0}), stages=(Stage("top_k", "", True, None, n, 1.0),))
            for i, n in enumerate([10, 1, 4, 3])]  # fmt: skip
    assert numbers(["a"], [trace_of(kept)])[0].median_kept == 3.5


@given(ids)
def test_repeated_4grams_are_the_occurrences_beyond_the_first(answer: list[int]) -> None:
    (row,) = numbers(["a"], [answer_of(answer)])
    grams = Counter(zip(answer, answer[1:], answer[2:], answer[3:], strict=False))
    assert row.repeated_4grams == sum(count - 1 for count in grams.values())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The sea, the SEA!", ["the", "sea", "the", "sea"]),
        ("Don’t don't 'quoted' rock'n'roll", ["don't", "don't", "quoted", "rock'n'roll"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("caf\u00e9 cafe\u0301", ["café", "café"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("3.14 x_y a-b", ["3", "14", "x", "y", "a", "b"]),
        ("… — 🎲 '' \u0301", []),
        ("北京很大", ["北京很大"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


# -- CSV -------------------------------------------------------------------------------------------


def read(text: str) -> list[dict[str, str]]:
    header, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    return [dict(zip(header, line, strict=True)) for line in lines]


def row_of(name: str, **changes: object) -> LaneNumbers:
    (row,) = numbers([name], [answer_of([1, 2, 3])])
    return replace(row, **changes)  # type: ignore[arg-type]


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=("Cs",))), min_size=1, max_size=4),
    st.none() | st.floats(-1e9, 0),
)
def test_csv_reads_back_cell_for_cell(names: list[str], mean: float | None) -> None:
    rows = [row_of(name, mean_logprob=mean, settings={"seed": index}) for index, name in enumerate(names)]
    text = csv_of(rows)
    assert text.endswith("\r\n")
    text.encode()
    for row, cells in zip(rows, read(text), strict=True):
        assert cells["name"].removeprefix("'") == row.name.removeprefix("'")
        assert cells["mean_logprob"] == ("" if mean is None else repr(mean))
        assert (cells["seed"], cells["tokens"], cells["reason"]) == (
            str(row.settings["seed"]),
            "3",
            "max_tokens",
        )
        assert float(cells["ttft_s"]) == row.ttft_s


@pytest.mark.parametrize(
    "name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x")', "＝1"]
)
def test_no_spreadsheet_runs_a_name_or_a_setting(name: str) -> None:
    (cells,) = read(csv_of([row_of(name, settings={"stop": name})]))
    assert cells["name"] == cells["stop"] == "'" + name


def test_csv_of_settings_that_are_lists_and_of_what_is_infinite() -> None:
    settings_ = {"stop": ("a,b", "\ud83d"), "logit_bias": {7: -math.inf}, "ignore_eos": True, "banned": ()}
    (cells,) = read(csv_of([row_of("a", settings=settings_, mean_logprob=-math.inf, perplexity=math.inf)]))
    assert cells["stop"] == '["a,b", "\\ud83d"]'
    assert cells["logit_bias"] == '{"7": null}'
    assert (cells["ignore_eos"], cells["banned"]) == ("true", "[]")
    assert cells["mean_logprob"] == cells["perplexity"] == ""
    assert csv_of([]) == ""
    csv_of([row_of("\ud83d")]).encode()


# -- the tree --------------------------------------------------------------------------------------


def model(before: tuple[int, ...]) -> dict[int, float]:
    """A made-up model over the ids 0 (end), 1, 2, 3: its distribution after `before`."""
    noise = random.Random(repr(before))
    weights = [noise.expovariate(1) ** 2 + 1e-3 for _ in range(4)]
    return {token: weight / sum(weights) for token, weight in enumerate(weights)}


def sample(rolls: list[float]) -> Trace:
    """An answer of at most `len(rolls)` tokens."""
    steps = []
    for index, roll in enumerate(rolls):
        probs = model(tuple(step.token_id for step in steps))
        edges = list(itertools.accumulate(probs.values()))
        token_id = next((token for token, edge in enumerate(edges) if roll < edge), 3)
        steps.append(step_of(index, token_id, probs))
        if token_id == 0:
            break
    return trace_of(steps)


rolls = st.integers(1, 5).flatmap(
    lambda length: st.lists(
        st.lists(st.floats(0, 1, exclude_max=True), min_size=length, max_size=length), min_size=1, max_size=16
    )
)


def walk(branch: Branch, before: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Branch]]:
    whole = before + branch.ids
    yield whole, branch
    for child in branch.children:
        yield from walk(child, whole)


def check(tree: SampleTree, traces: list[Trace]) -> None:
    answers = [trace.answer_ids for trace in traces]
    assert tree.samples == len(traces)
    assert tree.root.samples == tuple(range(len(traces)))
    assert tree.root.share == 1
    ended: dict[int, tuple[int, ...]] = {}
    for whole, branch in walk(tree.root):
        assert branch.samples == tuple(n for n, ids in enumerate(answers) if ids[: len(whole)] == whole)
        below = sum(child.share for child in branch.children)
        assert below + len(branch.ended) / len(traces) == pytest.approx(branch.share)
        assert len({child.ids[0] for child in branch.children}) == len(branch.children)
        assert not (len(branch.children) == 1 and not branch.ended)  # else it would be one stretch
        assert branch.text == "".join(f"<{token}>" for token in branch.ids)
        counts = [len(child.samples) for child in branch.children]
        assert counts == sorted(counts, reverse=True)
        ended |= dict.fromkeys(branch.ended, whole)
    assert ended == dict(enumerate(answers))


@settings(deadline=None, max_examples=150)
@given(rolls)
def test_the_tree_holds_every_answer_once_and_its_probability(rolls: list[list[float]]) -> None:
    traces = [sample(each) for each in rolls]
    tree = sample_tree(traces, lambda token: f"<{token}>")
    check(tree, traces)
    brute = 0.0
    for answer in {trace.answer_ids for trace in traces}:
        brute += math.prod(model(answer[:place])[token] for place, token in enumerate(answer))
    assert tree.held == pytest.approx(brute)
    assert tree.held <= 1 + 1e-9


@settings(deadline=None)
@given(st.lists(ids, min_size=1, max_size=8))
def test_any_answers_make_a_tree(answers: list[list[int]]) -> None:
    """Stopped ones too, which others go on with."""
    traces = [answer_of(each) for each in answers]
    check(sample_tree(traces, lambda token: f"<{token}>"), traces)


def test_all_answers_of_a_small_model_hold_all_of_its_probability() -> None:
    answers: list[tuple[int, ...]] = []
    for length in range(1, 4):
        for answer in itertools.product(range(4), repeat=length):
            if 0 not in answer[:-1] and (length == 3 or answer[-1] == 0):
                answers.append(answer)
    traces = [
        trace_of([step_of(place, token, model(answer[:place])) for place, token in enumerate(answer)])
        for answer in answers
    ]
    assert sample_tree(traces, str).held == pytest.approx(1)


def test_a_stopped_answer_is_not_counted_beside_the_one_that_goes_on() -> None:
    long, short = sample([0.9, 0.9, 0.9]), sample([0.9])
    assert short.answer_ids == long.answer_ids[:1]
    alone, both = sample_tree([long], str), sample_tree([short, long], str)
    assert both.held == pytest.approx(alone.held)


def test_the_tree_of_a_real_run(engine: LocalEngine) -> None:
    traces = traces_of(
        engine, PROMPT, [SamplingParams(temperature=0.3, seed=n, max_tokens=4) for n in range(8)]
    )
    tree = sample_tree(traces, lambda token: f"<{token}>")
    check(tree, traces)
    distinct = {trace.answer_ids: trace for trace in traces}.values()
    assert len(distinct) > 1
    brute = sum(math.prod(step.final_prob for step in trace.steps) for trace in distinct)
    assert tree.held == pytest.approx(brute, rel=1e-6)


# -- the sweep -------------------------------------------------------------------------------------


def test_a_sweep_keeps_the_first_steps_of_each_row(engine: LocalEngine) -> None:
    heats = [0.0, 0.5, 1.0, 1.5]
    lanes = [
        SamplingParams(temperature=heat, seed=5, max_tokens=6 + place) for place, heat in enumerate(heats)
    ]
    traces = traces_of(engine, PROMPT, lanes)
    sweep = sweep_of("temperature", traces, 7)
    assert sweep.values == tuple(heats)
    assert sweep.ids == tuple(trace.answer_ids[:7] for trace in traces)
    for row, trace in enumerate(traces):
        steps = trace.steps[:7]
        assert sweep.entropy[row] == tuple(step.entropy for step in steps)
        assert sweep.final_entropy[row] == tuple(step.final_entropy for step in steps)
        assert sweep.probs[row] == tuple(step.prob for step in steps)
        assert sweep.texts[row] == tuple(engine.vocabulary.visible(step.token_id) for step in steps)


def test_a_row_changes_where_it_leaves_the_row_before() -> None:
    rows = [[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 5], [9], [9, 8]]
    traces = [answer_of(row, SamplingParams(top_k=place + 1)) for place, row in enumerate(rows)]
    assert sweep_of("top_k", traces, 4).changed == (None, 3, None, 0, None)
    assert sweep_of("top_k", traces, 3).changed == (None, None, None, 0, None)
    assert sweep_of("top_k", traces, 3).values == (1.0, 2.0, 3.0, 4.0, 5.0)
