"""The Inside tab: one board that looks inside the model at a token of the Playground's run."""

from __future__ import annotations

from playground.ui.inside import insider
from playground.ui.parts import InsideBoard
from playground.ui.run import Server


def inside_tab(server: Server) -> None:
    """Lay the tab out where this is called."""
    InsideBoard(server_functions=[insider(server)], elem_id="inside")
