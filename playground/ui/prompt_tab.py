"""The Prompt tab: one board that holds the messages, the template, the rendered prompt and its tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import gradio as gr

from playground.ui.compare_tab import FREE
from playground.ui.lanes import Bench
from playground.ui.parts import PromptBoard
from playground.ui.prompt_run import run_both
from playground.ui.prompts import renderer
from playground.ui.run import Server
from playground.ui.spelling import speller, tokenizer_of
from playground.ui.stream import messages, press_of


def prompt_tab(server: Server, bench: gr.State) -> None:
    """Lay the tab out where this is called. `bench` holds a Bench."""
    board = PromptBoard(
        server_functions=[renderer(server), tokenizer_of(server), speller(server)], elem_id="prompt-board"
    )

    async def run(own: Bench, asked: gr.EventData, request: gr.Request) -> AsyncGenerator[str]:
        by = server.visitor(asked._data, request)
        press = press_of(asked._data)
        async with own.turn(press, instead=True) as wanted:
            if not wanted:
                return
            answers = messages(own, lambda outbox: run_both(server, outbox, own, asked._data, by), press)
            async with aclosing(answers) as sent:
                async for message in sent:
                    yield message

    async def halt(own: Bench, asked: gr.EventData) -> None:
        own.halt(press_of(asked._data))

    board.run(run, [bench], board, **FREE)
    board.halt(halt, [bench], None, **FREE)
