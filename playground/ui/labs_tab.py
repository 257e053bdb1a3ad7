"""The Labs tab: one board that lists the labs, runs one, and shows what it found."""

from __future__ import annotations

from collections.abc import Mapping

import gradio as gr

from playground.experiments import LABS, Lab
from playground.ui.labs import Labs, labs_json
from playground.ui.listening import EACH, halt, listener
from playground.ui.parts import LabsBoard
from playground.ui.run import Server


def labs_tab(server: Server, bench: gr.State, labs: Mapping[str, Lab] = LABS) -> None:
    """Lay the tab out where this is called. `bench` holds a Bench."""
    board = LabsBoard(value=labs_json(labs, server), elem_id="labs")
    board.run(listener(server, Labs(labs).measure, instead=True), [bench], board, **EACH)
    board.halt(halt, [bench], None, **EACH)
