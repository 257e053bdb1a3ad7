"""Plotly in the board: its own script, served by us, and the empty figures that the board fills."""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr
import plotly

from playground.figures.timeline import timeline

LIBRARY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def plots_script() -> str:
    """JavaScript that names the library's address and the figures' looks; makes the library be served.

    The address has no host and no leading slash, so that it holds under a root path and without internet.
    """
    gr.set_static_paths([LIBRARY])
    looks = {name: json.loads(timeline((), dark=name == "dark").to_json()) for name in ("light", "dark")}
    plots = {"library": f"gradio_api/file={LIBRARY.as_posix()}", "timeline": looks}
    return f"const PLOTS = {json.dumps(plots)};"
