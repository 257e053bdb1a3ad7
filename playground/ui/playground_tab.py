"""The Playground tab: controls on the left, the board on the right."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import gradio as gr

from playground.ui.controls import FIELDS, FILTERS, form_of, make_controls
from playground.ui.examples import as_json
from playground.ui.listening import EACH, FREE
from playground.ui.look import looker
from playground.ui.parts import Board
from playground.ui.presets import PRESETS
from playground.ui.run import Server, generate, go_on
from playground.ui.stream import Outbox, Session, messages, press_of

# The conversation is kept by the page (strip/turns.js), not by the server; so is its owner (share/owner.js).
FROM_THE_PAGE = f"""(...values) => {{
    values[{FIELDS.index("history") + 3}] = window.tokenPlayground.history();
    values[1] = window.tokenPlaygroundParts.owner;
    values[2] = window.tokenPlaygroundParts.press();
    return values;
}}"""
PRESSED = "(session) => [session, window.tokenPlaygroundParts.press()]"
CHOOSE_EXAMPLE = f"(name) => window.tokenPlayground.example(({json.dumps(as_json())})[name])"


def playground_tab(server: Server, first: str | None, session: gr.State) -> None:
    """Lay the tab out where this is called. `first`: the message whose run the first paint shows.

    `session` holds a Session.
    """
    with gr.Row(elem_classes="columns"):
        with gr.Column(elem_classes="controls", min_width=0):
            controls = make_controls(server.settings.max_new_tokens)
        board = Board(value=first, server_functions=[looker(server)], elem_id="board")
    _wire(server, board, controls, session)


def _wire(server: Server, board: Board, controls: dict[str, Any], session: gr.State) -> None:
    async def start(
        own: Session, owner: str | None, press: int | None, request: gr.Request, *values: Any
    ) -> AsyncGenerator[str]:
        by = server.visitor(owner, request)

        async def work(outbox: Outbox) -> None:
            await generate(
                server, outbox, lambda: form_of(values), transport=own.transport, by=by, recent=own.recent
            )

        async with aclosing(messages(own, work, press or 0)) as made:
            async for message in made:
                yield message

    async def go(
        own: Session,
        owner: str | None,
        press: int | None,
        asked: gr.EventData,
        request: gr.Request,
        *values: Any,
    ) -> AsyncGenerator[str]:
        by = server.visitor(owner, request)

        async def work(outbox: Outbox) -> None:
            await go_on(
                server, outbox, asked._data, lambda anew: form_of(values, anew=anew), own.transport, by,
                own.recent,
            )  # fmt: skip

        async with aclosing(messages(own, work, press or 0)) as made:
            async for message in made:
                yield message

    async def stop(own: Session, press: int | None) -> None:
        own.stop(press or 0)

    async def hold(own: Session, asked: gr.EventData) -> None:
        own.pause(press_of(asked._data))

    async def pace(own: Session, tokens_a_second: float | None) -> None:
        own.transport.pace = float(tokens_a_second or 0)

    sent = [session, controls["owner"], controls["press"], *(controls[name] for name in FIELDS)]
    controls["generate"].click(start, sent, board, js=FROM_THE_PAGE, **EACH)
    board.go(go, sent, board, js=FROM_THE_PAGE, **EACH)
    board.hold(hold, [session], None, **EACH)
    controls["pace"].input(pace, [session, controls["pace"]], None, trigger_mode="always_last", **FREE)
    controls["stop"].click(stop, [session, controls["press"]], None, js=PRESSED, **EACH)

    names = [each.name for each in FILTERS]
    sliders = [controls[name] for name in names]
    values = json.dumps({preset: [numbers[name] for name in names] for preset, numbers in PRESETS.items()})
    controls["preset"].input(
        None, controls["preset"], sliders, js=f"(name) => ({values})[name]", show_progress="hidden"
    )
    controls["example"].input(
        None, controls["example"], [controls["mode"], controls["prompt"]], js=CHOOSE_EXAMPLE,
        show_progress="hidden",
    )  # fmt: skip
    controls["prompt"].input(None, None, controls["example"], js="() => null", show_progress="hidden")
    for slider in sliders:
        slider.input(None, None, controls["preset"], js="() => null", show_progress="hidden")
