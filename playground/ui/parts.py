"""The two components of our own: the header and the board.

Both are static templates that never mention the value, filled by JavaScript: text of a model or a person
reaches the page as text nodes only. The scripts are small files under strip/, joined here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from playground.ui.plots import plots_script

STRIP = Path(__file__).parent / "strip"
PURE = (
    "numbers",
    "text",
    "records",
    "color",
    "decision",
    "arithmetic",
    "thought",
    "watchdata",
    "passes",
    "plotdata",
    "paragraphs",
    "meters",
    "rewrite",
)  # need no page
VIEWS = (
    "dom",
    "notice",
    "chips",
    "popover",
    "ask",
    "softmax",
    "funnel",
    "dice",
    "whatif",
    "find",
    "inspector",
    "lane",
    "turns",
    "watch",
    "think",
    "ribbon",
    "timeline",
    "looptable",
    "timing",
    "branches",
    "tree",
    "edit",
    "hand",
    "board",
)


def script(*names: str) -> str:
    return "\n".join((STRIP / f"{name}.js").read_text(encoding="utf-8") for name in names)


def styles() -> str:
    """All our CSS, for the page's head. Gradio would rewrite it if it came as a component's own."""
    names = ("theme", "page", "header", "board", "time", "talk", "hand", "look")
    return "\n".join((STRIP / f"{name}.css").read_text(encoding="utf-8") for name in names)


class _Part(gr.HTML):
    """A component whose value is a JSON string that its own JavaScript reads."""

    def __init__(self, template: str, javascript: str, **kwargs: Any) -> None:
        super().__init__(
            html_template=(STRIP / f"{template}.html").read_text(encoding="utf-8"),
            js_on_load=javascript,
            apply_default_css=False,
            **kwargs,
        )

    def preprocess(self, payload: Any) -> None:
        return None  # the page never sends it back

    def postprocess(self, value: str | None) -> str | None:
        return value

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "operations of the board, as JSON"}


class Board(_Part):
    """Prompt strip, answer strip, popover, plain text, meters and inspector."""

    def __init__(self, **kwargs: Any) -> None:
        start = "\nstartBoard(element, props, watch, trigger, server);"
        javascript = plots_script() + "\n" + script(*PURE, *VIEWS) + start
        super().__init__("board", javascript, **kwargs)


class Header(_Part):
    """Name of the page, the model and its state, light or dark."""

    def __init__(self, **kwargs: Any) -> None:
        javascript = script("dom", "header") + "\nstartHeader(element, props, watch, trigger, server);"
        super().__init__("header", javascript, **kwargs)
