"""Whose word counts for who a visitor is: that of a trusted proxy, and of the tunnel of --share."""

from __future__ import annotations

import asyncio
import os
from typing import Any, cast

import pytest
import uvicorn

from playground.settings import Settings
from playground.ui import serving
from playground.ui.host import Host
from playground.ui.serving import make_server, serve
from tests.ui.fake_engine import FakeEngine


class Served:
    """A page that, when it is launched, is asked once by `peer` on behalf of 203.0.113.7."""

    local_url = "http://127.0.0.1:7860/"

    def __init__(self, peer: str) -> None:
        self.peer, self.seen = peer, ""
        self.blocks: dict[int, Any] = {}

    def launch(self, **options: Any) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            self.seen = scope["client"][0]

        config = uvicorn.Config(app, log_config=None)
        config.load()
        scope = {
            "type": "http", "scheme": "http", "client": (self.peer, 1),
            "headers": [(b"x-forwarded-for", b"203.0.113.7")],
        }  # fmt: skip
        asyncio.run(cast(Any, config.loaded_app)(scope, None, None))

    def block_thread(self) -> None: ...


@pytest.mark.parametrize(
    ("settings", "peer", "visitor"),
    [
        ({"share": True}, "127.0.0.1", "203.0.113.7"),
        ({"share": True}, "192.0.2.1", "192.0.2.1"),
        ({"hosted": True}, "127.0.0.1", "127.0.0.1"),
        ({"hosted": True, "trusted_proxy": "192.0.2.1"}, "192.0.2.1", "203.0.113.7"),
    ],
)
def test_who_is_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, settings: dict[str, Any], peer: str, visitor: str
) -> None:
    monkeypatch.setenv(
        "FORWARDED_ALLOW_IPS", os.environ.get("FORWARDED_ALLOW_IPS", "")
    )  # put back at the end
    monkeypatch.setattr(serving, "open_tunnel", lambda page: "")
    page = Served(peer)
    serve(
        cast(Any, page),
        make_server(Host(lambda progress: FakeEngine()), Settings(store=str(tmp_path), **settings)),
    )
    assert page.seen == visitor
