"""The components of our own: the header and the board.

They are static templates that never mention the value, filled by JavaScript: text of a model or a person
reaches the page as text nodes only. The scripts are small files under strip/, joined here into one library
that the page's head holds once for all components.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    "header",
)


def script(*names: str) -> str:
    return "\n".join((STRIP / f"{name}.js").read_text(encoding="utf-8") for name in names)


def library() -> str:
    """All our JavaScript. Its functions see each other and nobody else sees them but by their starters."""
    starters = ", ".join(f"start{name}" for name in ("Board", "Header"))
    parts = (plots_script(), script(*PURE, *VIEWS), f"return {{ {starters} }};")
    return "window.tokenPlaygroundParts = (() => {\n" + "\n".join(parts) + "\n})();"


def styles() -> str:
    """All our CSS, for the page's head. Gradio would rewrite it if it came as a component's own."""
    names = ("theme", "page", "tabs", "header", "board", "time", "talk", "hand", "look")
    return "\n".join((STRIP / f"{name}.css").read_text(encoding="utf-8") for name in names)


class _Part(gr.HTML):
    """A component whose value is a JSON string that its own JavaScript reads.

    `template`: its HTML under strip/. `events`: what it may trigger in Python; Gradio knows an event by its
    name in quotes in the script.
    """

    def __init__(self, template: str, events: Sequence[str], **kwargs: Any) -> None:
        send = ", ".join(f"{event}: (data) => trigger('{event}', data)" for event in events)
        start = f"window.tokenPlaygroundParts.start{template.capitalize()}"
        super().__init__(
            html_template=(STRIP / f"{template}.html").read_text(encoding="utf-8"),
            js_on_load=f"const send = {{ {send} }};\n"
            f"{start}(element, props, watch, (event, data) => send[event](data), server);",
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
        super().__init__("board", ("go", "hold"), **kwargs)


class Header(_Part):
    """Name of the page, the model and its state, light or dark."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("header", ("choose",), **kwargs)
