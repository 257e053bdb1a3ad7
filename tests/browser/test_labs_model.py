"""A lab over the bundled model: the page and the command line find the same numbers."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from playground.engine.models import Loaded
from tests.browser.conftest import ROOT, Running, Visit, start
from tests.browser.labs_page import LabsPage
from tests.browser.test_model import shown_percent

pytestmark = pytest.mark.model
Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def app(bundled: Loaded) -> Iterator[Running]:
    """`python app.py`. Asks for `bundled` so that the weights are there, or the test is skipped."""
    command = ("app.py", "--port", "PORT", "--device", "cpu", "--dtype", "float32")
    yield from start(*command, ready=lambda health: health["ready"])


def in_a_terminal(line: str) -> dict[str, Any]:
    """What the command line that the page tells finds, as its JSON."""
    _python, *words = shlex.split(line)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PLAYGROUND_")}
    done = subprocess.run(
        [sys.executable, *words, "--json"], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def chances_of(result: dict[str, Any]) -> list[list[float]]:
    """The logprobs of the three questions, then of the three answers, taken out of the findings."""
    asked = result["found"]["asked"]
    return [each.pop("logprobs") for each in (*asked, *(one["written"] for one in asked))]


def test_frozen_finds_the_same_in_the_page_and_in_a_terminal(
    visit: Open, app: Running, bundled: Loaded
) -> None:
    tab = LabsPage(visit(app.url))
    tab.choose("frozen")
    tab.page.fill(".lab[data-lab=frozen] #lab-tokens", "4")
    tab.page.fill(".lab[data-lab=frozen] #lab-fact", "My dog is called Biscuit, and it's mine.")
    tab.run()
    tab.complete()
    line = tab.page.locator(".lab[data-lab=frozen] .command code").inner_text()
    assert "--tokens=4" in line
    page, terminal = json.loads(tab.saved()), in_a_terminal(line)
    for told in ("lab", "model", "options", "question", "method", "bounds", "complete"):
        assert page[told] == terminal[told]
    logprobs = chances_of(page)
    for here, there in zip(logprobs, chances_of(terminal), strict=True):
        assert here == pytest.approx(there, abs=1e-4)
    assert page["found"] == terminal["found"]  # ids, names, texts, checksums, sizes
    tensors = [*bundled.model.parameters(), *bundled.model.buffers()]
    assert page["found"]["before"]["numbers"] == sum(each.numel() for each in tensors)
    # What the page writes is what its file holds.
    tab.page.wait_for_selector(".lab-result[data-complete=yes] .table-card")
    rows = tab.page.locator(".lab-result .table-card", has_text="Probability of the fact's words")
    for row, chances in enumerate(logprobs[:3]):
        cells = rows.locator("tbody tr").nth(row).locator("td").all_inner_texts()
        for cell, logprob in zip(cells[2:-1], chances, strict=True):
            assert cell in shown_percent(math.exp(logprob))
