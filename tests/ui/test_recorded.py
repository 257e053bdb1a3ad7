"""The run of the first paint: it can be read, it is the bundled model's, it says what it is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from playground.engine.bundled import NAME, SHA256
from playground.ui import recorded


def test_the_shipped_run_is_the_bundled_models() -> None:
    trace = recorded.recorded_trace()
    assert (trace.model.name, trace.model.sha256) == (NAME, SHA256)
    assert trace.params.seed is not None
    assert trace.finished.reason == "end_token"


def test_its_message_is_older_than_any_run_and_labelled() -> None:
    message = json.loads(recorded.recorded_message())
    trace = recorded.recorded_trace()
    assert message["run"] == 1
    assert [op["op"] for op in message["ops"]] == ["reset", "prompt", "tokens", "end"]
    assert message["ops"][0]["recorded"] == {"model": NAME, "seed": trace.params.seed}
    assert message["ops"][0]["params"]["temperature"] == trace.params.temperature
    assert [step["k"] for step in message["ops"][2]["steps"]] == list(trace.answer_ids)
    assert len(recorded.recorded_message()) < 200_000  # it travels with the page itself


def test_renewing_packs_a_saved_run_and_refuses_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "SHIPPED", tmp_path / "run.json.gz")
    saved = tmp_path / "run.json"
    saved.write_text(recorded.recorded_trace().to_json(), "utf-8")
    recorded.renew(saved)
    packed = recorded.SHIPPED.read_bytes()
    assert gzip.decompress(packed).decode() == saved.read_text("utf-8")
    recorded.renew(saved)
    assert recorded.SHIPPED.read_bytes() == packed  # the same run gives the same file
    saved.write_text("{}")
    with pytest.raises(ValueError, match="no version"):
        recorded.renew(saved)
