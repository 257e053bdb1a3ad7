"""Tokens of the prompt: what else was expected there, exchanging one, runs beside each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from playground.trace import SamplingParams
from tests.browser.conftest import Running, Visit
from tests.browser.test_access import app as app  # the recorded run on the page
from tests.browser.test_access import serious
from tests.browser.test_forks import ids, prompt_ids
from tests.ui.fake_engine import FakeEngine

Open = Callable[..., Visit]
RAW = SamplingParams(seed=0, max_tokens=1)


def asked(visit: Open, prompt: str = "The capital of France is Paris", **options: Any) -> Visit:
    """A visitor whose run has ended."""
    page = visit(**options)
    page.type("prompt", prompt)
    page.set("max-tokens", 6)
    page.run()
    return page


def find_prompt(page: Visit, text: str) -> int:
    """The place of the prompt token that reads so."""
    return page.page.evaluate(
        "(text) => [...document.querySelectorAll('.token.prompt')].findIndex((c) => c.textContent === text)",
        text,
    )


def open_prompt(page: Visit, index: int) -> Any:
    """Select it; the rows of its rivals."""
    page.chip(index, "prompt").click()
    rows = page.page.locator("#inspector .rows .candidate")
    rows.first.wait_for()
    return rows


def begun_beside(page: Visit, root: int) -> None:
    page.page.wait_for_selector(f".fork[data-root='{root}'][aria-selected=true]")
    page.page.wait_for_selector(".lane[data-finished]")


def show_root(page: Visit, root: int) -> None:
    page.page.click(f".fork[data-root='{root}'][data-node='0']")
    page.page.wait_for_selector(f".fork[data-root='{root}'][data-node='0'][aria-selected=true]")


def blocks(page: Visit) -> list[str]:
    return page.page.locator(".block .who").all_inner_texts()


def test_rivals_are_the_engines_own(visit: Open) -> None:
    page = asked(visit)
    engine, every = FakeEngine(), prompt_ids(page)
    for index in (1, find_prompt(page, " France"), len(every) - 1):
        rows = open_prompt(page, index)
        step = engine.redistribute_ids(every[:index], (), 0, RAW, token_id=every[index])
        best = sorted(step.candidates, key=lambda candidate: candidate.rank)[:10]
        shown = rows.evaluate_all("(rows) => rows.map((row) => Number(row.dataset.id))")
        assert shown[:10] == [candidate.token_id for candidate in best]
        assert page.page.locator("#inspector .chosen").get_attribute("data-id") == str(every[index])
        facts = page.text("#inspector .facts")
        assert f"{step.entropy:.2f} nats" in facts
        assert "chance to end" in facts
        assert page.page.locator("#inspector :is(.final, .whatif, .funnel, .rolling)").count() == 0
        assert "no setting applies" in page.text("#inspector .distribution .keys")
        assert "everything else" in page.text("#inspector .rows")
    page.page.fill("#find-token", "Lyon")
    page.page.locator(".found .candidate", has_text="␣Lyon").wait_for()
    page.page.click("#arithmetic")
    page.page.wait_for_selector(".arithmetic tr.rest")


def test_the_question_is_the_text_before_and_is_asked_once(visit: Open) -> None:
    page = asked(visit)
    every, sent = prompt_ids(page), []
    page.page.on("request", lambda r: sent.append(r.post_data) if "component_server" in r.url else None)
    place = find_prompt(page, " of")
    page.chip(place, "prompt").hover()
    page.page.locator(".popover .candidate").first.wait_for()
    page.page.mouse.move(2, 2)
    page.page.wait_for_selector(".popover", state="hidden")
    page.chip(place, "prompt").hover()
    page.page.locator(".popover .candidate.chosen").wait_for()
    open_prompt(page, place)
    (request,) = [json.loads(data)["data"] for data in sent]
    request = request[0] if isinstance(request, list) else request
    assert request["prompt_ids"] == every[:place]
    assert (request["answer_ids"], request["given"]) == ([], every[place])


def test_while_it_is_on_its_way_and_where_there_is_none(visit: Open) -> None:
    page = asked(visit)
    held: list[Any] = []
    page.page.route("**/component_server/", lambda route: held.append(route))
    page.chip(3, "prompt").click()
    page.page.get_by_text("Reading what else the model expected here").wait_for()
    assert page.page.locator("#find-token").is_hidden()
    while not held:
        page.page.wait_for_timeout(20)
    held[0].continue_()
    page.page.unroute("**/component_server/")
    page.page.locator("#inspector .rows .candidate").first.wait_for()
    page.page.route("**/component_server/", lambda route: route.abort())
    page.chip(4, "prompt").click()
    page.page.locator("#inspector", has_text="The server did not answer").wait_for()
    page.chip(0, "prompt").click()
    page.page.locator("#inspector", has_text="nothing stands before it").wait_for()
    assert page.page.locator("#inspector .candidate").count() == 0


def test_a_run_of_another_model_says_why_there_is_none(visit: Open, app: Running) -> None:
    page = visit(app.url)
    page.chip(5, "prompt").click()
    why = "Not available here: this run was made by another model"
    page.page.locator("#inspector .rows", has_text=why).wait_for()
    page.chip(6, "prompt").hover()
    page.page.locator(".popover", has_text=why).wait_for()


def test_a_click_runs_the_prompt_with_that_token_in_its_place(visit: Open) -> None:
    page = asked(visit)
    before, answer, who = prompt_ids(page), ids(page), blocks(page)
    place = find_prompt(page, " France")
    open_prompt(page, place)
    row = page.page.locator("#inspector .rows button.candidate").nth(1)
    token_id = int(row.get_attribute("data-id"))
    row.click()
    begun_beside(page, 1)
    assert prompt_ids(page) == [*before[:place], token_id, *before[place + 1 :]]
    assert blocks(page) == who  # it still shows who wrote what
    assert f"the {len(before) - 1} others kept" in page.text(".prompt-strip .note")
    assert page.count() == 6
    shared = page.page.locator(".token.prompt.shared").evaluate_all(
        "(all) => all.map((c) => +c.dataset.index)"
    )
    assert shared == list(range(place))
    names = page.page.locator(".fork .from").all_inner_texts()
    assert names[0] == "first run"
    assert names[1].startswith(f"prompt {place + 1} ␣France → ")
    show_root(page, 0)
    assert prompt_ids(page) == before
    assert ids(page) == answer
    assert page.page.locator(".token.prompt.shared").count() == 0


def test_the_popover_exchanges_too_and_roots_have_forks_of_their_own(visit: Open) -> None:
    page = asked(visit)
    page.chip(2, "prompt").hover()
    page.page.locator(".popover button.candidate").nth(2).click()
    begun_beside(page, 1)
    page.chip(3).click()
    page.page.locator("#inspector .rows button.candidate").first.click()
    page.page.wait_for_selector(".fork[data-root='1'][data-node='1'][aria-selected=true]")
    page.page.wait_for_selector(".lane[data-finished]")
    levels = page.page.locator(".fork").evaluate_all("(rows) => rows.map((row) => row.ariaLevel)")
    assert levels == ["1", "1", "2"]
    page.page.locator(".fork[aria-selected=true]").focus()
    seen = set()
    for key in ("Home", "ArrowDown", "ArrowDown"):
        page.page.keyboard.press(key)
        seen.add((tuple(prompt_ids(page)), tuple(ids(page))))
    assert len(seen) == 3


def test_an_edited_message_keeps_the_run_it_came_from_and_its_chat(visit: Open) -> None:
    page = asked(visit)
    page.page.fill(".reply textarea", "And Lyon?")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(".turn:nth-child(2)[aria-current]")
    page.page.wait_for_selector(".lane[data-finished]")
    page.page.wait_for_selector(".reply:not([hidden])")
    before, answer = prompt_ids(page), ids(page)
    page.page.click("button.change")
    page.page.fill(".rewrite.prompt textarea", "And Paris?")
    page.page.click(".rewrite.prompt .strong")
    begun_beside(page, 1)
    assert page.page.locator(".turn").count() == 2
    assert "Paris" in page.text(".turn:nth-child(2)")
    changed = prompt_ids(page)
    show_root(page, 0)
    assert (prompt_ids(page), ids(page)) == (before, answer)
    assert "Lyon" in page.text(".turn:nth-child(2)")  # the chat that this run stood in
    page.page.wait_for_selector(".reply:not([hidden])")
    open_prompt(page, 9).first.click()  # out of the first again
    begun_beside(page, 2)
    assert page.page.locator(".turn").count() == 0  # ids are no message: no reply
    show_root(page, 1)
    assert prompt_ids(page) == changed
    assert page.page.locator(".turn").count() == 2


def test_an_edited_raw_prompt_keeps_the_run_it_came_from(visit: Open) -> None:
    page = visit()
    page.page.get_by_text("Raw text", exact=True).click()
    page.type("prompt", "The capital of France is")
    page.set("max-tokens", 5)
    page.run()
    before = prompt_ids(page)
    page.page.click("button.change")
    page.page.fill(".rewrite.prompt textarea", "The capital of Lyon")
    page.page.click(".rewrite.prompt .strong")
    begun_beside(page, 1)
    assert page.page.locator(".token.prompt.shared").count() == 3
    assert page.page.locator(".fork .from").last.inner_text() == "prompt 4 ␣France␣is → ␣Lyon"
    show_root(page, 0)
    assert prompt_ids(page) == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rivals_are_reached_by_keyboard(visit: Open, scheme: str) -> None:
    page = asked(visit, color_scheme=scheme)
    focused = "document.activeElement.dataset"
    page.chip(2).click()
    assert "↓ to its rivals" in page.text("#inspector .heading")
    page.page.keyboard.press("ArrowRight")
    page.page.wait_for_selector(".popover:not([hidden])")
    page.page.keyboard.press("ArrowDown")
    rows = page.page.locator(".popover button.candidate")
    every = rows.evaluate_all("(rows) => rows.map((row) => row.dataset.id)")
    assert page.page.evaluate(focused + ".id") == every[0]
    assert serious(page) == []
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowUp")
    assert page.page.evaluate(focused + ".id") == every[1]
    page.page.keyboard.press("Escape")
    assert page.page.locator(".popover").is_hidden()
    assert page.page.evaluate(focused + ".index") == "3"
    page.page.keyboard.press("ArrowDown")  # opens it again
    page.page.keyboard.press("End")
    assert page.page.evaluate(focused + ".id") == every[-1]
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(".fork[data-node='1'][aria-selected=true]")
    page.page.wait_for_selector(".lane[data-finished]")
    assert str(ids(page)[3]) == every[-1]
    assert page.page.evaluate("document.activeElement.matches('.lane .token')")  # and on from there

    page.chip(4, "prompt").click()
    page.page.keyboard.press("ArrowDown")
    page.page.locator(".popover button.candidate").first.wait_for()
    page.page.keyboard.press("ArrowDown")
    token_id = page.page.evaluate(focused + ".id")
    page.page.keyboard.press("Enter")
    begun_beside(page, 1)
    assert str(prompt_ids(page)[4]) == token_id
    page.page.wait_for_function("document.activeElement.dataset.index === '4'")
