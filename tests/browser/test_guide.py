"""The Guide tab in Chromium over the fake engine: every page is read, tried and answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Running, Visit
from tests.browser.guide_page import SOLVE, Guide
from tests.browser.inside_page import ByHand, by_hand
from tests.browser.test_access import serious

Open = Callable[..., Visit]


def test_every_page_is_walked(visit: Open, many: Running) -> None:
    page = visit(many.url)
    page.set("max-tokens", 6)
    ByHand(page.page, by_hand)
    guide = Guide(page)
    names = guide.names()
    assert set(names) == set(SOLVE)
    for place, name in enumerate(names):
        guide.open(name)
        choices = page.page.locator(".guide-choice").count()
        assert choices == 3
        guide.try_it(name)
        told = guide.answer()
        assert told[-1] == "right"
        assert set(told[:-1]) <= {"wrong"}
        assert guide.done(name)
        assert page.page.locator("#guide-next").is_disabled() == (place == len(names) - 1)
    page.page.reload()
    page.page.wait_for_selector("#color-by option", state="attached")
    again = Guide(page)
    assert all(again.done(name) for name in names)
    assert page.page.locator(f"#guide-pages [data-page={names[-1]}][aria-current=page]").count() == 1
    page.page.click("#guide-reset")
    assert not any(again.done(name) for name in names)


def test_a_wrong_answer_says_why_and_counts_for_nothing(visit: Open, many: Running) -> None:
    guide = Guide(visit(many.url))
    assert guide.choose(0) == "wrong"
    assert guide.visit.text(".guide-why").startswith("No. ")
    assert guide.visit.text(".guide-why").endswith("Try again.")
    assert guide.choose(1) == "right"
    assert guide.visit.text(".guide-why").startswith("Yes. ")


def test_the_dock_leads_back_by_escape(visit: Open, many: Running) -> None:
    guide = Guide(visit(many.url))
    guide.page.click(".guide-try")
    guide.page.wait_for_selector("#generate.lit")
    assert guide.page.locator("#guide-dock").is_visible()
    guide.page.keyboard.press("Escape")
    guide.page.wait_for_selector(".guide-page", state="visible")
    assert guide.page.locator("#guide-dock").is_hidden()
    assert guide.page.locator(".lit").count() == 0


def test_broken_storage_begins_anew(visit: Open, many: Running) -> None:
    page = visit(many.url)
    page.page.evaluate("localStorage.setItem('token-playground-guide', '{broken')")
    page.page.reload()
    page.page.wait_for_selector("#color-by option", state="attached")
    guide = Guide(page)
    assert guide.page.get_attribute("#guide-pages [aria-current]", "data-page") == guide.names()[0]


def test_every_page_reads_at_phone_width(visit: Open, many: Running) -> None:
    page = visit(many.url, width=390, height=844)
    page.page.click("#tabs .overflow-menu > button")
    page.page.click("#tabs .overflow-dropdown button:has-text('Guide')")
    page.page.wait_for_selector(".guide-page")
    names = page.page.locator("#guide-pages [data-page]").evaluate_all(
        "(all) => all.map((entry) => entry.dataset.page)"
    )
    for name in names:
        page.page.click(f"#guide-pages [data-page={name}]")
        page.page.wait_for_selector(f".guide-page[data-page={name}]")
        assert page.sideways() == 0


def one_raw_token(page: Visit) -> None:
    page.page.get_by_text("Raw text", exact=True).click()
    page.type("prompt", "Paris")
    page.set("max-tokens", 1)
    page.run()


def forced_to_the_end(page: Visit) -> None:
    """A run whose last tokens were all given."""
    page.set("max-tokens", 3)
    page.run()
    page.set("max-tokens", 6)
    page.page.click(".hand .write")
    page.page.fill(".rewrite.more textarea", " Lyon is the")
    page.page.keyboard.press("Control+Enter")
    page.page.wait_for_selector(".lane .token[data-index='5']")
    page.page.wait_for_selector(".lane[data-finished]")


@pytest.mark.parametrize("make", [one_raw_token, forced_to_the_end])
def test_pages_read_for_runs_of_odd_shapes(visit: Open, many: Running, make: Callable[[Visit], None]) -> None:
    page = visit(many.url)
    make(page)
    ByHand(page.page, by_hand)
    guide = Guide(page)
    for name in guide.names():
        guide.open(name)
        shown = page.text(".guide-page")
        assert not any(broken in shown for broken in ("undefined", "NaN", "Infinity", "null"))


def without_model(visit: Open, many: Running) -> Visit:
    """The page as it is while the model loads: the header says so."""
    page = visit(many.url)
    page.page.evaluate("document.querySelector('#model').dataset.state = 'loading'")
    return page


def test_before_the_model_is_loaded_everything_reads(visit: Open, many: Running) -> None:
    page = without_model(visit, many)
    server = ByHand(page.page, lambda request: {"error": "Not available yet: the model is still loading."})
    guide = Guide(page)
    for name in guide.names():
        guide.open(name)
        assert page.page.locator(".guide-page .problem").count() == 0
        assert len(page.text(".guide-words").split()) >= 50
        needs = page.page.locator(".guide-waits", has_text="still loading").count()
        assert page.page.locator(".guide-try").is_disabled() == bool(needs)
    assert server.asked == []  # all that the pages ask first is shipped


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_guide(visit: Open, many: Running, scheme: str) -> None:
    page = visit(many.url, color_scheme=scheme)
    guide = Guide(page)
    for name in guide.names():
        guide.open(name)
        guide.answer()
        assert serious(page) == []
    guide.open(guide.names()[0])
    page.page.click(".guide-try")
    page.page.wait_for_selector("#generate.lit")
    assert serious(page) == []
