"""Step, play, pause, forks and their tree, forced text and edits in place, over the fake engine."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.conftest import Running, Visit, start
from tests.browser.test_access import serious
from tests.browser.test_page import begin_endless
from tests.ui.fake_engine import HOSTILE

Open = Callable[..., Visit]
BRANCH = ".fork[aria-level]"


@pytest.fixture
def slow() -> Iterator[Running]:
    """A server that takes a second for each pass."""
    yield from start("-m", "tests.browser.serve", "PORT", "1", ready=lambda health: health["ready"])


def ids(page: Visit) -> list[int]:
    return page.page.evaluate(
        "[...document.querySelectorAll('.lane .token')].map((chip) => +chip.dataset.id)"
    )


def shared(page: Visit) -> int:
    return page.count(".shared")


def doing(page: Visit, words: str) -> None:
    page.page.wait_for_function(
        "(words) => document.querySelector('.hand .doing').textContent.includes(words)", arg=words
    )


def wait_until_idle(server: Running) -> None:
    """No seat is held. The page hears of a pause just before its seat is given back."""
    deadline = time.monotonic() + 10
    while server.get("/health")["running"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def walk(page: Visit, node: int) -> None:
    page.page.click(f".fork[data-node='{node}']")
    page.page.wait_for_selector(f".fork[data-node='{node}'][aria-selected=true]")


def written_on(visit: Open) -> tuple[Visit, list[int]]:
    """A page with a run of 6 tokens, its ids, and " Lyon is the" in the field that writes on from there."""
    page = visit()
    page.set("max-tokens", 6)
    page.run()
    page.set("max-tokens", 20)
    made = ids(page)
    page.page.click(".hand .write")
    page.page.fill(".rewrite.more textarea", " Lyon is the")
    return page, made


def fork(page: Visit, index: int, place: int = 2) -> int:
    """Click the candidate in that place of the inspector. Returns its id; waits for the end."""
    known = page.page.locator(BRANCH).count() or 1
    page.chip(index).click()
    chosen = page.chip(index).get_attribute("data-id")
    rows = page.page.locator(f"#inspector .candidate[data-id]:not([data-id='{chosen}'])")
    token_id = int(rows.nth(place).get_attribute("data-id"))
    rows.nth(place).click()
    page.page.wait_for_selector(f".fork[data-node='{known}'][aria-selected=true]")
    page.page.wait_for_selector(".lane[data-finished]")
    page.page.wait_for_function(
        "(n) => document.querySelector(`.fork[data-node='${n}'] .length`).textContent.includes('end token')",
        arg=known,
    )
    return token_id


def test_a_click_on_a_candidate_forks_and_the_parent_stays(visit: Open) -> None:
    page = visit()
    page.run()
    parent, text = ids(page), page.text(".plain")
    assert page.page.locator(".grove").is_hidden()
    token_id = fork(page, 5)
    child = ids(page)
    assert child[:5] == parent[:5]
    assert child[5] == token_id != parent[5]
    assert shared(page) == 5
    assert "was forced" in page.text("#inspector")
    walk(page, 0)
    assert ids(page) == parent
    assert page.text(".plain") == text
    assert shared(page) == 0
    assert page.page.get_attribute(".lane", "data-finished") == "end_token"


def test_a_click_in_the_popover_forks_too(visit: Open) -> None:
    page = visit()
    page.run()
    parent = ids(page)
    page.chip(4).hover()
    row = page.page.locator(f".popover .candidate:not([data-id='{parent[4]}'])").nth(1)
    token_id = int(row.get_attribute("data-id"))
    row.click()
    page.page.wait_for_selector(".fork[data-node='1'][aria-selected=true]")
    assert ids(page)[:5] == [*parent[:4], token_id]


def test_the_tree_is_walked_by_keys_and_shows_each_run_whole(visit: Open) -> None:
    page = visit()
    page.run()
    fork(page, 5)
    fork(page, 9)
    fork(page, 3)  # in the part that the second shares with the first
    levels = page.page.locator(BRANCH).evaluate_all(
        "rows => rows.map((row) => row.getAttribute('aria-level'))"
    )
    assert levels == ["1", "2", "3", "2"]
    names = page.page.locator(".fork .from").all_inner_texts()
    assert names[0] == "first run"
    assert [name.split()[0] for name in names[1:]] == ["6", "10", "4"]
    assert all("→" in name for name in names[1:])
    seen = {}
    page.page.locator(".fork[aria-selected=true]").focus()
    page.page.keyboard.press("Home")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
        node = page.page.evaluate("document.activeElement.dataset.node")
        assert page.page.locator(f".fork[data-node='{node}']").get_attribute("aria-selected") == "true"
        seen[node] = ids(page)
        page.page.keyboard.press(key)
    seen[page.page.evaluate("document.activeElement.dataset.node")] = ids(page)
    assert len(seen) == 4
    assert len(set(map(tuple, seen.values()))) == 4
    page.chip(2).click()
    assert "Token 3 of" in page.text("#inspector")
    assert page.page.locator(".fork[tabindex='0']").count() == 1
    page.run()  # a new run begins a new tree
    page.page.wait_for_selector(".grove", state="hidden")


def test_each_branch_has_one_selected_token(visit: Open) -> None:
    page = visit()
    page.run()
    page.chip(7).click()
    fork(page, 3)
    walk(page, 0)
    page.chip(5).click()
    assert page.count("[aria-selected=true]") == 1
    walk(page, 1)
    assert page.count("[aria-selected=true]") == 1
    assert page.chip(5).get_attribute("aria-selected") == "true"


def test_a_fork_while_it_writes_leaves_the_parent_partial(visit: Open) -> None:
    page = visit()
    begin_endless(page)
    page.chip(2).click()
    page.page.locator("#inspector button.candidate").first.click()
    page.page.wait_for_selector(".fork[data-node='1'][aria-selected=true]")
    page.page.wait_for_selector(".lane .token[data-index='9']")
    walk(page, 0)  # while the other writes on
    made = page.count()
    before = int(page.text(".fork[data-node='1'] .length b"))
    page.page.wait_for_function(
        "(before) => +document.querySelector(`.fork[data-node='1'] .length b`).textContent > before + 3",
        arg=before,
    )
    assert page.count() == made
    assert page.chip(2).is_visible()
    page.page.click("#stop")
    page.page.wait_for_function("document.documentElement.dataset.run === 'idle'")
    walk(page, 1)
    assert page.page.get_attribute(".lane", "data-finished") == "stopped"
    assert page.count() > before


def test_step_makes_one_token_and_waits(visit: Open, server: Running) -> None:
    page = visit()
    for number in (1, 2, 3):
        page.page.click("#step")
        doing(page, f"paused after {number} token")
        assert page.count() == number
        wait_until_idle(server)
    page.chip(1).click()
    assert "Token 2 of 3" in page.text("#inspector")
    stepped = ids(page)
    page.page.click("#play")
    page.page.wait_for_selector(".lane[data-finished=end_token]")
    whole = ids(page)
    assert whole[:3] == stepped
    page.page.wait_for_selector("#play:disabled")
    page.run()
    assert ids(page) == whole
    page.type("prompt", "Something else")
    page.page.click("#step")  # another prompt: a new run
    doing(page, "paused after 1 token")


def test_play_at_a_pace_pause_and_go_on(visit: Open, server: Running) -> None:
    page = visit()
    page.run()
    whole = ids(page)
    page.page.locator("#pace label", has_text="5").click()
    page.generate()
    page.page.wait_for_selector(".lane:not([data-finished]) .token[data-index='2']")
    page.page.click("#play")
    doing(page, "paused after")
    made = page.count()
    assert made < 30
    wait_until_idle(server)
    page.page.wait_for_timeout(500)
    assert page.count() == made
    page.page.locator("#pace label", has_text="full").click()
    page.page.click("#play")
    page.page.wait_for_selector(".lane[data-finished=end_token]")
    assert ids(page) == whole
    assert page.page.locator(".grove").is_hidden()  # the same run, gone on with


def test_a_stopped_run_goes_on(visit: Open) -> None:
    page = visit()
    begin_endless(page)
    page.page.click("#stop")
    page.page.wait_for_selector(".lane[data-finished=stopped]")
    doing(page, "stopped after")
    made = ids(page)
    page.page.click("#play")
    page.page.wait_for_selector(f".lane .token[data-index='{len(made) + 3}']")
    assert ids(page)[: len(made)] == made
    page.page.click("#stop")
    page.page.wait_for_selector(".lane[data-finished=stopped]")


def test_other_settings_make_a_branch_of_their_own(visit: Open) -> None:
    page = visit()
    page.page.click("#step")
    doing(page, "paused after 1 token")
    page.set("top-k", 3)
    page.page.click("#play")
    page.page.wait_for_selector(".fork[data-node='1'][aria-selected=true]")
    page.page.wait_for_selector(".lane[data-finished]")
    assert shared(page) == 1
    walk(page, 0)
    assert page.count() == 1


def test_written_text_is_forced_and_the_run_goes_on(visit: Open) -> None:
    page, made = written_on(visit)
    page.page.keyboard.press("Control+Enter")
    page.page.wait_for_selector(".lane .token[data-index='9']")
    page.page.wait_for_selector(".lane[data-finished]")
    assert ids(page)[:6] == made
    assert "6 tokens kept, 3 encoded anew" in page.text(".kept")
    assert re.search(r"␣Lyon\s+\d+", page.text(".kept"))
    page.chip(6).click()
    assert "was forced" in page.text("#inspector")
    assert " Lyon is the" in page.text(".plain")


def test_text_that_was_paused_before_it_came_comes_when_the_run_goes_on(visit: Open, slow: Running) -> None:
    page = visit(slow.url)
    page.page.click("#step")
    doing(page, "paused after 1 token")
    page.page.click(".hand .write")
    page.page.fill(".rewrite.more textarea", " Lyon is")
    page.page.click("text=Write it and go on")
    page.page.wait_for_selector(".kept:visible")  # the prompt is read, what was written has not come yet
    page.page.click("#play")
    doing(page, "paused after 1 token")
    page.page.click("#play")
    page.page.wait_for_selector(".lane .token[data-index='2']")
    page.page.click("#stop")
    page.page.wait_for_selector(".lane[data-finished=stopped]")
    assert page.text(".plain").startswith("The Lyon is")


def test_the_answer_can_be_edited_in_place(visit: Open) -> None:
    page = visit()
    page.run()
    parent = ids(page)
    page.page.click(".hand .edit")
    box = page.page.locator(".rewrite.answer textarea")
    text = box.input_value()
    assert page.page.locator(".lanes").is_hidden()
    assert "Nothing is changed" in page.text(".rewrite.answer .told")
    assert page.page.locator(".rewrite.answer .strong").is_disabled()
    box.press("Escape")
    assert page.page.locator(".lanes").is_visible()
    page.page.click(".hand .edit")
    cut = text.index("France")
    box.fill(text[:cut] + "Lyon")
    assert "stay of" in page.text(".rewrite.answer .told")
    page.page.click(".rewrite.answer .strong")
    page.page.wait_for_selector(".fork[data-node='1'][aria-selected=true]")
    page.page.wait_for_selector(".lane[data-finished]")
    kept = shared(page)
    assert 0 < kept < len(parent)
    assert ids(page)[:kept] == parent[:kept]
    assert page.text(".kept").startswith(f"Edited: {kept} tokens kept")
    assert page.text(".plain").startswith(text[:cut] + "Lyon")
    walk(page, 0)
    assert ids(page) == parent


def prompt_ids(page: Visit) -> list[int]:
    return page.page.evaluate(
        "[...document.querySelectorAll('.token.prompt')].map((chip) => +chip.dataset.id)"
    )


def test_a_raw_prompt_is_edited_by_its_ids_and_a_message_anew(visit: Open) -> None:
    page = visit()
    page.page.get_by_text("Raw text", exact=True).click()
    page.type("prompt", "The capital of France is")
    page.run()
    before = prompt_ids(page)
    page.page.click("button.change")
    page.page.fill(".rewrite.prompt textarea", "The capital of Lyon")
    assert "3 tokens stay of 5" in page.text(".rewrite.prompt .told")
    page.page.click(".rewrite.prompt .strong")
    page.page.wait_for_function("document.querySelectorAll('.token.prompt').length === 4")
    assert prompt_ids(page)[:3] == before[:3]
    assert "3 tokens kept as they were, 1 read anew" in page.text(".prompt-strip")
    assert page.page.input_value("#prompt textarea") == "The capital of Lyon"
    page.page.wait_for_selector(".lane[data-finished]")

    page.page.get_by_text("Chat", exact=True).click()
    page.run()
    page.page.click("button.change")
    assert page.page.input_value(".rewrite.prompt textarea") == "The capital of Lyon"
    assert "encoded anew: a new run" in page.text(".rewrite.prompt .told")
    page.page.fill(".rewrite.prompt textarea", "Paris")
    page.page.click(".rewrite.prompt .strong")
    page.page.wait_for_function(
        "document.querySelector('.block[data-kind=user] .body')?.textContent.includes('Paris')"
    )
    page.page.wait_for_selector(".lane[data-finished]")
    assert "Lyon" not in page.text(".block[data-kind=user]")


def test_b38_hostile_text_written_into_a_run_is_shown_letter_for_letter(visit: Open) -> None:
    page = visit()
    page.set("max-tokens", 4)
    page.run()
    page.set("max-tokens", 1000)
    hostile = "\n".join(HOSTILE)
    page.page.click(".hand .write")
    page.page.fill(".rewrite:not([hidden]) textarea", hostile)
    page.page.click(".rewrite:not([hidden]) .strong")
    page.page.wait_for_selector(".kept:not([hidden])")
    page.page.wait_for_selector(".lane[data-finished]", timeout=60_000)
    for each in HOSTILE:
        assert each in page.text(".plain")
    assert page.page.locator("#board img, #board svg[onload], #board script").count() == 0


def test_ids_of_a_stranger_are_refused_in_a_sentence(visit: Open) -> None:
    page = visit()
    page.run()
    before = ids(page)
    sent: Any = {"lane": 0, "index": 3, "id": 10**6}
    page.page.evaluate(
        """(detail) => document.querySelector('.board').dispatchEvent(
            new CustomEvent('fork', { bubbles: true, detail }))""",
        sent,
    )
    page.page.wait_for_selector(".status[data-state=error]")
    assert "token 1000000" in page.text(".status")
    assert ids(page) == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forks_fit_a_narrow_screen(visit: Open, scheme: str) -> None:
    page = visit(width=390, height=844, color_scheme=scheme, has_touch=True)
    page.run()
    page.chip(5).tap()
    page.page.locator("#inspector button.candidate").nth(1).tap()
    page.page.wait_for_selector(".fork[data-node='1'][aria-selected=true]")
    assert page.page.locator("#inspector").is_hidden()  # the tail is in sight
    page.page.click("#stop")
    assert page.sideways() == 0
    page.page.wait_for_function("document.documentElement.dataset.run === 'idle'")
    page.page.click(".hand .edit")
    assert page.sideways() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_forks_and_forms(visit: Open, scheme: str) -> None:
    page = visit(color_scheme=scheme)
    page.page.click("#step")
    doing(page, "paused after 1 token")
    assert serious(page) == []
    page.run()
    fork(page, 5)
    assert serious(page) == []
    page.page.click(".hand .edit")
    assert serious(page) == []
    page.page.click(".hand .write")
    page.page.click("button.change")
    assert serious(page) == []
