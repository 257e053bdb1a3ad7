"""The page: the header, and below it one tab for each way to look."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import gradio as gr

from playground.experiments import LABS, Lab
from playground.ui.api import add_api
from playground.ui.assets import styles
from playground.ui.compare_tab import compare_tab
from playground.ui.guide_tab import guide_tab
from playground.ui.header import choose_model, header_json, header_states, menu_reader
from playground.ui.inside_tab import inside_tab
from playground.ui.labs_tab import labs_tab
from playground.ui.lanes import Bench
from playground.ui.listening import EACH, FREE
from playground.ui.parts import Header, library
from playground.ui.playground_tab import playground_tab
from playground.ui.prompt_tab import prompt_tab
from playground.ui.run import Server
from playground.ui.share_box import share_box
from playground.ui.stream import Session
from playground.ui.theme import theme

TITLE = "Token Playground"


def build(server: Server, first: str | None = None, labs: Mapping[str, Lab] = LABS) -> gr.Blocks:
    """The page of this server. Keeps nothing of a visitor outside that visitor's own session.

    `first`: the message whose run the first paint shows. `labs`: those of the Labs tab, by name.
    """
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as page:
        session, bench = gr.State(Session()), gr.State(Bench())
        _header(server)
        share_box(server, session, bench)
        with gr.Tabs(elem_id="tabs"):
            with gr.Tab("Playground", elem_id="tab-playground"):
                playground_tab(server, first, session)
            with gr.Tab("Compare", elem_id="tab-compare"):
                compare_tab(server, bench)
            with gr.Tab("Prompt", elem_id="tab-prompt"):
                prompt_tab(server, gr.State(Bench()))
            with gr.Tab("Inside", elem_id="tab-inside"):
                inside_tab(server)
            with gr.Tab("Labs", elem_id="tab-labs"):
                labs_tab(server, gr.State(Bench()), labs)
            with gr.Tab("Guide", elem_id="tab-guide"):
                guide_tab(server)
        add_api(server)
    return page


def launch_options() -> dict[str, Any]:
    """How the page wants to be launched."""
    return {
        "theme": theme(),
        "head": f"<style>{styles()}</style><script>{library()}</script>",
        "footer_links": ["api"],
        "run_history": False,
        "ssr_mode": False,
    }


def _header(server: Server) -> None:
    header = Header(value=header_json(server.host), server_functions=[menu_reader(server)], elem_id="header")

    async def choose(asked: gr.EventData) -> AsyncGenerator[str]:
        async for shown in choose_model(server, asked._data):
            yield shown

    async def watch() -> AsyncGenerator[str]:
        async for shown in header_states(server.host):
            yield shown

    gr.on(None, watch, None, header, **FREE)
    header.choose(choose, None, header, **EACH)
