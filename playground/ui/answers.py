"""Server functions: questions that the boards' JavaScript asks and Python answers in JSON, without a run."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, TypeVar

from playground.ui.host import Engine
from playground.ui.records import Op, compact
from playground.ui.run import Server, sentence

Question = TypeVar("Question")


def answerer(
    server: Server,
    read: Callable[[Any, Engine, Server], Question],
    see: Callable[[Engine, Question], Op],
    *,
    threads: int,
    most: int,
    seated: bool = False,
) -> Callable[[Any], Awaitable[str]]:
    """Answers what JavaScript asks: `read` checks it, and `see` works the answer out in a thread of its own.

    At most `most` questions of all visitors are at hand together. With `seated` each holds a seat meanwhile,
    since it runs the model. Never raises for what a visitor sent: the answer is then {"error": one sentence}.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="answer")
    waiting = 0

    async def answer(asked: Any) -> str:
        nonlocal waiting
        if waiting >= most:
            return compact({"error": "Too many people look at once: please try again in a second."})
        waiting += 1
        try:
            engine = server.host.ready
            if engine is None:
                raise ValueError(server.host.failure or "Not available yet: the model is still loading.")
            question = read(asked, engine, server)
            context = contextvars.copy_context()  # whoever lends an accelerator asks Gradio's who asks
            async with server.seats.seat() if seated else nullcontext():
                told = await asyncio.get_running_loop().run_in_executor(
                    pool, context.run, see, engine, question
                )
        except ValueError as error:
            told = {"error": sentence(error)}
        finally:
            waiting -= 1
        return compact(told)

    return answer
