"""The page over the fake engine:

python -m tests.browser.serve PORT [seconds] [name] [recorded] [root] [lanes] [hosted]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from hashlib import sha256

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from playground.pages.standalone import standalone_page
from playground.settings import Settings
from playground.ui.host import Host, Progress
from playground.ui.page import build, launch_options
from playground.ui.recorded import recorded_message
from playground.ui.serving import access, make_server
from tests.ui.fake_engine import FakeEngine


def main(
    port: int,
    step_s: float = 0.02,
    name: str = "Fake-12M",
    recorded: str = "",
    root: str = "",
    lanes: str = "2",
    hosted: str = "",
) -> None:
    """With `recorded`, as app.py serves it: a recorded run first, a thinking model, others to choose from.
    With `hosted`, as for strangers."""
    engine = FakeEngine(step_s=step_s, name=name, thinks=bool(recorded))

    def other(model: str, progress: Progress) -> FakeEngine:
        progress("Fetching", 0.5)
        time.sleep(1)
        if model.endswith("lost"):
            raise RuntimeError(f"the hub shows no model {model}: check the name")
        made = FakeEngine(step_s=step_s, name=model)
        made.info = replace(made.info, sha256=sha256(model.encode()).hexdigest())
        return made

    settings = Settings(port=port, max_lanes=int(lanes), store=tempfile.mkdtemp(), hosted=bool(hosted))
    server = make_server(Host(lambda progress: engine, other), settings, standalone_page)

    async def counts(request: Request) -> JSONResponse:
        """What the engine was asked to do so far."""
        told = {"steps": engine.steps_made, "opened": engine.opened, "closed": engine.closed}
        return JSONResponse({**told, "owners": engine.owners})

    options = access(server)
    options["app_kwargs"]["routes"].append(Route("/counts", counts))
    build(server, recorded_message() if recorded else None).launch(
        server_name="127.0.0.1",
        server_port=port,
        root_path=root or None,
        **options,
        **launch_options(),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), *(float(step) for step in sys.argv[2:3]), *sys.argv[3:8])
