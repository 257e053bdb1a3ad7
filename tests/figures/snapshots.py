"""Snapshots of figures: their JSON as sorted, rounded text, in files beside the tests.

`PLAYGROUND_RENEW=1 pytest tests/figures` writes them anew; the diff is then read by a person.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

HERE = Path(__file__).parent


def text_of(figure: go.Figure) -> str:
    return (
        json.dumps(_rounded(json.loads(figure.to_json())), indent=1, sort_keys=True, ensure_ascii=False)
        + "\n"
    )


def check(figure: go.Figure, name: str) -> None:
    """Compares with the file `name`.json. Raises AssertionError where they differ."""
    path = HERE / f"{name}.json"
    if os.environ.get("PLAYGROUND_RENEW") == "1":
        path.write_text(text_of(figure), encoding="utf-8")
    assert text_of(figure) == path.read_text(encoding="utf-8"), "PLAYGROUND_RENEW=1 renews it, if it is meant"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
