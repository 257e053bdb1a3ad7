"""The Compare tab: one board that holds the form, the lanes and what was found."""

from __future__ import annotations

import gradio as gr

from playground.ui.lanes import compare, fork, reopen, save
from playground.ui.listening import EACH, halt, listener
from playground.ui.look import looker
from playground.ui.partings import divergence_teller, parting_teller
from playground.ui.parts import CompareBoard
from playground.ui.run import Server


def compare_tab(server: Server, bench: gr.State) -> None:
    """Lay the tab out where this is called. `bench` holds a Bench."""
    board = CompareBoard(
        server_functions=[looker(server), parting_teller(server), divergence_teller(server)],
        elem_id="compare",
    )

    for event, answer in (
        (board.run, listener(server, compare, instead=True)),
        (board.fork, listener(server, fork, after=True)),
        (board.save, listener(server, save)),
        (board.open, listener(server, reopen, instead=True)),
    ):
        event(answer, [bench], board, **EACH)
    board.halt(halt, [bench], None, **EACH)
