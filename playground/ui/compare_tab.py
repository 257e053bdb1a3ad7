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
from playground.ui.stream import Outbox, messages

# Listeners of ours wait in no queue of Gradio's: seats.py has the only one.
FREE: dict[str, Any] = {
    "concurrency_limit": None,
    "api_visibility": "private",
    "show_progress": "hidden",
    "trigger_mode": "multiple",
}
Work = Callable[[Outbox], Awaitable[None]]


def compare_tab(server: Server, bench: gr.State) -> None:
    """Lay the tab out where this is called. `bench` holds a Bench."""
    board = CompareBoard(
        server_functions=[looker(server), parting_teller(server), divergence_teller(server)],
        elem_id="compare",
    )

    async def run(own: Bench, asked: gr.EventData, request: gr.Request) -> AsyncGenerator[str]:
        by = server.visitor(asked._data, request)
        async for sent in _served(
            own, lambda outbox: compare(server, outbox, own, asked._data, by), instead=True
        ):
            yield sent

    async def branch(own: Bench, asked: gr.EventData, request: gr.Request) -> AsyncGenerator[str]:
        by = server.visitor(asked._data, request)
        async for sent in _served(own, lambda outbox: fork(server, outbox, own, asked._data, by), after=True):
            yield sent

    async def keep(own: Bench, asked: gr.EventData) -> AsyncGenerator[str]:
        async for sent in _served(own, lambda outbox: save(outbox, own, asked._data)):
            yield sent

    async def show(own: Bench, asked: gr.EventData) -> AsyncGenerator[str]:
        async for sent in _served(own, lambda outbox: reopen(server, outbox, own, asked._data), instead=True):
            yield sent

    async def halt(own: Bench) -> None:
        own.halt()

    for event, listener in ((board.run, run), (board.fork, branch), (board.save, keep), (board.open, show)):
        event(listener, [bench], board, **FREE)
    board.halt(halt, [bench], None, **FREE)


async def _served(own: Bench, work: Work, **turn: bool) -> AsyncGenerator[str]:
    """The messages of `work`, when its turn has come."""
    async with own.turn(**turn) as wanted:
        if wanted:
            async with aclosing(messages(own, work)) as sent:
                async for message in sent:
                    yield message
