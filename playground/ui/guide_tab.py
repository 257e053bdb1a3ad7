"""The Guide tab: how an answer comes about, page by page, on the run at hand."""

from __future__ import annotations

from playground.ui.inside import insider
from playground.ui.parts import GuideBoard
from playground.ui.recorded_looks import recorded_looks
from playground.ui.run import Server


def guide_tab(server: Server) -> None:
    """Lay the tab out where this is called."""
    GuideBoard(value=recorded_looks(), server_functions=[insider(server)], elem_id="guide")
