"""Named settings of the sliders."""

from __future__ import annotations

_OFF = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}

PRESETS: dict[str, dict[str, float]] = {
    "greedy": {"temperature": 0.0, **_OFF},
    "precise": {"temperature": 0.3, **_OFF, "top_p": 0.9},
    "balanced": {"temperature": 0.8, **_OFF, "min_p": 0.05},
    "creative": {"temperature": 1.1, **_OFF, "min_p": 0.03},
    "wild": {"temperature": 1.6, **_OFF},
}
DEFAULT = "balanced"
