"""The JSON of traces: strict both ways, whatever text and bytes are, and safe against a stranger's file."""

from __future__ import annotations

import ast
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playground import trace as module
from playground.trace import (
    Candidate,
    Draw,
    Finished,
    FinishReason,
    ListedFor,
    ModelInfo,
    Parent,
    Prompt,
    PromptToken,
    SamplingParams,
    Segment,
    SegmentKind,
    Stage,
    TokenStep,
    Trace,
    collect,
    event_record,
    from_event_record,
)

SIZE = 50  # vocabulary of the made-up model
text = st.text(st.characters(exclude_categories=()), max_size=6)  # lone surrogates included
count = st.integers(0, 10**6)
seconds = st.floats(0, 1e6)
share = st.floats(0, 1)
nats = st.floats(-1e3, 0) | st.just(-math.inf)
token_ids = st.integers(0, SIZE - 1)
few_bytes = st.binary(max_size=4)

candidates = st.builds(
    Candidate, token_ids, few_bytes, text, st.floats(-1e30, 1e30) | st.just(-math.inf), share, nats,
    st.integers(1, SIZE), share, st.none() | text, st.none() | text, st.sampled_from(get_args(ListedFor)),
)  # fmt: skip
stages = st.builds(Stage, text, text, st.booleans(), st.none() | st.floats(-1e30, 1e30), count, share)


@st.composite
def prompts(draw: st.DrawFn) -> Prompt:
    rendered = draw(text)
    spans = st.lists(st.integers(0, len(rendered)), min_size=2, max_size=2).map(sorted)
    rows = draw(st.lists(st.tuples(token_ids, few_bytes, spans, st.booleans(), st.none() | nats), max_size=3))
    tokens = tuple(
        PromptToken(position, token, raw, start, end, 0, special, logprob, None if logprob is None else 1)
        for position, (token, raw, (start, end), special, logprob) in enumerate(rows)
    )
    ids = tuple(token.token_id for token in tokens)
    kind, (start, end), own = draw(st.sampled_from(get_args(SegmentKind))), draw(spans), draw(st.booleans())
    return Prompt(
        rendered, (Segment(kind, start, end, own),), tokens, ids, draw(st.none() | text), (draw(text),)
    )


def whole(draw: st.DrawFn, parts: int) -> list[float]:
    """So many shares that are 1 together."""
    weights = draw(st.lists(st.integers(0, 1000), min_size=parts, max_size=parts))
    return [weight / sum(weights) for weight in weights] if sum(weights) else [1.0, *[0.0] * (parts - 1)]


@st.composite
def steps(draw: st.DrawFn, index: int = 0) -> TokenStep:
    low, high = sorted([draw(share), draw(share)])
    raw = draw(few_bytes)
    listed = draw(st.lists(candidates, min_size=1, max_size=3, unique_by=lambda each: each.token_id))
    *probs, others = whole(draw, len(listed) + 1)
    *finals, others_final = whole(draw, len(listed) + 1)
    listed = [
        replace(each, prob=prob, final_prob=final)
        for each, prob, final in zip(listed, probs, finals, strict=True)
    ]
    method = draw(st.sampled_from(["greedy", "sampled", "forced"]))
    rolled = draw(st.floats(0, 1, exclude_max=True)) if method == "sampled" else None
    return TokenStep(
        lane=draw(count), index=index, position=draw(count), token_id=listed[0].token_id, bytes=raw,
        text=draw(text), trimmed=draw(st.integers(0, len(raw))), prob=draw(share), logprob=draw(nats),
        rank=draw(st.integers(1, SIZE)), final_prob=draw(share),
        candidates=tuple(listed), others_prob=others,
        others_final_prob=others_final, entropy=draw(seconds), final_entropy=draw(seconds), gap=draw(share),
        stages=tuple(draw(st.lists(stages, max_size=2))), draw=Draw(method, rolled, low, high),
        end_prob=draw(share), queue_s=draw(seconds), forward_s=draw(seconds), sample_s=draw(seconds),
        batch_lanes=draw(count), kv_len=draw(count), kv_bytes=draw(count),
    )  # fmt: skip


ends = st.builds(
    Finished, count, text, st.just(()), count,
    st.sampled_from(get_args(FinishReason)), text, text, count, count, count, seconds, st.none() | seconds,
    st.none() | seconds, st.none() | seconds, st.none() | seconds,
)  # fmt: skip


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    model = ModelInfo(
        draw(text), draw(text), "float32", "cpu", SIZE, draw(st.none() | st.integers(1, 10**6)), (2, 7)
    )
    made = tuple(draw(steps(index)) for index in range(draw(st.integers(0, 2))))
    params = SamplingParams(logit_bias={3: -math.inf, 4: 1.5}, stop=("\ud83d", "é"), banned=(1,))
    parent = draw(st.none() | st.builds(Parent, st.just("a1" * 16), count))
    trimmed = tuple((step.index, step.trimmed) for step in made)
    kept = b"".join(step.bytes[: len(step.bytes) - step.trimmed] for step in made)
    end = replace(draw(ends), trimmed=trimmed, text=kept.decode(errors="replace"))
    return Trace(1, "0f" * 16, model, draw(prompts()), params, made, end, parent, draw(text))


