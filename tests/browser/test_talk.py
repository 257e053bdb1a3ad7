"""First paint, conversation, examples, watched tokens, thinking and the menu of models, in Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.conftest import MODEL_NAME, Running, Visit, start
from tests.ui.fake_engine import HOSTILE

Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def app() -> Iterator[Running]:
    """The page as app.py serves it, over the fake engine."""
    command = ("-m", "tests.browser.serve", "PORT", "0.02", MODEL_NAME, "recorded")
    yield from start(*command, ready=lambda health: health["ready"])


def ask(page: Visit, text: str) -> str:
    page.page.click("#preset label:has-text('greedy')")
    page.type("prompt", text)
    return page.run()


def reply(page: Visit, text: str) -> None:
    turns = page.page.locator(".turn").count()
    page.page.fill(".reply textarea", text)
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(f".turn:nth-child({max(2, turns + 1)})")
    page.page.wait_for_selector(".reply:not([hidden])")


def test_the_first_paint_is_a_recorded_run_that_can_be_opened(visit: Open, app: Running) -> None:
    page = visit(app.url)
    assert page.text(".notice").startswith("Recorded run of SmolLM2-135M-Instruct, seed 19.")
    assert page.text(".plain").startswith("Bien sûr, the capital of France is Paris.")
    page.chip(4).click()
    assert "Token 5 of 46" in page.text("#inspector")
    assert page.page.locator("#inspector .candidate").count() >= 10
    assert page.page.locator(".reply").is_hidden()
    page.run()
    assert page.page.locator(".notice").is_hidden()


def test_the_recorded_run_travels_with_the_page_itself(chromium: Any, app: Running) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.route("**/gradio_api/queue/**", lambda route: route.abort())  # the server says nothing any more
    page.goto(app.url)
    page.wait_for_selector(".lane[data-finished=end_token]")
    assert page.locator(".lane .token").count() == 46
    context.close()


def test_a_reply_goes_on_with_the_chat_and_each_turn_keeps_its_trace(visit: Open, app: Running) -> None:
    page = visit(app.url)
    ask(page, "What is the capital of France?")
    assert page.page.locator(".talk").is_hidden()
    first = page.text(".lane")
    reply(page, "And of Spain?")
    read = page.text(".prompt-strip")
    assert re.search("capital.of.France.*The.capital.of.France.is.Paris.*And.of.Spain", read, re.DOTALL)
    assert page.page.input_value("#prompt textarea") == "And of Spain?"
    reply(page, "Thanks!")
    assert page.page.locator(".turn").count() == 3
    assert page.page.locator(".turn[aria-current]").inner_text().startswith("3")
    page.page.locator(".turn").first.click()
    assert "Turn 1 of 3, as it was." in page.text(".notice")
    assert page.text(".lane") == first
    assert "Spain" not in page.text(".prompt-strip")
    page.chip(3).click()
    assert "Token 4 of" in page.text("#inspector")
    page.page.get_by_text("Back to turn 3").click()
    assert "Thanks!" in page.text(".prompt-strip").replace("␣", " ")
    assert page.page.locator(".notice").is_hidden()


def test_a_reply_to_an_earlier_turn_leaves_the_later_ones_when_it_is_sent(visit: Open, app: Running) -> None:
    page = visit(app.url)
    ask(page, "What is the capital of France?")
    for text in ("And of Spain?", "And of Italy?"):
        reply(page, text)
    assert page.page.locator(".leaves").is_hidden()
    page.page.locator(".turn").first.click()
    page.page.wait_for_selector(".turn:nth-child(1)[aria-current]")
    told = "A reply goes on from turn 1. Sending it leaves turns 2 and 3 behind; until then they stay."
    assert page.text(".leaves") == told
    assert page.page.locator(".turn.leaving").count() == 0
    page.page.fill(".reply textarea", "And of Lyon?")
    page.page.wait_for_selector(".turn.leaving:nth-child(3)")
    assert page.page.locator(".turn.leaving").count() == 2
    page.page.locator(".turn").nth(1).click()  # still reachable
    page.page.wait_for_selector(".turn.leaving:nth-child(3)")
    assert "Spain" in page.text(".prompt-strip")
    assert page.text(".leaves").endswith("Sending it leaves turn 3 behind; until then it stays.")
    page.page.locator(".turn").first.click()
    page.page.wait_for_selector(".turn:nth-child(1)[aria-current]")
    page.page.focus(".reply textarea")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(".turn:nth-child(2)[aria-current]")
    page.page.wait_for_selector(".reply:not([hidden])")
    assert page.page.locator(".turn .words b").all_text_contents() == [
        "What is the capital of France?", "And of Lyon?",
    ]  # fmt: skip
    read = page.text(".prompt-strip")
    assert "Lyon" in read
    assert not re.search("Spain|Italy", read)


def test_a_reply_that_did_not_become_a_run_is_taken_back_by_looking_elsewhere(
    visit: Open, app: Running
) -> None:
    page = visit(app.url)
    ask(page, "What is the capital of France?")
    reply(page, "And of Spain?")
    page.page.locator(".turn").first.click()
    page.page.wait_for_selector(".turn:nth-child(1)[aria-current]")
    page.type("seed", "none")  # so that the server refuses
    page.page.fill(".reply textarea", "And of Lyon?")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(".status[data-state=error]")
    assert page.page.locator(".turn").count() == 2
    page.page.locator(".turn").nth(1).click()
    page.page.wait_for_selector(".turn:nth-child(2)[aria-current]")
    page.type("seed", "2")
    page.type("prompt", "And of Italy?")
    page.run()
    assert page.page.locator(".turn").count() == 2
    assert re.search("France.*Italy", page.text(".prompt-strip"), re.DOTALL)


def test_a_system_message_may_be_changed_until_there_is_a_reply(visit: Open, app: Running) -> None:
    page = visit(app.url)
    page.type("system", "Be brief.")
    ask(page, "What is the capital of France?")
    assert page.page.locator(".talk").is_hidden()
    page.type("system", "Be long.")
    page.run()
    assert "long" in page.text(".prompt-strip")
    assert "brief" not in page.text(".prompt-strip")
    reply(page, "And of Spain?")
    assert page.page.get_attribute("#system textarea", "readonly") is not None
    assert "long" in page.text(".prompt-strip")


def test_generate_runs_the_latest_turn_again_and_new_chat_forgets(visit: Open, app: Running) -> None:
    page = visit(app.url)
    ask(page, "What is the capital of France?")
    reply(page, "And of Spain?")
    page.type("prompt", "And of Italy?")
    page.run()
    assert page.page.locator(".turn").count() == 2
    assert "Spain" not in page.text(".prompt-strip")
    assert page.page.get_attribute("#system textarea", "readonly") is not None
    page.page.click(".renew")
    assert page.page.locator(".talk").is_hidden()
    assert page.page.get_attribute("#system textarea", "readonly") is None
    page.run()
    assert page.page.locator(".turn").count() == 1
    assert "France" not in page.text(".prompt-strip")


def test_an_example_fills_the_form_says_what_it_shows_and_begins_anew(visit: Open, app: Running) -> None:
    page = visit(app.url)
    page.page.click("#examples label:has-text('alphabet')")
    page.page.wait_for_function("document.querySelector('#prompt textarea').value.startsWith('The English')")
    assert page.page.locator("#mode input[value=raw]").is_checked()
    assert "Hardly any choice" in page.text("#examples .lesson")
    page.run()
    assert page.page.locator(".token.prompt[data-segment=raw]").count() > 3
    page.page.locator("#prompt textarea").press_sequentially(" D, E")
    page.page.wait_for_function("!document.querySelector('#examples label.selected')")


def test_watched_tokens_are_followed_and_told_for_the_selected_token(visit: Open, app: Running) -> None:
    page = visit(app.url)
    page.type("watched", " Paris\n" + HOSTILE[0] + "\n" + HOSTILE[3])
    ask(page, "What is the capital of France?")
    rows = page.page.locator(".watch .row")
    assert rows.count() == 3
    assert rows.nth(1).get_attribute("title").endswith("tokens of " + HOSTILE[0])
    page.chip(5).click()
    told = rows.first.locator(".now").inner_text()
    assert re.fullmatch(r"[<>]?[\d.]+% rank [\d,]+", told)
    chosen = page.page.locator("#inspector .candidate.chosen .raw:not(i)").inner_text()
    assert page.chip(5).get_attribute("data-id") == rows.first.get_attribute("data-id")
    assert told.startswith(chosen)
    assert rows.first.locator(".line").get_attribute("d").count("L") == page.count() - 1
    page.chip(6).click()
    assert rows.first.locator(".now").inner_text() != told
    assert page.page.locator(".watch :is(img, script)").count() == 0


def test_thought_and_answer_are_told_apart(visit: Open, app: Running) -> None:
    page = visit(app.url)
    assert page.page.locator("#thinking").is_visible()
    assert ask(page, "ponder: the capital?") == "end_token"
    page.page.wait_for_selector(".thinking:not([hidden])")
    assert page.text(".thinking .thought") == "Paris is known."
    assert page.text(".thinking .spoken").startswith("The capital of France is Paris")
    assert page.page.locator(".thinking .unfinished").is_hidden()
    assert page.count(".thought") == len(page.page.locator(".lane .token").all()) - page.count(
        ":not(.thought)"
    )
    page.set("max-tokens", 12)
    assert ask(page, "ponder: the capital?") == "max_tokens"
    page.page.wait_for_selector(".thinking .unfinished:not([hidden])")
    assert "Thought unfinished" in page.text(".thinking .unfinished")
    assert page.page.locator(".reply").is_hidden()  # there is no answer to reply to


def test_the_switch_is_hidden_where_the_template_has_none(visit: Open) -> None:
    page = visit()  # the other server: no template with a switch
    page.page.wait_for_selector("html[data-thinking=no]", state="attached")
    assert page.page.locator("#thinking").is_hidden()


def test_the_menu_of_models_loads_another_behind_and_a_failure_keeps_the_old(
    visit: Open, app: Running
) -> None:
    page = visit(app.url)
    page.page.click("#model")
    page.page.wait_for_selector(".offer")
    assert page.page.locator(".offer").count() >= 4
    assert "million parameters" in page.text(".offers")
    page.page.keyboard.press("Escape")
    assert page.page.locator(".models").is_hidden()
    for name in ("org/lost", HOSTILE[0] + "lost"):
        page.page.click("#model")
        page.page.wait_for_selector(".offer")
        page.page.fill(".models .other input", name)
        page.page.click(".models .other button")
        said = f"the hub shows no model {name}: check the name"
        page.page.wait_for_function(
            "(said) => document.querySelector('.news').textContent === said", arg=said
        )
        assert page.page.get_attribute(".news", "data-state") == "failed"
        assert page.text("#model b") == MODEL_NAME
        assert page.page.locator("#header :is(img, script, svg)").count() == 0
    assert page.run() == "end_token"  # the old model still works
    page.page.click("#model")
    page.page.wait_for_selector(".offer")
    page.page.fill(".models .other input", "org/new")
    page.page.click(".models .other button")
    page.page.wait_for_selector("#model[data-coming=yes]")
    assert page.text("#model b") == MODEL_NAME
    page.page.wait_for_function("document.querySelector('#model b').textContent === 'org/new'")
    assert page.run() == "end_token"
    page.page.click("#model")
    page.page.wait_for_selector(".offer")
    page.page.fill(".models .other input", MODEL_NAME)  # back, for the tests after this one
    page.page.click(".models .other button")
    page.page.wait_for_function(
        "(name) => document.querySelector('#model b').textContent === name", arg=MODEL_NAME
    )


def load_other(page: Visit, name: str) -> None:
    page.page.click("#model")
    page.page.wait_for_selector(".offer")
    page.page.fill(".models .other input", name)
    page.page.click(".models .other button")
    wait_for_name(page, name)


def wait_for_name(page: Visit, name: str) -> None:
    page.page.wait_for_function("(name) => document.querySelector('#model b').textContent === name", arg=name)


def test_an_open_page_learns_that_somebody_else_switched_the_model(visit: Open, app: Running) -> None:
    hers, his = visit(app.url), visit(app.url)
    ask(hers, "What is the capital of France?")
    hers.page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    load_other(his, "org/new")
    asked = hers.requests.count(app.url + "/health")
    hers.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert hers.text("#model b") == MODEL_NAME
    assert hers.requests.count(app.url + "/health") == asked  # nobody looks at it: it asks nothing
    hers.page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    wait_for_name(hers, "org/new")
    assert "context 2,048" in hers.text("#model")
    hers.chip(3).click()
    hers.page.locator("#inspector button.candidate[data-id]").nth(1).click()
    hers.page.wait_for_selector(".status[data-state=error]")
    assert "made by another model than the one that runs now, org/new" in hers.text(".status")
    load_other(his, MODEL_NAME)  # back, for the tests after this one


def test_b38_hostile_replies_are_shown_letter_for_letter(visit: Open, app: Running) -> None:
    page = visit(app.url)
    ask(page, "\n".join(HOSTILE))
    reply(page, " ".join(HOSTILE))
    shown = page.page.locator(".turn .words b").all_text_contents()
    assert shown == ["\n".join(HOSTILE), " ".join(HOSTILE)]
    assert page.page.locator(".talk :is(img, svg, script), .talk b b").count() == 0
