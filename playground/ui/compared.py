"""What the board is told of a comparison: how it begins, what was found, and a stored one as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from playground.codec import to_plain
from playground.comparing import numbers, sample_tree, sweep_of
from playground.figures.sweep import sweep as sweep_figure
from playground.findings import Comparison
from playground.findings.compare import Kind
from playground.trace import ModelInfo, Prompt, SamplingParams, Trace
from playground.ui.compare import Plan
from playground.ui.host import Engine
from playground.ui.recorded import texts_of, told_by
from playground.ui.records import Op, Recorder, settings
from playground.ui.weights import weight_bytes


def opening(
    recorder: Recorder,
    info: ModelInfo,
    of: Plan | Comparison,
    params: Sequence[SamplingParams],
    weights: int | None,
) -> Op:
    """The operation with which a comparison begins. `weights`: bytes that a pass reads."""
    values = [] if of.sweep is None else [getattr(each, of.sweep) for each in params]
    return {
        **recorder.reset(info, lanes=len(params), weights=weights),
        "kind": of.kind,
        "names": list(of.names),
        "params": [settings(each) for each in params],
        "batch": {"dtype": info.dtype, "exact": of.exact, "same_dice": of.same_dice},
        "sweep": None if of.sweep is None else {"setting": of.sweep, "values": values},
    }


def findings(
    kind: Kind,
    sweep: str | None,
    names: Sequence[str],
    traces: Sequence[Trace],
    visible: Callable[[int], str],
) -> list[Op]:
    """What comes after the last token."""
    ops: list[Op] = [{"op": "numbers", "rows": [to_plain(row) for row in numbers(names, traces)]}]
    if kind == "samples":
        ops.append({"op": "tree", "tree": to_plain(sample_tree(traces, visible))})
    if sweep is not None:
        found = sweep_of(sweep, traces, max(trace.params.max_tokens for trace in traces))
        ops.append({"op": "figure", "name": "sweep", "figure": both_themes(sweep_figure, found)})
    return ops


def both_themes(draw: Callable[..., Any], *found: Any) -> Op:
    """A figure for the light page and one for the dark, as plotly's JSON."""
    return {theme: json.loads(draw(*found, dark=theme == "dark").to_json()) for theme in ("light", "dark")}


def replay(comparison: Comparison, engine: Engine | None) -> list[Op]:
    """The operations that show a stored comparison.

    It can go on where `engine`, the one at work, runs the very model that made it; else it says why not.
    """
    traces = comparison.traces
    info, params = traces[0].model, [trace.params for trace in traces]
    live = engine is not None and engine.info.sha256 == info.sha256
    recorder = told_by(traces)
    began = opening(recorder, info, comparison, params, weight_bytes(engine) if live else None)
    ops = [
        {
            **began,
            "recorded": {"model": info.name, "seed": began["params"][0]["seed"]},
            "reference": comparison.reference,
            "said": said_of(traces[0].prompt),
            "live": live,
            "why": "" if live else _why_not(info, engine),
        },
        recorder.prompt(traces[0].prompt),
    ]
    for number, trace in enumerate(traces):
        if trace.steps:
            ops.append(recorder.tokens(number, trace.steps))
        ops.append(recorder.end(replace(trace.finished, lane=number)))
    texts = texts_of(traces)
    return ops + findings(comparison.kind, comparison.sweep, comparison.names, traces, texts.__getitem__)


def _why_not(info: ModelInfo, engine: Engine | None) -> str:
    if engine is None:
        return "It can be looked at; to go on from it needs its model, which is not there yet."
    return f"It can be looked at, but not gone on with: {info.name} made it, and {engine.info.name} runs now."


def said_of(prompt: Prompt) -> Op | None:
    """What a person typed to get this prompt, as far as its segments tell; None for a longer conversation."""
    typed = [each for each in prompt.segments if not each.added_by_template]
    text = {each.kind: prompt.text[each.start : each.end] for each in typed}
    if [each.kind for each in typed] == ["raw"]:
        return {"mode": "raw", "system": "", "prompt": text["raw"]}
    if [each.kind for each in typed] in (["user"], ["system", "user"]):
        return {"mode": "chat", "system": text.get("system", ""), "prompt": text["user"]}
    return None
