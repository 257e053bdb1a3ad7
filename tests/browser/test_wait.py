"""Waiting: a run after text that was written, or for a lane; and where its answer comes on a phone."""

from __future__ import annotations

import signal
from collections.abc import Callable

from tests.browser.conftest import Running, Visit
from tests.browser.test_forks import doing, ids, shared, walk, written_on
from tests.browser.test_page import begin_endless

Open = Callable[..., Visit]


def test_written_text_can_wait_and_then_go_on(visit: Open) -> None:
    page, made = written_on(visit)
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


def test_a_run_that_waits_for_a_lane_offers_no_pause_of_the_one_before_it(visit: Open) -> None:
    page = visit()
    page.run()
    others = [visit(), visit()]
    for other in others:
        begin_endless(other)
    page.type("prompt", "endless")
    page.generate()
    page.page.wait_for_selector(".status[data-state=waiting]")
    page.page.wait_for_selector("#play:disabled")
    assert "Go on" in page.text("#play")
    for other in others:
        other.page.click("#stop")
    page.page.wait_for_selector("#play:enabled")  # its own run writes
    assert "Pause" in page.text("#play")
    page.page.click("#stop")
    page.page.wait_for_selector(".lane[data-finished=stopped]")


def test_on_a_phone_the_answer_is_brought_into_view(visit: Open) -> None:
    page = visit(width=390, height=844)
    page.run()
    top = page.chip(0).bounding_box()["y"]
    assert 0 <= top < 844


def test_the_words_of_the_buttons_have_room_in_a_narrow_column(visit: Open) -> None:
    page = visit(width=1100)
    for place in ("generate", "step", "stop"):
        room = page.page.evaluate(
            """(place) => {
                const button = document.getElementById(place), words = document.createRange();
                words.selectNodeContents(button);
                const [own, text] = [button.getBoundingClientRect(), words.getBoundingClientRect()];
                return Math.min(text.left - own.left, own.right - text.right);
            }""",
            place,
        )
        assert room >= 7, place


def test_a_server_that_does_not_answer_is_told(visit: Open, server: Running) -> None:
    page = visit()
    server.process.send_signal(signal.SIGSTOP)
    try:
        page.generate()
        page.page.wait_for_selector(".status .words:has-text('The server has not answered yet.')")
    finally:
        server.process.send_signal(signal.SIGCONT)
    page.page.wait_for_selector(".lane[data-finished]")
    assert page.text(".status .words") == ""
