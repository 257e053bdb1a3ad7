"""How the events of the page are listened to: in no queue, and on a bench one turn at a time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import gradio as gr

from playground.ui.lanes import Bench
from playground.ui.run import Server
from playground.ui.stream import Outbox, messages, press_of
from playground.ui.visitors import Visitor

# Listeners of ours wait in no queue of Gradio's: seats.py has the only one.
FREE: dict[str, Any] = {"concurrency_limit": None, "api_visibility": "private", "show_progress": "hidden"}
EACH: dict[str, Any] = {**FREE, "trigger_mode": "multiple"}  # also while the one before is being answered

Work = Callable[[Server, Outbox, Bench, Any, Visitor], Awaitable[None]]


def listener(server: Server, work: Work, **turn: bool) -> Callable[..., AsyncGenerator[str]]:
    """What answers an event of a board by `work`; it takes its bench. `turn`: see Bench.turn."""

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
    """What answers Stop."""
    own.halt(press_of(asked._data))
