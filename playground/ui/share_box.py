"""The share panel below the header: its events and what answers them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import gradio as gr

from playground.ui.lanes import Bench
from playground.ui.listening import EACH
from playground.ui.parts import ShareBox
from playground.ui.records import compact
from playground.ui.run import Server
from playground.ui.share import Page, file, page_op, reopen, replay, save
from playground.ui.stream import Outbox, Session, messages
from playground.ui.visitors import Visitor

Work = Callable[[Server, Outbox, Page, Any, Visitor], Awaitable[None]]


def share_box(server: Server, session: gr.State, bench: gr.State) -> None:
    """Lay the panel out where this is called. `session` and `bench`: what the server keeps for the tabs."""
    first = compact({"run": 1, "n": 1, "ops": [page_op(server)]})
    box = ShareBox(value=first, elem_id="share-box")
    desk = gr.State(Session())

    def listener(work: Work) -> Callable[..., AsyncGenerator[str]]:
        async def listen(
            own: Session, run: Session, lanes: Bench, asked: gr.EventData, request: gr.Request
        ) -> AsyncGenerator[str]:
            page, by = Page(run, lanes), server.visitor(asked._data, request)
            answers = messages(own, lambda outbox: work(server, outbox, page, asked._data, by))
            async with aclosing(answers) as sent:
                async for message in sent:
                    yield message

        return listen

    for event, work in ((box.save, save), (box.file, file), (box.open, reopen), (box.replay, replay)):
        event(listener(work), [desk, session, bench], box, **EACH)
