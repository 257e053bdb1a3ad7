"""The Labs tab in Chromium over a tiny model and toy labs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.conftest import Running, Visit, start
from tests.browser.labs_page import HOSTILE, LabsPage
from tests.browser.test_access import serious

Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def labs() -> Iterator[Running]:
    yield from start("-m", "tests.browser.labs_page", "PORT", ready=lambda health: health["ready"])


@pytest.fixture
def tab(visit: Open, labs: Running) -> LabsPage:
    return LabsPage(visit(labs.url))


def test_a_lab_is_run_and_saved(tab: LabsPage) -> None:
    tab.page.fill("#lab-tokens", "4")
    tab.run()
    tab.complete()
    assert tab.sayings() == ["The first token was a of 4."]
    assert tab.page.locator(".lab-result .strip-lane .token").count() == 8
    tab.page.wait_for_selector(".lab-result .js-plotly-plot")
    saved = json.loads(tab.saved())
    assert (saved["lab"], saved["complete"], saved["options"]["tokens"]) == ("toy", True, 4)
    assert tab.page.locator(".lab .command code").inner_text() == "python -m playground lab toy --tokens=4"


def test_a_bad_option_is_refused_at_its_field(tab: LabsPage) -> None:
    tab.page.fill("#lab-tokens", "51")
    tab.page.click("#lab-run")
    fault = tab.page.locator("#lab-tokens-fault:not(:empty)")
    fault.wait_for()
    assert fault.inner_text() == "Tokens of each answer must be a whole number in [1, 50], got 51."
    assert tab.page.evaluate("document.activeElement.id") == "lab-tokens"
    tab.page.fill("#lab-tokens", "2")
    tab.run()
    tab.complete()


def test_stop_keeps_what_was_found_and_another_lab_is_looked_at_meanwhile(tab: LabsPage) -> None:
    tab.page.fill("#lab-tokens", "40")
    tab.page.fill("#lab-seeds", "1 2 3 4")
    tab.begin()
    tab.page.wait_for_selector(".lab-result[data-complete=no] .say")
    tab.choose("third")
    assert tab.page.locator("#lab-run").is_disabled()
    tab.choose("toy")
    tab.page.click("#lab-stop")
    tab.page.wait_for_selector(".labs[data-run=idle]")
    assert "Stopped early" in tab.page.locator(".lab-result .measured").inner_text()
    saved = json.loads(tab.saved())
    assert not saved["complete"]
    assert 1 <= len(saved["found"]["answers"]) < 4
    tab.choose("third")
    tab.run()
    assert "too small for it" in tab.page.locator(".labs .status").inner_text()
    tab.choose("toy")
    assert len(tab.sayings()) == 1


def test_words_of_a_model_are_text(tab: LabsPage) -> None:
    tab.choose("second")
    tab.run()
    tab.complete()
    assert tab.sayings()[0] == HOSTILE
    tab.page.wait_for_selector(".lab-result .js-plotly-plot")
    assert tab.page.locator(".lab-result img").count() == 0


def test_the_list_is_walked_by_arrows(tab: LabsPage) -> None:
    tab.page.focus("#labs-list [data-lab=toy]")
    tab.page.keyboard.press("ArrowDown")
    assert tab.page.evaluate("document.activeElement.dataset.lab") == "second"
    assert tab.page.get_attribute("#labs-list [aria-current]", "data-lab") == "second"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_cut_off_on_a_phone(visit: Open, labs: Running, theme: Any) -> None:
    tab = LabsPage(visit(labs.url, width=390, color_scheme=theme))
    tab.run()
    tab.complete()
    tab.page.wait_for_selector(".lab-result .js-plotly-plot")
    assert tab.visit.sideways() == 0


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing_serious(visit: Open, labs: Running, theme: Any, width: int) -> None:
    tab = LabsPage(visit(labs.url, width=width, color_scheme=theme))
    assert serious(tab.visit) == []  # nothing was run yet
    tab.run()
    tab.complete()
    tab.page.wait_for_selector(".lab-result .js-plotly-plot")
    tab.page.click(".lab-result .points summary")
    assert serious(tab.visit) == []
    tab.page.fill("#lab-tokens", "51")
    tab.page.click("#lab-run")
    tab.page.wait_for_selector("#lab-tokens-fault:not(:empty)")
    assert serious(tab.visit) == []  # refused at its field
    tab.choose("third")
    tab.run()
    assert serious(tab.visit) == []  # a lab that failed
