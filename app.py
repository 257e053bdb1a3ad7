"""The web playground: `python app.py`, then http://127.0.0.1:7860."""
# ruff: noqa: E402 (the order of the lines below is the point)

from __future__ import annotations

import os
import re
import sys

# `gradio app.py` runs this file again after every change, having forgotten all modules of this folder. The
# model must stay, and with it the modules whose types it speaks.
again = "KEPT" in globals()
if again:
    sys.modules.update(globals()["KEPT"])

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from playground.settings import read_settings

if not again:
    settings = read_settings(sys.argv[1:])

from playground.ui.zerogpu import gpu_runner

one_model = gpu_runner() is not None  # a process that was forked once may serve again, with the model it has

from playground.pages.standalone import standalone_page
from playground.ui.host import Host, load_engine, load_other
from playground.ui.page import build
from playground.ui.recorded import recorded_message
from playground.ui.serving import make_server, serve

if not again:
    host = Host(
        lambda progress: load_engine(settings, progress),
        None if one_model else lambda name, progress: load_other(settings, name, progress),
    )
    try:
        server = make_server(host, settings, standalone_page)
    except ValueError as error:  # where runs are to be kept
        sys.exit(str(error))

demo = build(server, recorded_message())
modules = sys.modules.copy()  # another thread is importing meanwhile
KEPT = {name: module for name, module in modules.items() if re.match(r"playground(?!\.ui)", name)}

if __name__ == "__main__":
    serve(demo, server)
