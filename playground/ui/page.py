"""The page: controls on the left, the board on the right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import gradio as gr

from playground.ui.api import add_api
from playground.ui.host import Host
from playground.ui.parts import Board, Header, styles
from playground.ui.presets import DEFAULT, PRESETS
from playground.ui.run import Server, generate, read_form, sentence, status
from playground.ui.stream import Outbox, Session, messages
from playground.ui.theme import theme

PRESET_FIELDS = ("temperature", "top_k", "top_p", "min_p")
PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty")
NUMBERS = (*PRESET_FIELDS, "max_tokens", *PENALTIES)
WHOLE = {"top_k", "max_tokens"}
TITLE = "Token Playground"


def build(server: Server) -> gr.Blocks:
    """The page of this server. Keeps nothing of a visitor outside that visitor's own session."""
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as page:
        header = Header(value=header_json(server.host), elem_id="header")
        with gr.Row(elem_id="tab-playground", elem_classes="columns"):
            with gr.Column(elem_classes="controls", min_width=0):
                controls = _controls(server)
            board = Board(elem_id="board")
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


def _controls(server: Server) -> dict[str, Any]:
    """The left column; components by name."""
    made: dict[str, Any] = {}
    with gr.Column(elem_classes="card panel", min_width=0):
        made["mode"] = gr.Radio(
            [("Chat", "chat"), ("Raw text", "raw")], value="chat", show_label=False, elem_id="mode",
            elem_classes="segments", container=False,
        )  # fmt: skip
        made["system"] = gr.Textbox(
            label="System message", placeholder="left empty: the template’s own, if it has one", lines=2,
            max_lines=8, elem_id="system",
        )  # fmt: skip
        made["prompt"] = gr.Textbox(
            label="Prompt", value="What is the capital of France?", lines=3, max_lines=14, elem_id="prompt",
        )  # fmt: skip
        with gr.Row(elem_classes="buttons"):
            made["generate"] = gr.Button("Generate", variant="primary", elem_id="generate")
            made["stop"] = gr.Button("Stop", elem_id="stop")
    with gr.Column(elem_classes="card panel", min_width=0):
        made["preset"] = gr.Radio(
            list(PRESETS), value=DEFAULT, show_label=False, elem_id="preset", elem_classes="pills", container=False
        )
        start = PRESETS[DEFAULT]
        made["temperature"] = _slider(
            "Temperature", "temperature", 0, 2, 0.01, start, "Higher flattens the odds; 0 always takes the likeliest."
        )
        made["top_k"] = _slider("Top-k", "top_k", 0, 200, 1, start, "Only the k likeliest stay; 0 keeps all.")
        made["top_p"] = _slider(
            "Top-p", "top_p", 0.01, 1, 0.01, start, "The fewest tokens that hold this share stay; 1 keeps all."
        )
        made["min_p"] = _slider(
            "Min-p", "min_p", 0, 1, 0.01, start, "Tokens under this share of the likeliest go; 0 keeps all."
        )
        most = server.settings.max_new_tokens
        made["max_tokens"] = _slider(
            "Most new tokens", "max_tokens", 1, most, 1, {"max_tokens": min(128, most)}, "The answer is cut here."
        )
        made["seed"] = gr.Textbox(
            label="Seed", placeholder="drawn anew for each run", max_lines=1, elem_id="seed", elem_classes="line",
            info="The same seed rolls the same dice.",
        )  # fmt: skip
        with gr.Accordion("Stop strings and penalties", open=False, elem_id="more"):
            made["stops"] = gr.Textbox(
                label="Stop strings", lines=2, max_lines=6, elem_id="stop-strings",
                info="One a line, taken literally. The answer ends before the first that appears.",
            )  # fmt: skip
            off = {"repetition_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0}
            made["repetition_penalty"] = _slider(
                "Repetition", "repetition_penalty", 0.5, 2, 0.01, off, "Over 1 makes tokens already there less likely."
            )
            made["presence_penalty"] = _slider(
                "Presence", "presence_penalty", -2, 2, 0.05, off, "Taken once from tokens of the answer."
            )
            made["frequency_penalty"] = _slider(
                "Frequency", "frequency_penalty", -2, 2, 0.05, off, "Taken for each time a token was used."
            )
    return made


def _slider(
    label: str, name: str, low: float, high: float, step: float, start: dict[str, float], info: str
) -> gr.Slider:
    return gr.Slider(
        low, high, start[name], step=step, label=label, info=info, buttons=[], elem_id=name.replace("_", "-")
    )


def _wire(server: Server, header: Header, board: Board, controls: dict[str, Any]) -> None:
    session = gr.State(Session())
    free = {"concurrency_limit": None, "api_visibility": "private", "show_progress": "hidden"}

    async def start(
        own: Session, mode: str, system: str | None, prompt: str | None, seed: str | None, stops: str | None,
        *numbers: float | None,
    ) -> AsyncIterator[str]:
        values = {
            name: int(value) if name in WHOLE and value is not None else value
            for name, value in zip(NUMBERS, numbers, strict=True)
        }

        async def work(outbox: Outbox) -> None:
            try:
                form = read_form(mode, system or "", prompt or "", seed or "", stops or "", values)
            except ValueError as error:
                outbox.post(status("error", sentence(error)))
                return
            await generate(server, outbox, form)

        async for message in messages(own, work):
            yield message

    async def stop(own: Session) -> None:
        own.stop()

    async def watch() -> AsyncIterator[str]:
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

    sliders = [controls[name] for name in PRESET_FIELDS]
    values = json.dumps({name: [preset[key] for key in PRESET_FIELDS] for name, preset in PRESETS.items()})
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
