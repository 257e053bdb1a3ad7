"""What tests do on the Labs tab, and the page over a tiny model with toy labs:

python -m tests.browser.labs_page PORT [seconds]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

from playground.engine.local import LocalEngine
from playground.experiments.lab import Lab, option
from playground.findings.report import Chart, Series, Strips, say
from playground.settings import Settings
from playground.ui.host import Host
from playground.ui.page import build, launch_options
from playground.ui.serving import access, make_server
from tests.browser.conftest import Visit
from tests.experiments.toy import TOY, Toy
from tests.fakes import loaded, scripted

HOSTILE = "<img src=x onerror=alert(1)>${alert(1)}`{{7*7}}"


@dataclass(frozen=True)
class Plain:
    tokens: int = option(2, "tokens", low=1, high=5)


def told(found: Toy) -> Any:
    """Every text of a report as hostile as it can be."""
    blocks: list[Any] = []
    for block in TOY.report(found):
        match block:
            case Chart():
                named = tuple(Series(HOSTILE, each.x, each.y) for each in block.series[:1])
                blocks.append(replace(block, title=HOSTILE, series=named, note=HOSTILE))
            case Strips():
                lane = block.lanes[0]
                chips = tuple(replace(chip, text=HOSTILE, told=HOSTILE, mark="parted") for chip in lane.chips)
                blocks.append(replace(block, lanes=(replace(lane, name=HOSTILE, chips=chips),)))
            case _:
                blocks.append(block)
    return (say(HOSTILE), *blocks)


SECOND = replace(TOY, name="second", title="Another", question="Is anything of it run?", report=told)


def _refuses(bench: Any, options: Any) -> Iterator[Any]:
    raise ValueError("this model is too small for it")
    yield


THIRD = replace(TOY, name="third", title="Fails", question="Does it fail?", options=Plain, measure=_refuses)
LABS: dict[str, Lab] = {lab.name: lab for lab in (TOY, SECOND, THIRD)}


class LabsPage:
    """The Labs tab of a visitor's page."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page = visit, visit.page
        visit.tab("Labs")
        self.page.wait_for_selector(".lab[data-lab]")

    def choose(self, name: str) -> None:
        self.page.click(f"#labs-list [data-lab='{name}']")
        self.page.wait_for_selector(f".lab[data-lab='{name}']")

    def begin(self) -> None:
        self.page.click("#lab-run")
        self.page.wait_for_selector(".labs[data-run=busy]")

    def run(self) -> None:
        """Run and wait until it is over."""
        self.begin()
        self.page.wait_for_selector(".labs[data-run=idle]", timeout=120_000)

    def complete(self) -> None:
        self.page.wait_for_selector(".lab-result[data-complete=yes]", timeout=120_000)

    def sayings(self) -> list[str]:
        return list(self.page.locator(".lab-result .say").all_inner_texts())

    def saved(self) -> str:
        """The text of the file that the result is saved as."""
        with self.page.expect_download() as download:
            self.page.click(".lab-result .save")
        return str(download.value.path().read_text(encoding="utf-8"))


def main(port: int, step_s: float = 0.02) -> None:
    engine = LocalEngine(
        loaded(scripted([97 + step % 26 for step in range(400)], prompt_length=3, delay=step_s))
    )
    settings = Settings(port=port, max_lanes=2, store=tempfile.mkdtemp())
    server = make_server(Host(lambda progress: engine), settings)
    build(server, labs=LABS).launch(
        server_name="127.0.0.1", server_port=port, **access(server), **launch_options()
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), *(float(step) for step in sys.argv[2:3]))
