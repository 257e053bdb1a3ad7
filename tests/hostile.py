"""A run whose every text wants to be something else than text."""

from __future__ import annotations

from dataclasses import replace

from playground.trace import Segment, Trace
from playground.ui.recorded import recorded_trace

HOSTILE = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)", "${alert(1)}", "`", "{{7*7}}", "<!--<script>", "\\u003c/script>", "]]>",
    "<b>bold</b>", "$x$", "&lt;i&gt;", "\u2028\u2029", "\ud800", "\u202eabc",
)  # fmt: skip


def hostile_trace() -> Trace:
    """The shipped run with such texts in the place of all its own."""
    trace, every = recorded_trace(), " ".join(HOSTILE)
    asked = every.replace("\ud800", "").replace("\u2028\u2029", "").replace("\u202e", "")
    steps = []
    for step in trace.steps:
        texts = [HOSTILE[place % len(HOSTILE)] for place in range(len(step.candidates))]
        candidates = tuple(
            replace(item, text=text, removed_why=None if item.removed_by is None else text)
            for item, text in zip(step.candidates, texts, strict=True)
        )
        text = HOSTILE[step.index % 12]
        stages = tuple(replace(stage, setting=f"{stage.setting}{HOSTILE[1]}") for stage in step.stages)
        steps.append(
            replace(step, text=text, bytes=text.encode(), trimmed=0, candidates=candidates, stages=stages)
        )
    answer = "".join(step.text for step in steps)
    notes = HOSTILE[:3]
    prompt = replace(
        trace.prompt, text=asked * 3, segments=(Segment("raw", 0, 3 * len(asked), False),), notes=notes,
        tokens=tuple(
            replace(token, segment=0, bytes=HOSTILE[token.position % 12].encode())
            for token in trace.prompt.tokens
        ),
    )  # fmt: skip
    return replace(
        trace,
        prompt=prompt,
        steps=tuple(steps),
        model=replace(trace.model, name=HOSTILE[0], device=HOSTILE[1], dtype=HOSTILE[2]),
        finished=replace(trace.finished, text=answer, message=every, detail=HOSTILE[2], trimmed=()),
        created=HOSTILE[0],
    )
