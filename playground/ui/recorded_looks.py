"""Looks inside the bundled model at the recorded run, shipped beside this file: the guide has them before a
model is loaded, and wherever another one runs.

To take them anew, after `requests` or the recorded run changed:

    python -m playground.ui.recorded_looks
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from playground.settings import Settings
from playground.trace import Trace
from playground.ui.host import Engine, Host
from playground.ui.inside import read_question, see
from playground.ui.recorded import recorded_trace
from playground.ui.records import SHORT_SHA, Op, compact
from playground.ui.run import Server
from playground.ui.seats import Seats

SHIPPED = Path(__file__).with_name("recorded_looks.json.gz")
LAYERS = 30  # of the bundled model, which the recorded run is of
FIRST = 12  # tokens of the answer whose rows of the embedding table are shown


def requests(trace: Trace) -> Iterator[dict[str, Any]]:
    """What the pages of the guide (strip/guide/pages) ask about a run: the same fields and values."""
    ids = [*(token.token_id for token in trace.prompt.tokens), *trace.answer_ids]
    yield {"what": "shape"}
    kinds = [segment.kind for segment in trace.prompt.segments]
    typed = [token.token_id for token in trace.prompt.tokens if kinds[token.segment] == "user"]
    for token_id in dict.fromkeys([*typed, *trace.answer_ids[:FIRST]]):
        yield {"what": "embedding", "id": token_id, "side": "input"}
    beginning, middle = len(trace.prompt.tokens) - 1, LAYERS // 2
    yield {"what": "row", "ids": ids, "position": beginning, "layer": middle, "head": 0}
    end = len(ids) - 1
    yield {"what": "positions", "ids": ids, "first": end, "second": 0, "layer": 0, "head": 0}


def take(engine: Engine) -> list[list[Op]]:
    """Pairs of a request and its answer, without figures: the guide draws its own."""
    server = Server(Host(lambda progress: engine), Seats(1), Settings())
    model = engine.info.sha256[:SHORT_SHA]
    pairs = []
    for request in requests(recorded_trace()):
        told = see(engine, read_question({"model": model, **request}, engine, server))
        pairs.append([request, {"look": told["look"], "bound": told["bound"]}])
    return pairs


@cache
def recorded_looks() -> str:
    """The shipped looks as JSON: {"model": of which, "looks": [[request, answer]…]}."""
    looks = json.loads(gzip.decompress(SHIPPED.read_bytes()))
    return compact({"model": recorded_trace().model.sha256[:SHORT_SHA], "looks": looks})


def renew(engine: Engine) -> None:
    """Pack the looks of the bundled model into the shipped file."""
    SHIPPED.write_bytes(gzip.compress(compact(take(engine)).encode(), 9, mtime=0))


def _bundled() -> Engine:
    from playground.ui.host import load_engine

    return load_engine(Settings(device="cpu", dtype="float32"), lambda text, share: None)


if __name__ == "__main__":
    renew(_bundled())
