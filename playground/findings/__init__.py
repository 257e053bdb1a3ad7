"""Findings: what looks at traces found out, as frozen data.

Like a trace, findings need neither torch nor transformers, gradio or plotly: whatever shows or stores them
does without. One file per look.
"""

from playground.findings.compare import (
    LARGEST_FILE,
    MOST_LANES,
    Branch,
    Comparison,
    Divergence,
    LaneNumbers,
    Parting,
    Rival,
    SampleTree,
    Sweep,
)

__all__ = [
    "LARGEST_FILE", "MOST_LANES", "Branch", "Comparison", "Divergence", "LaneNumbers", "Parting", "Rival",
    "SampleTree", "Sweep",
]  # fmt: skip
