"""What the header shows: the model, how far one is that is being loaded, and those to choose from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

from playground.ui.conversation import has_thinking_switch
from playground.ui.host import Host
from playground.ui.models_menu import Menu
from playground.ui.run import Server, sentence

_LOOKS_EVERY_S = 0.2


def header_json(host: Host, refused: str | None = None) -> str:
    """The header's value. `refused`: why the model that was asked for is not loaded."""
    shown: dict[str, Any]
    if host.ready is not None:
        info = host.ready.info
        facts = f"{info.device} · {info.dtype} · {info.vocabulary:,} tokens"
        if info.context:
            facts += f" · context {info.context:,}"
        shown = {"state": "ready", "name": info.name, "facts": facts, "share": 1}
        shown["thinking"] = has_thinking_switch(host.ready)
    elif host.failure is not None:
        shown = {"state": "failed", "name": "No model", "facts": host.failure, "share": 0}
    else:
        share = host.loading.share
        facts = f"{host.loading.text} {share:.0%}" if share else host.loading.text
        shown = {"state": "loading", "name": "The model is loading", "facts": facts, "share": share}
    if refused is not None:
        shown["coming"] = {"name": "", "text": "", "share": 0, "failure": refused}
    elif host.coming is not None:
        coming, loading = host.coming, host.coming.loading
        text = f"{loading.text} {loading.share:.0%}" if loading.share else loading.text
        shown["coming"] = {
            "name": coming.name, "text": text, "share": loading.share,
            "failure": None if coming.failure is None else sentence(ValueError(coming.failure)),
        }  # fmt: skip
    return json.dumps(shown)


async def header_states(host: Host) -> AsyncGenerator[str]:
    """The header's value whenever it changes, until nothing is being loaded."""
    last = None
    while True:
        now = header_json(host)
        if now != last:
            last = now
            yield now
        loads = host.ready is None and host.failure is None
        if not loads and (host.coming is None or host.coming.failure is not None):
            return
        await asyncio.sleep(_LOOKS_EVERY_S)


async def choose_model(server: Server, asked: Any) -> AsyncGenerator[str]:
    """Load the model that a visitor asks for, and tell how far it is."""
    try:
        name = Menu(server).check(asked.get("model") if isinstance(asked, dict) else None)
        server.host.switch(name)
    except ValueError as error:
        yield header_json(server.host, sentence(error))
        return
    async for shown in header_states(server.host):
        yield shown


def menu_reader(server: Server) -> Callable[[], Any]:
    """The function that the page asks for the menu."""
    menu = Menu(server)

    async def models(asked: Any = None) -> dict[str, Any]:
        return await asyncio.to_thread(menu.rows)

    return models
