"""The server that the settings ask for: its store, its limits, and how it is launched."""

from __future__ import annotations

import hmac
import sys
from collections.abc import Callable
from typing import Any, NoReturn
from urllib.parse import urlsplit

import gradio as gr
from starlette.middleware import Middleware

from playground.settings import Settings
from playground.store import Store, default_folder
from playground.trace import Trace
from playground.ui.api import health_route
from playground.ui.host import Host
from playground.ui.page import launch_options
from playground.ui.run import Server
from playground.ui.seats import Seats
from playground.ui.tunnel import open_tunnel
from playground.ui.visitors import Door, Visitors, trust

_DAY_S = 86_400
# Open pages whose latest runs, and last values of the API, are remembered: Gradio would take 10,000. Whoever
# is beyond has them made again from ids and settings.
_MOST_SESSIONS = 500
_MOST_EVENTS = 2_000  # Gradio answers 40 at once unless told, and one that waits for a seat is one of them


def make_server(host: Host, settings: Settings, as_page: Callable[[Trace], str] | None = None) -> Server:
    """Where strangers use it, each visitor has limits. Raises StoreError where runs cannot be kept."""
    visitors = Visitors()
    if settings.closed:
        visitors = Visitors(settings.visitor_runs, settings.visitor_calls, settings.visitor_saves)
    store = Store(settings.store or default_folder(), settings.store_mb * 2**20, settings.store_days * _DAY_S)
    return Server(host, Seats(settings.max_lanes), settings, visitors, store, as_page)


def without_files(page: gr.Blocks) -> gr.Blocks:
    """The page, none of whose components reads a file: Gradio fetches what a value names as one, also from
    elsewhere, before we see it. The page itself never names any."""
    for block in page.blocks.values():
        block.async_move_resource_to_block_cache = _refuse_file
    return page


async def _refuse_file(named: Any) -> NoReturn:
    raise gr.Error("This server reads no files that a request names.", print_exception=False)


def access(server: Server) -> dict[str, Any]:
    """How the page wants to be launched, as far as it is decided who comes in."""
    options: dict[str, Any] = {
        "enable_monitoring": False,
        "max_threads": _MOST_EVENTS,
        "state_session_capacity": _MOST_SESSIONS,
        "app_kwargs": {
            "routes": [health_route(server)],
            "middleware": [Middleware(Door, visitors=server.visitors)],
        },
    }
    if password := _bytes(server.settings.password):
        options["auth"] = lambda name, typed: hmac.compare_digest(_bytes(typed), password)
        options["auth_message"] = "This server asks for a password. Any name will do."
    if path := urlsplit(server.settings.public_url).path.rstrip("/"):
        options["root_path"] = path
    return options


def _bytes(text: str) -> bytes:
    """Of whatever was typed, also where it is no character, such as half of one."""
    return text.encode(errors="surrogatepass")


def serve(page: gr.Blocks, server: Server) -> None:
    """Serve `page` until Ctrl-C. Ends the program in a sentence where its port is taken."""
    settings, options = server.settings, {**access(server), **launch_options()}
    # The tunnel of --share ends on this machine, and says in the header whom it speaks for.
    trust(settings.trusted_proxy or ("127.0.0.1" if settings.share else ""))
    try:
        without_files(page).launch(
            server_name=settings.host,
            server_port=settings.port or None,
            share=False,  # see tunnel.py
            quiet=True,
            prevent_thread_lock=True,
            **options,
        )
    except OSError:
        sys.exit(
            f"Port {settings.port} of {settings.host} is taken: choose another with --port, or --port 0."
        )
    print(f"Token Playground: {page.local_url}", flush=True)
    if settings.share:
        print(open_tunnel(page), flush=True)
    page.block_thread()
