"""Requests of the Compare board, a server that answers them, and what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from playground.settings import Settings
from playground.ui.host import Engine, Host
from playground.ui.lanes import Bench, compare
from playground.ui.run import Server
from playground.ui.seats import Seats
from playground.ui.stream import Outbox, messages

Received = list[dict[str, Any]]


def serve(engine: Engine, lanes: int = 16, **settings: Any) -> Server:
    return Server(Host(lambda progress: engine), Seats(lanes), Settings(**settings))


def lane(name: str = "one", **params: Any) -> dict[str, Any]:
    return {"name": name, "params": {"temperature": 0.8, **params}}


def asking(**changes: Any) -> dict[str, Any]:
    """A request for two lanes that differ in temperature."""
    lanes = [lane("cool", temperature=0.2), lane("warm", temperature=1.5)]
    request = {
        "kind": "lanes", "mode": "chat", "system": "", "prompt": "Say hi", "lanes": lanes, "same_dice": True,
        "exact": False, "seed": "7", "max_tokens": 12,
    }  # fmt: skip
    return request | changes


def sweeping(setting: str = "temperature", low: float = 0, high: float = 2, steps: int = 5) -> dict[str, Any]:
    return {"setting": setting, "from": low, "to": high, "steps": steps, "tokens": 8}


async def served(own: Bench, work: Callable[[Outbox], Awaitable[None]]) -> Received:
    """The operations that `work` sends to the page."""
    return [op async for text in messages(own, work) for op in json.loads(text)["ops"]]


async def compared(server: Server, asked: Any, own: Bench | None = None) -> Received:
    own = own or Bench()
    async with own.turn(instead=True):
        return await served(own, lambda outbox: compare(server, outbox, own, asked))


def run(server: Server, asked: Any, own: Bench | None = None) -> Received:
    return asyncio.run(compared(server, asked, own))


def named(ops: Received, name: str) -> Received:
    return [op for op in ops if op["op"] == name]


def ids_of(ops: Received, number: int) -> list[int]:
    return [row["k"] for op in named(ops, "tokens") if op["lane"] == number for row in op["steps"]]


def rows_of(ops: Received, number: int) -> list[dict[str, Any]]:
    return [row for op in named(ops, "tokens") if op["lane"] == number for row in op["steps"]]
