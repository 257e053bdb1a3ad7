"""The Prompt tab: one board that holds the messages, the template, the rendered prompt and its tokens."""

from __future__ import annotations

import gradio as gr

from playground.ui.listening import EACH, halt, listener
from playground.ui.parts import PromptBoard
from playground.ui.prompt_run import run_both
from playground.ui.prompts import renderer
from playground.ui.run import Server
from playground.ui.spelling import speller, tokenizer_of


def prompt_tab(server: Server, bench: gr.State) -> None:
    """Lay the tab out where this is called. `bench` holds a Bench."""
    board = PromptBoard(
        server_functions=[renderer(server), tokenizer_of(server), speller(server)], elem_id="prompt-board"
    )
    board.run(listener(server, run_both, instead=True), [bench], board, **EACH)
    board.halt(halt, [bench], None, **EACH)
