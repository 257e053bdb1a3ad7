"""Server functions: questions that the boards' JavaScript asks and Python answers in JSON, without a run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
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
) -> Callable[[Any], Awaitable[str]]:
    """Answers what JavaScript asks: `read` checks it, and `see` works the answer out in a thread of its own.

    At most `most` questions of all visitors are at hand together. Never raises for what a visitor sent: the
    answer is then {"error": one sentence}.
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
            told = await asyncio.get_running_loop().run_in_executor(pool, see, engine, question)
        except ValueError as error:
            told = {"error": sentence(error)}
        finally:
            waiting -= 1
        return compact(told)

    return answer
