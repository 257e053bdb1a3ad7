"""A sweep: one setting over a range of values."""

from __future__ import annotations

from collections.abc import Sequence

from playground.comparing.partings import first_difference, shown
from playground.findings import Sweep
from playground.trace import Trace


def sweep_of(setting: str, traces: Sequence[Trace], steps: int) -> Sweep:
    """The first `steps` tokens of each trace; their settings differ in `setting`, a number, in this order."""
    rows = [trace.steps[:steps] for trace in traces]
    ids = tuple(tuple(step.token_id for step in row) for row in rows)
    return Sweep(
        setting=setting,
        values=tuple(float(getattr(trace.params, setting)) for trace in traces),
        steps=steps,
        ids=ids,
        texts=tuple(tuple(map(shown, row)) for row in rows),
        probs=tuple(tuple(step.prob for step in row) for row in rows),
        entropy=tuple(tuple(step.entropy for step in row) for row in rows),
        final_entropy=tuple(tuple(step.final_entropy for step in row) for row in rows),
        changed=(None, *map(first_difference, ids, ids[1:])),
    )
