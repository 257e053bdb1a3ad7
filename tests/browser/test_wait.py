"""Text that is written into a run, or an edit of it, after which the run waits; over the fake engine."""

from __future__ import annotations

from collections.abc import Callable

from tests.browser.conftest import Visit
from tests.browser.test_forks import doing, ids, shared, walk

Open = Callable[..., Visit]


def test_written_text_can_wait_and_then_go_on(visit: Open) -> None:
    page = visit()
    page.set("max-tokens", 6)
    page.run()
    page.set("max-tokens", 20)
    made = ids(page)
    page.page.click(".hand .write")
    page.page.fill(".rewrite.more textarea", " Lyon is the")
    page.page.click(".rewrite.more .wait")
    doing(page, "paused after 9 tokens")
    assert ids(page)[:6] == made
    assert page.count() == 9
    page.page.wait_for_selector(".status[data-state=paused]")
    assert page.text(".status .words") == "What you wrote is there. The run waits."
    assert page.page.locator(".lane[data-finished]").count() == 0
    page.chip(8).click()
    page.page.locator("#inspector h2", has_text="Token 9 of").wait_for()
    assert "was forced" in page.text("#inspector")
    page.page.click("#play")
    page.page.wait_for_selector(".lane[data-finished]")
    assert page.count() > 9
    page.page.wait_for_function("document.querySelector('.plain').textContent.includes(' Lyon is the')")


def test_an_edit_can_wait_even_if_it_only_cuts(visit: Open) -> None:
    page = visit()
    page.run()
    parent = ids(page)
    page.page.click(".hand .edit")
    box = page.page.locator(".rewrite.answer textarea")
    text = box.input_value()
    assert page.page.locator(".rewrite.answer .wait").is_disabled()
    box.fill(text[: text.index(" France")])
    page.page.click(".rewrite.answer .wait")
    page.page.wait_for_selector(".fork[data-node='1'][aria-selected=true]")
    doing(page, "paused after 3 tokens")
    assert ids(page) == parent[:3]
    assert shared(page) == 3
    page.page.click("#step")
    page.page.wait_for_selector(".lane .token[data-index='3']")
    doing(page, "paused after 4 tokens")
    walk(page, 0)
    assert ids(page) == parent


def test_a_bias_of_the_form_reaches_the_run_and_a_bad_one_is_named(visit: Open) -> None:
    page = visit()
    page.page.get_by_text("Bans, biases, typical-p and length").click()
    page.type("biases", " Paris = much")
    page.generate()
    page.page.wait_for_selector(".status[data-state=error]")
    assert "A bias is a token, = and a number, such as “ Paris = -5”" in page.text(".status")
    assert "Paris = much" in page.text(".status")
    page.type("biases", " Paris = -5\n#9 = 2.5")
    assert page.run() == "end_token"
