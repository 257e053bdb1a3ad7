"""Plotly in the board: its own script, and the empty figures that the board fills."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import plotly

from playground.figures.timeline import timeline

LIBRARY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def looks() -> dict[str, Any]:
    """The empty figures, each in light and dark, as plotly's JSON."""
    return {
        "timeline": {
            name: json.loads(timeline((), dark=name == "dark").to_json()) for name in ("light", "dark")
        }
    }
