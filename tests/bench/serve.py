"""The page over the recorded run: `python -m tests.bench.serve PORT [tokens a second]`."""

from __future__ import annotations

import os
import sys

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from playground.settings import Settings
from playground.ui.api import health_route
from playground.ui.host import Host
from playground.ui.page import build, launch_options
from playground.ui.run import Server
from playground.ui.seats import Seats
from tests.bench.replay import ReplayEngine, read


def main(port: int, pace: float = 50) -> None:
    engine = ReplayEngine(read(), pace)
    server = Server(Host(lambda progress: engine), Seats(6), Settings(port=port, max_lanes=6))

    async def times(request: Request) -> JSONResponse:
        return JSONResponse(engine.times)

    build(server).launch(
        server_name="127.0.0.1",
        server_port=port,
        app_kwargs={"routes": [health_route(server), Route("/times", times)]},
        **launch_options(),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), *(float(pace) for pace in sys.argv[2:3]))
