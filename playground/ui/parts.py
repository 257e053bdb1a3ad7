"""The components of our own: the header and the boards.

They are static templates that never mention the value, filled by JavaScript: text of a model or a person
reaches the page as text nodes only. The scripts (assets.py) are one library that the page's head holds once
for all components.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from playground.ui import assets
from playground.ui.plots import LIBRARY, looks


def library() -> str:
    """All our JavaScript; makes the charts' library be served.

    Its address has no host and no leading slash, so that it holds under a root path and without internet.
    """
    gr.set_static_paths([LIBRARY])
    return assets.library({"library": f"gradio_api/file={LIBRARY.as_posix()}", **looks()})


class _Part(gr.HTML):
    """A component whose value is a JSON string that its own JavaScript reads.

    `template`: its HTML under strip/. `starter`: the function of the library that fills it. `events`: what it
    may trigger in Python; Gradio knows an event by its name in quotes in the script. With each event and each
    question to a server function goes whose it is, and its number on this page (strip/share/owner.js).
    """

    def __init__(self, template: str, starter: str, events: Sequence[str], **kwargs: Any) -> None:
        send = ", ".join(f"{event}: (data) => trigger('{event}', own(data))" for event in events)
        functions = [function.__name__ for function in kwargs.get("server_functions", ())]
        ask = ", ".join(f"{name}: (asked) => server.{name}(own(asked))" for name in functions)
        start = f"window.tokenPlaygroundParts.{starter}"
        super().__init__(
            html_template=assets.template(template),
            js_on_load="const own = (data) => ({ ...data, owner: window.tokenPlaygroundParts.owner, "
            "press: window.tokenPlaygroundParts.press() });\n"
            f"const send = {{ {send} }};\nconst ask = {{ {ask} }};\n"
            f"{start}(element, props, watch, (event, data) => send[event](data), ask);",
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
        super().__init__("board", "startBoard", ("go", "hold"), **kwargs)


class CompareBoard(_Part):
    """Lanes side by side: their form, strips, numbers, and where they part."""

    def __init__(self, **kwargs: Any) -> None:
        events = ("run", "fork", "halt", "save", "open")
        super().__init__("compare/compare", "startCompareBoard", events, **kwargs)


class Header(_Part):
    """Name of the page, the model and its state, light or dark."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("header", "startHeader", ("choose",), **kwargs)


class ShareBox(_Part):
    """Links, saved runs and files: the button in the header and the panel below it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("share/share", "startShare", ("save", "file", "open", "replay"), **kwargs)


class PromptBoard(_Part):
    """From messages to ids: the template, the rendered prompt, its tokens, and runs of two prompts."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("prompt/prompt", "startPromptBoard", ("run", "halt"), **kwargs)


class InsideBoard(_Part):
    """One token of a run, and ways to look inside the model there."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("inside/inside", "startInsideBoard", (), **kwargs)


class LabsBoard(_Part):
    """Questions that are answered by measuring: their forms, and what was found."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("labs/labs", "startLabs", ("run", "halt"), **kwargs)


class GuideBoard(_Part):
    """Pages on how an answer comes about, with what the reader tried of them."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("guide/guide", "startGuideBoard", (), **kwargs)
