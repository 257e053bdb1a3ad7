"""The run that the first paint shows: recorded, shipped beside this file, sent with the page itself.

To renew it, run the bundled model and pack what it saved:

    python -m playground "What is the capital of France?" --seed 19 --max-tokens 60 --save run.json
    python -m playground.ui.recorded run.json
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from playground.codec import to_plain
from playground.trace import Trace
from playground.ui.records import Op, Recorder, compact

WEIGHTS = 134_515_008 * 4  # bytes that a pass of the bundled model reads in float32
SHIPPED = Path(__file__).with_name("recorded_run.json.gz")


@cache
def recorded_trace() -> Trace:
    """The shipped run. Raises ValueError if this version cannot read it."""
    return Trace.from_json(gzip.decompress(SHIPPED.read_bytes()))


def recorded_message() -> str:
    """The shipped run as the board's first message: older than any run of a visitor."""
    return compact({"run": 1, "n": 1, "ops": replay(recorded_trace())})


def replay(trace: Trace) -> list[Op]:
    """The operations that show a stored run, and say that it is one."""
    recorder = told_by([trace])
    return [
        {
            **recorder.reset(trace.model, lanes=1, weights=WEIGHTS),
            "params": to_plain(trace.params),
            "recorded": {"model": trace.model.name, "seed": trace.params.seed},
        },
        recorder.prompt(trace.prompt),
        recorder.tokens(0, trace.steps),
        recorder.end(trace.finished),
    ]


def told_by(traces: Sequence[Trace]) -> Recorder:
    """A recorder that knows what stored runs of one prompt tell of their tokens, without their model."""
    prompt, ends = traces[0].prompt, traces[0].model.end_ids
    control = {token.token_id for token in prompt.tokens if token.is_special} | set(ends)
    return Recorder(visible=texts_of(traces).__getitem__, is_special=control.__contains__)


def texts_of(traces: Sequence[Trace]) -> dict[int, str]:
    """The visible forms of all tokens that the steps list."""
    return {item.token_id: item.text for trace in traces for step in trace.steps for item in step.candidates}


def renew(source: Path) -> None:
    """Pack a saved run into the shipped file. Raises ValueError if it is not a trace."""
    text = Trace.from_json(source.read_bytes()).to_json()
    SHIPPED.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    renew(Path(sys.argv[1]))
