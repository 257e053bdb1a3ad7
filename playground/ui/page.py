"""The page: controls on the left, the board on the right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import gradio as gr

from playground.ui.api import add_api
from playground.ui.controls import FILTERS, NUMBERS, WHOLE, make_controls
from playground.ui.host import Host
from playground.ui.parts import Board, Header, styles
from playground.ui.presets import PRESETS
from playground.ui.run import Server, generate, read_form
from playground.ui.stream import Outbox, Session, messages
from playground.ui.theme import theme

TITLE = "Token Playground"


def build(server: Server, first: str | None = None) -> gr.Blocks:
    """The page of this server. Keeps nothing of a visitor outside that visitor's own session.

    `first`: the message whose run the first paint shows.
    """
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as page:
        header = Header(value=header_json(server.host), elem_id="header")
        with gr.Row(elem_id="tab-playground", elem_classes="columns"):
            with gr.Column(elem_classes="controls", min_width=0):
                controls = make_controls(server.settings.max_new_tokens)
            board = Board(value=first, elem_id="board")
        _wire(server, header, board, controls)
        add_api(server)
    return page


def launch_options() -> dict[str, Any]:
    """How the page wants to be launched."""
    return {
        "theme": theme(),
        "head": f"<style>{styles()}</style>",
        "footer_links": ["api"],
        "run_history": False,
        "ssr_mode": False,
    }


def _wire(server: Server, header: Header, board: Board, controls: dict[str, Any]) -> None:
    session = gr.State(Session())
    free = {"concurrency_limit": None, "api_visibility": "private", "show_progress": "hidden"}

    async def start(
        own: Session,
        mode: str,
        system: str | None,
        prompt: str | None,
        seed: str | None,
        stops: str | None,
        *numbers: float | None,
    ) -> AsyncGenerator[str]:
        values = {
            name: int(value) if name in WHOLE and value is not None else value
            for name, value in zip(NUMBERS, numbers, strict=True)
        }

        async def work(outbox: Outbox) -> None:
            texts = {"system": system, "prompt": prompt, "seed": seed, "stops": stops}
            await generate(server, outbox, lambda: read_form(mode, texts, values))

        async with aclosing(messages(own, work)) as sent:
            async for message in sent:
                yield message

    async def stop(own: Session) -> None:
        own.stop()

    async def watch() -> AsyncGenerator[str]:
        last = None
        while True:
            now = header_json(server.host)
            if now != last:
                last = now
                yield now
            if server.host.ready is not None or server.host.failure is not None:
                return
            await asyncio.sleep(0.2)

    typed = [controls[name] for name in ("mode", "system", "prompt", "seed", "stops", *NUMBERS)]
    # Listeners of ours wait in no queue of Gradio's: seats.py has the only one.
    controls["generate"].click(start, [session, *typed], board, trigger_mode="multiple", **free)
    controls["stop"].click(stop, [session], None, trigger_mode="multiple", **free)
    gr.on(None, watch, None, header, **free)

    names = [each.name for each in FILTERS]
    sliders = [controls[name] for name in names]
    values = json.dumps({preset: [numbers[name] for name in names] for preset, numbers in PRESETS.items()})
    controls["preset"].input(
        None, controls["preset"], sliders, js=f"(name) => ({values})[name]", show_progress="hidden"
    )
    for slider in sliders:
        slider.input(None, None, controls["preset"], js="() => null", show_progress="hidden")


def header_json(host: Host) -> str:
    """What the header shows of the model."""
    if host.failure is not None:
        shown = {"state": "failed", "name": "No model", "facts": host.failure, "share": 0}
    elif host.ready is None:
        share = host.loading.share
        facts = f"{host.loading.text} {share:.0%}" if share else host.loading.text
        shown = {"state": "loading", "name": "The model is loading", "facts": facts, "share": share}
    else:
        info = host.ready.info
        facts = f"{info.device} · {info.dtype} · {info.vocabulary:,} tokens"
        if info.context:
            facts += f" · context {info.context:,}"
        shown = {"state": "ready", "name": info.name, "facts": facts, "share": 1}
    return json.dumps(shown)