def strict(source: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(source, parse_constant=refuse)


def example() -> Trace:
    """One whole trace, as plain as can be."""
    cut = Candidate(7, b"\x9f", "9F", -math.inf, 0.0, -math.inf, 2, 0.0, "model", "excluded", "top")
    kept = Candidate(5, b"hi", "hi", 1.5, 1.0, 0.0, 1, 1.0, None, None, "chosen")
    step = TokenStep(
        lane=0, index=0, position=1, token_id=5, bytes=b"hi", text="hi", trimmed=0, prob=1.0, logprob=0.0,
        rank=1, final_prob=1.0, candidates=(kept, cut), others_prob=0.0, others_final_prob=0.0, entropy=0.0,
        final_entropy=0.0, gap=1.0, stages=(Stage("top_k", "1", True, 1.5, 1, 1.0),),
        draw=Draw("sampled", 0.25, 0.0, 1.0), end_prob=0.0, queue_s=0.0, forward_s=0.1, sample_s=0.0,
        batch_lanes=1, kv_len=1, kv_bytes=64,
    )  # fmt: skip
    prompt = Prompt(
        "a",
        (Segment("raw", 0, 1, False),),
        (PromptToken(0, 9, b"a", 0, 1, 0, False, None, None),),
        (9,),
        None,
    )
    end = Finished(0, "hi", (), 0, "max_tokens", "1", "", 1, 1, 2, 0.1, 0.2, None, 10.0, None)
    model = ModelInfo("tiny", "ab", "float32", "cpu", SIZE, 32, (2,))
    return Trace(
        1, "0f" * 16, model, prompt, SamplingParams(seed=3), (step,), end, None, "2026-01-01T00:00:00Z"
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(traces())
def test_a_trace_survives_its_json(trace: Trace) -> None:
    source = trace.to_json()
    strict(source)
    assert source.encode("ascii")
    assert Trace.from_json(source) == trace
    assert Trace.from_json(source.encode()) == trace


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(prompts() | steps() | ends)
def test_an_event_survives_its_record(event: Any) -> None:
    record = strict(json.dumps(event_record(event), allow_nan=False))
    assert record["event"] == {Prompt: "prompt", TokenStep: "token", Finished: "end"}[type(event)]
    assert from_event_record(record) == event


def test_b37_minus_infinity_is_null_beside_its_reason() -> None:
    record = strict(example().to_json())["steps"][0]["candidates"][1]
    assert (record["logit"], record["logprob"], record["removed_by"]) == (None, None, "model")
    restored = Trace.from_json(example().to_json()).steps[0].candidates[1]
    assert restored.logit == restored.logprob == -math.inf


def test_json_is_one_object_with_the_version_first_and_bytes_in_hex() -> None:
    assert example().to_json().startswith('{"version": 1, ')
    assert strict(example().to_json())["steps"][0]["candidates"][1]["bytes"] == "9f"


def broken(path: str, value: Any) -> str:
    """The example's JSON with one value replaced, or removed where `value` is ... ."""
    plain = json.loads(example().to_json())
    place: Any = plain
    *parents, last = (int(name) if name.isdecimal() else name for name in path.split("."))
    for name in parents:
        place = place[name]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(plain)


HOSTILE: list[tuple[str, Any]] = [
    ("version", 2), ("version", "1"), ("version", True), ("version", None), ("version", ...),
    ("steps", ...), ("steps", {}), ("steps", None), ("steps.0", []), ("steps.0.index", 1),
    ("steps.0.index", 0.0),
    ("steps.0.token_id", SIZE), ("steps.0.token_id", -1), ("steps.0.token_id", True),
    ("steps.0.token_id", "5"),
    ("steps.0.prob", 1.5), ("steps.0.prob", "1"), ("steps.0.prob", None), ("steps.0.prob", 10**400),
    ("steps.0.logprob", 0.5), ("steps.0.rank", 0), ("steps.0.bytes", "9"), ("steps.0.bytes", "ß"),
    ("steps.0.text", 5), ("steps.0.trimmed", 3), ("steps.0.others_prob", -1), ("steps.0.entropy", None),
    ("steps.0.final_entropy", -1), ("steps.0.gap", None), ("steps.0.forward_s", None),
    ("steps.0.kv_bytes", 1.5),
    ("steps.0.draw", None), ("steps.0.draw.u", 1), ("steps.0.draw.u", -0.5), ("steps.0.draw.low", 2),
    ("steps.0.draw.method", "magic"), ("steps.0.draw.method", ["greedy"]),
    ("steps.0.candidates.0.token_id", 10**30), ("steps.0.candidates.0.prob", 2),
    ("steps.0.candidates.0.rank", 0), ("steps.0.candidates.0.listed_for", {}),
    ("steps.0.candidates.0.logprob", 1),
    ("steps.0.stages.0.mass", 7), ("steps.0.stages.0.kept", -1),
    ("prompt.ids", [8]), ("prompt.tokens.0.end", 2), ("prompt.tokens.0.segment", 1),
    ("prompt.tokens.0.rank", 0),
    ("prompt.segments.0.kind", "evil"), ("params.temperature", -1), ("params.top_k", -5),
    ("params.logit_bias", {"x": 1}), ("params.logit_bias", {"１": 1}), ("params.extra", 1),
    ("model.end_ids", 2), ("model.vocabulary", -1), ("finished.reason", "bored"), ("finished.trimmed", [[1]]),
    ("finished.trimmed", [["a", 1]]), ("finished.trimmed", [[10**9, 1]]), ("finished.trimmed", [[0, 3]]),
    ("finished.trimmed", [[-1, 1]]), ("prompt.segments.0.end", 2), ("model.end_ids", [SIZE]),
    ("params.banned", [SIZE]), ("steps.0.draw.u", None), ("steps.0.draw.method", "greedy"),
    ("id", "../../etc/passwd"), ("parent", {"trace": "x", "step": 0}),
    ("parent", 3), ("parent", {}), ("more", 1), ("id", 5),
    ("steps.0.token_id", 7 + 1), ("steps.0.candidates.0.token_id", 7), ("steps.0.candidates.0.token_id", 6),
    ("steps.0.candidates.0.prob", 0.99), ("steps.0.candidates.1.prob", 2e-6), ("steps.0.others_prob", 0.1),
    ("steps.0.candidates.0.final_prob", 0.99), ("steps.0.others_final_prob", 2e-6),
    ("steps.0.candidates", []), ("steps.0.bytes", "68"), ("steps.0.bytes", "6868"), ("steps.0.trimmed", 1),
    ("finished.text", "h"), ("finished.text", "hi\ud83d"), ("finished.text", ""),
    ("finished.trimmed", [[0, 1]]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value"), HOSTILE)
def test_a_changed_trace_is_refused_in_one_sentence(path: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"must|has|broken|version|no event|is not") as caught:
        Trace.from_json(broken(path, value))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "source",
    [
        "", "nothing", "[]", "3", "null", '"x"', "{", "NaN", '{"version": NaN}', '{"version": 1}',
        '{"version": Infinity}', "[" * 100_000, '{"version":' * 100_000, "9" * 10_000, b"\xff\xfe\xfa",
        b"\x00",
        '{"version": 1, "id": ' + "[" * 900 + "]" * 900 + "}",
    ],
    ids=range(17),
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_one_sentence(source: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"[tT]race") as caught:
        Trace.from_json(source)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "record",
    [{}, {"event": "x"}, {"event": []}, {"event": None}, {"event": "end"}, {"event": "token", "lane": "x"}],
)
def test_what_is_no_event_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|has|broken|version|no event|is not"):
        from_event_record(record)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_mutation_of_a_trace_does_more_than_raise_value_error(data: st.DataObject) -> None:
    """Anywhere in the tree, any JSON value: refused in one sentence, or read as a trace that can be saved."""
    plain = json.loads(example().to_json())
    place: Any = plain
    while True:
        name = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not (isinstance(place[name], dict | list) and place[name] and data.draw(st.booleans())):
            break
        place = place[name]
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
        max_leaves=3,
    )
    place[name] = data.draw(anything)
    try:
        read = Trace.from_json(json.dumps(plain))
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017 - not every mutation is wrong
    else:
        assert Trace.from_json(read.to_json()) == read


def test_a_run_is_collected_with_its_trims_by_index() -> None:
    made = example()
    steps = tuple(replace(made.steps[0], index=index) for index in range(3))
    finished = replace(made.finished, trimmed=((1, 1),))
    trace = collect(made.model, made.params, [made.prompt, *steps, finished])
    assert [step.trimmed for step in trace.steps] == [0, 1, 0]
    assert (trace.prompt, trace.finished, trace.parent) == (made.prompt, finished, None)
    assert len(trace.id) == 32
    assert collect(made.model, made.params, [made.prompt, finished]).id != trace.id


def test_the_trace_imports_no_heavy_library() -> None:
    """Whatever shows or stores a run must do without torch and the page's libraries."""
    imported: set[str] = set()
    for name in ("trace", "checks", "codec", "params"):
        for node in ast.walk(ast.parse((Path(module.__file__).parent / f"{name}.py").read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
    own = {"playground.checks", "playground.codec", "playground.params"}
    assert own < imported
    assert not {name.split(".")[0] for name in imported} & {
        "torch",
        "transformers",
        "gradio",
        "plotly",
        "numpy",
    }
