"""The server that the settings ask for: its store, its limits, and how it is launched."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

from starlette.middleware import Middleware

from playground.settings import Settings
from playground.store import Store, default_folder
from playground.trace import Trace
from playground.ui.api import health_route
from playground.ui.host import Host
from playground.ui.run import Server
from playground.ui.seats import Seats
from playground.ui.visitors import Door, Visitors

_DAY_S = 86_400


def make_server(host: Host, settings: Settings, as_page: Callable[[Trace], str] | None = None) -> Server:
    """Where strangers use it, each visitor has limits. Raises StoreError where runs cannot be kept."""
    visitors = Visitors()
    if settings.closed:
        visitors = Visitors(settings.visitor_runs, settings.visitor_calls, settings.visitor_saves)
    store = Store(settings.store or default_folder(), settings.store_mb * 2**20, settings.store_days * _DAY_S)
    return Server(host, Seats(settings.max_lanes), settings, visitors, store, as_page)


def access(server: Server) -> dict[str, Any]:
    """How the page wants to be launched, as far as it is decided who comes in."""
    options: dict[str, Any] = {
        "app_kwargs": {
            "routes": [health_route(server)],
            "middleware": [Middleware(Door, visitors=server.visitors)],
        }
    }
    if password := server.settings.password.encode():
        options["auth"] = lambda name, typed: hmac.compare_digest(typed.encode(), password)
        options["auth_message"] = "This server asks for a password. Any name will do."
    return options
