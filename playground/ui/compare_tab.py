"""The Compare tab: one board that holds the form, the lanes and what was found."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import gradio as gr

from playground.ui.lanes import Bench, compare, fork, reopen, save
from playground.ui.look import looker
from playground.ui.partings import divergence_teller, parting_teller
from playground.ui.parts import CompareBoard
from playground.ui.run import Server
from playground.ui.stream import Outbox, messages, press_of
from playground.ui.visitors import Visitor

# Listeners of ours wait in no queue of Gradio's: seats.py has the only one.
FREE: dict[str, Any] = {
    "concurrency_limit": None,
    "api_visibility": "private",
    "show_progress": "hidden",
    "trigger_mode": "multiple",
}
Work = Callable[[Server, Outbox, Bench, Any, Visitor], Awaitable[None]]


def compare_tab(server: Server, bench: gr.State) -> None:
    """Lay the tab out where this is called. `bench` holds a Bench."""
    board = CompareBoard(
        server_functions=[looker(server), parting_teller(server), divergence_teller(server)],
        elem_id="compare",
    )

    def listener(work: Work, **turn: bool) -> Callable[..., AsyncGenerator[str]]:
        async def listen(own: Bench, asked: gr.EventData, request: gr.Request) -> AsyncGenerator[str]:
            by = server.visitor(asked._data, request)
            press = press_of(asked._data)
            async with own.turn(press, **turn) as wanted:
                if not wanted:
                    return
                answers = messages(own, lambda outbox: work(server, outbox, own, asked._data, by), press)
                async with aclosing(answers) as sent:
                    async for message in sent:
                        yield message

        return listen

    async def halt(own: Bench, asked: gr.EventData) -> None:
        own.halt(press_of(asked._data))

    for event, answer in (
        (board.run, listener(compare, instead=True)),
        (board.fork, listener(fork, after=True)),
        (board.save, listener(save)),
        (board.open, listener(reopen, instead=True)),
    ):
        event(answer, [bench], board, **FREE)
    board.halt(halt, [bench], None, **FREE)
