"""The last run after a reload, which the server no longer has: saved and handed out all the same."""

from __future__ import annotations

import signal
from pathlib import Path

from playground.trace import Trace
from tests.browser.conftest import Running
from tests.browser.test_share import Opener, Share, follow, ids, until_kept


def test_the_last_run_is_saved_after_a_reload(visit: Opener, tmp_path: Path) -> None:
    page = visit()
    page.run()
    first = ids(page)
    page.set("temperature", 1.4)  # the fork goes on under other settings than the run it left
    page.chip(4).click()
    page.page.locator(f"#inspector .candidate[data-id]:not([data-id='{first[4]}'])").first.click()
    page.page.wait_for_selector(".fork")
    page.page.wait_for_selector("#board .lane[data-finished]")
    before = Trace.from_json(Share(page).file("Trace, JSON", tmp_path).read_text())
    made = ids(page)
    until_kept(page)
    page.page.wait_for_timeout(300)
    page.open()
    page.page.locator(".notice", has_text="Your last run").wait_for()
    link = Share(page).replay_link()
    two = follow(visit, link)
    two.page.locator(".notice", has_text="The same model runs here").wait_for()
    assert ids(two) == made
    after = Trace.from_json(Share(page).file("Trace, JSON", tmp_path).read_text())
    assert [step.draw for step in after.steps] == [step.draw for step in before.steps]
    assert [step.stages for step in after.steps] == [step.stages for step in before.steps]
    assert [step.candidates for step in after.steps] == [step.candidates for step in before.steps]
    assert (after.params, after.finished.reason) == (before.params, before.finished.reason)
    assert [part.kind for part in after.prompt.segments] == [part.kind for part in before.prompt.segments]
    assert [token.logprob for token in after.prompt.tokens] == [
        token.logprob for token in before.prompt.tokens
    ]


def test_a_stopped_run_is_saved_after_a_reload(visit: Opener) -> None:
    page = visit()
    page.page.get_by_text("5 tokens/s").click()
    page.generate()
    page.page.wait_for_selector("#board .token[data-lane='0'][data-index='2']")
    page.page.click("#stop")
    page.page.wait_for_selector("#board .lane[data-finished=stopped]")
    made = ids(page)
    until_kept(page)
    page.page.wait_for_timeout(300)
    page.open()
    page.page.locator(".notice", has_text="Your last run").wait_for()
    two = follow(visit, Share(page).replay_link())
    two.page.locator(".hand .doing", has_text=f"stopped after {len(made)} tokens").wait_for()
    assert ids(two) == made


def test_other_tabs_say_whose_run_is_shared(visit: Opener) -> None:
    page = visit()
    page.run()
    for tab in ("prompt", "inside"):
        page.page.click(f"#tab-{tab}-button")
        share = Share(page).open()
        share.page.locator(".share .whose", has_text="the run of the Playground").wait_for()
        assert share.settings_link()
        share.close()
    for tab in ("playground", "compare"):
        page.page.click(f"#tab-{tab}-button")
        Share(page).open()
        assert page.page.locator(".share .whose").is_hidden()
        Share(page).close()


def test_the_keyboard_leaves_the_panel_behind(visit: Opener) -> None:
    page = visit()
    page.page.focus("#share")
    page.page.keyboard.press("Enter")
    page.page.wait_for_function("document.activeElement.matches('.settings-link input')")
    for _ in range(30):
        if not page.page.locator(".share").is_visible():
            break
        page.page.keyboard.press("Tab")
    else:
        raise AssertionError("the panel stayed open")
    assert page.page.evaluate("document.activeElement !== document.body")


def test_a_server_that_does_not_answer_is_told_in_the_panel(visit: Opener, server: Running) -> None:
    page = visit()
    page.run()
    page.page.locator("#share").click()
    server.process.send_signal(signal.SIGSTOP)
    try:
        page.page.locator(".share .save").click()
        page.page.locator(".share", has_text="The server has not answered yet.").wait_for()
        assert page.page.locator(".share .save").is_enabled()
    finally:
        server.process.send_signal(signal.SIGCONT)
    page.page.locator(".share .run-link", has_text="Saved.").wait_for()  # it came late
