"""The looks that the guide has before a model is loaded: of the recorded run, still what it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from playground.engine.bundled import SHA256
from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.ui import recorded_looks
from playground.ui.recorded import recorded_trace
from playground.ui.records import SHORT_SHA


def test_every_request_has_its_answer_and_the_file_stays_small() -> None:
    told = json.loads(recorded_looks.recorded_looks())
    assert told["model"] == SHA256[:SHORT_SHA]
    assert [request for request, _ in told["looks"]] == list(recorded_looks.requests(recorded_trace()))
    assert all(answer["look"] for _, answer in told["looks"])
    assert recorded_looks.SHIPPED.stat().st_size < 60_000


def close(one: Any, other: Any) -> None:
    """The same but for rounding, whose size is that of the numbers beside it."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            close(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            close(left, right)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-3)
    else:
        assert one == other


@pytest.mark.model
def test_the_bundled_model_still_says_the_same(bundled: Loaded) -> None:
    engine = LocalEngine(bundled)
    try:
        close(recorded_looks.take(engine), json.loads(recorded_looks.recorded_looks())["looks"])
    finally:
        engine.close()
