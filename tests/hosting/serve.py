"""What app.py serves, over the fake engine: python -m tests.hosting.serve SECONDS_A_TOKEN [app.py's flags]"""

from __future__ import annotations

import os
import sys

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from playground.pages.standalone import standalone_page
from playground.settings import read_settings
from playground.ui.host import Host
from playground.ui.page import build
from playground.ui.recorded import recorded_message
from playground.ui.serving import make_server, serve
from tests.ui.fake_engine import FakeEngine

if __name__ == "__main__":
    engine = FakeEngine(step_s=float(sys.argv[1]))
    server = make_server(Host(lambda progress: engine), read_settings(sys.argv[2:], {}), standalone_page)
    serve(build(server, recorded_message()), server)
