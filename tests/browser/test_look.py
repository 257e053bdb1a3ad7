"""The inspector's tools in Chromium, over the fake engine: what if, dice, softmax, find, forks from rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Visit
from tests.ui.fake_engine import HOSTILE, FakeEngine

Open = Callable[..., Visit]
OPEN = 7  # the index of a token that had rivals
FILTERS = {"temperature": 0.9, "top-k": 50, "top-p": 0.9, "min-p": 0.03}


def inspecting(visit: Open, **options: Any) -> Visit:
    """A visitor who selected the token of a run with filters where most was still open."""
    page = visit(**options)
    for name, number in FILTERS.items():
        page.set(name, number)
    page.set("max-tokens", 12)
    page.run()
    page.chip(OPEN).click()
    page.page.wait_for_selector(f".token[data-index='{OPEN}'][aria-selected=true]")
    page.page.wait_for_selector("#whatif-temperature")
    return page


def slide(page: Visit, name: str, value: float) -> None:
    page.page.locator(f"#whatif-{name} input").fill(str(value))


def finals(page: Visit) -> list[str]:
    return page.page.locator("#inspector .rows .candidate").evaluate_all(
        "(rows) => rows.map((row) => row.dataset.id + ' ' + row.lastChild.textContent)"
    )


def hear_forks(page: Visit) -> None:
    """Catch what a click asks for, before the page acts on it."""
    page.page.evaluate(
        "window.forks = []; window.addEventListener('fork', (event) => {"
        " event.stopImmediatePropagation(); window.forks.push(event.detail); }, true)"
    )


def forks(page: Visit) -> Any:
    return page.page.evaluate("window.forks")


def test_what_if_shows_other_settings_and_leaves_the_run(visit: Open) -> None:
    page = inspecting(visit)
    before, answer = finals(page), page.text(".plain")
    assert page.page.locator(".hypothetical").count() == 0
    slide(page, "temperature", 1.6)
    page.page.wait_for_selector(".card.distribution.hypothetical")
    assert finals(page) != before
    assert "the run itself is unchanged" in page.text(".whatif .said")
    assert "The same roll" in page.text(".whatif .said")
    assert "temperature 1.6" in page.text(".card.funnel.hypothetical")
    assert page.page.locator(".card.rolling.hypothetical").count() == 1
    slide(page, "temperature", 0)
    page.page.get_by_text("No dice at temperature 0").wait_for()
    assert next(row for row in finals(page) if row.endswith("%")).endswith(" 100%")
    page.page.get_by_role("button", name="Back to the run").click()
    page.page.wait_for_selector(".card.distribution:not(.hypothetical)")
    assert finals(page) == before
    assert page.page.input_value("#whatif-temperature input") == "0.9"
    assert page.text(".plain") == answer
    assert page.page.locator(".hypothetical").count() == 0


def test_what_if_goes_along_to_other_tokens_and_ends_with_the_run(visit: Open) -> None:
    page = inspecting(visit)
    slide(page, "temperature", 1.6)
    page.page.locator(".card.funnel.hypothetical", has_text="temperature 1.6").wait_for()
    page.chip(OPEN - 2).click()
    page.page.locator("#inspector h2", has_text=f"Token {OPEN - 1} of").wait_for()
    page.page.locator(".card.funnel.hypothetical", has_text="temperature 1.6").wait_for()
    assert page.page.input_value("#whatif-temperature input") == "1.6"
    assert page.page.input_value("#whatif-min-p input") == "0.03"
    page.chip(4, "prompt").click()  # no settings there
    page.page.wait_for_selector("#whatif-temperature", state="detached")
    page.chip(OPEN).click()
    page.page.locator(".card.funnel.hypothetical", has_text="temperature 1.6").wait_for()
    page.page.get_by_role("button", name="Back to the run’s settings").click()
    page.page.wait_for_selector(".card.distribution:not(.hypothetical)")
    page.chip(OPEN - 2).click()
    page.page.locator("#inspector h2", has_text=f"Token {OPEN - 1} of").wait_for()
    assert page.page.input_value("#whatif-temperature input") == "0.9"
    slide(page, "temperature", 1.6)
    page.page.locator(".card.funnel.hypothetical", has_text="temperature 1.6").wait_for()
    page.run()
    page.chip(OPEN).click()
    page.page.locator("#inspector h2", has_text=f"Token {OPEN + 1} of").wait_for()
    assert page.page.input_value("#whatif-temperature input") == "0.9"
    assert page.page.locator(".hypothetical").count() == 0


def test_a_drag_asks_one_question_at_a_time_and_ends_on_its_last_value(visit: Open) -> None:
    page = inspecting(visit)
    begun = len(page.requests)
    page.page.evaluate(
        "(input) => { for (let at = 0; at <= 60; at += 1) {"
        " input.value = 0.5 + at / 60; input.dispatchEvent(new Event('input', { bubbles: true })); } }",
        page.page.locator("#whatif-temperature input").element_handle(),
    )
    page.page.locator(".card.funnel", has_text="temperature 1.5").wait_for()
    asked = [url for url in page.requests[begun:] if "component_server" in url]
    assert 1 <= len(asked) <= 2  # the first, and the last that waited for it


def test_a_late_answer_is_dropped(visit: Open) -> None:
    page = inspecting(visit)
    held: list[Any] = []
    page.page.route("**/component_server/", lambda route: held.append(route))
    slide(page, "temperature", 1.6)
    page.page.get_by_text("Working it out").wait_for()
    page.page.get_by_role("button", name="Back to the run").click()
    page.page.wait_for_timeout(100)
    held[0].continue_()
    page.page.unroute("**/component_server/")
    page.page.wait_for_timeout(300)
    assert page.page.locator(".hypothetical").count() == 0
    assert "Move a slider" in page.text(".whatif .said")
    slide(page, "temperature", 1.4)
    page.page.locator(".card.funnel", has_text="temperature 1.4").wait_for()


def test_what_the_server_cannot_do_is_said(visit: Open) -> None:
    page = inspecting(visit)
    refusal = json.dumps(json.dumps({"error": "Not available here: the server keeps no logits"}))
    page.page.route("**/component_server/", lambda route: route.fulfill(status=200, body=refusal))
    slide(page, "min-p", 0.4)
    page.page.get_by_text("Not available here: the server keeps no logits").wait_for()
    page.page.route("**/component_server/", lambda route: route.abort())
    slide(page, "min-p", 0.5)
    page.page.get_by_text("The server did not answer").wait_for()
    assert page.page.locator(".card.distribution.hypothetical").count() == 0


def drag(page: Visit, to: float) -> None:
    box = page.page.locator(".stretches").bounding_box()
    handle = page.page.locator(".roll span").bounding_box()
    page.page.mouse.move(handle["x"] + handle["width"] / 2, box["y"] + box["height"] / 2)
    page.page.mouse.down()
    for share in (0.2, 0.6, to):
        page.page.mouse.move(box["x"] + share * box["width"], box["y"] + 10)
    page.page.mouse.up()


def test_the_dice_can_be_dragged_and_the_run_can_go_on_with_what_it_picks(visit: Open) -> None:
    page = inspecting(visit)
    page.page.locator(".stretches").scroll_into_view_if_needed()
    slider = page.page.get_by_role("slider", name="the dice")
    own = page.chip(OPEN).get_attribute("data-id")
    hear_forks(page)
    went_on = set()
    for u in (0.02, 0.5, 0.9, 0.97):
        drag(page, u)
        assert abs(float(slider.get_attribute("aria-valuenow")) - u) < 0.01
        said = page.text(".outcome p")
        assert re.match(r"u = 0\.\d{3} picks .+, a stretch of [<\d.]+% of the bar\.", said)
        assert said.split(" picks ")[1].split(",")[0] in slider.get_attribute("aria-valuetext")
        button = page.page.locator(".outcome .go")
        if button.count():
            button.click()
            went_on.add(forks(page)[-1]["id"])
            assert forks(page)[-1]["lane"] == 0
            assert forks(page)[-1]["index"] == OPEN
    assert went_on
    assert own not in map(str, went_on)
    page.page.get_by_role("button", name="put it back").click()
    assert page.page.locator(".outcome > *").count() == 0


def test_the_dice_answer_to_the_keyboard(visit: Open) -> None:
    page = inspecting(visit)
    slider = page.page.get_by_role("slider", name="the dice")
    slider.focus()
    page.page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuenow") == "0.000"
    page.page.keyboard.press("PageUp")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("Shift+ArrowRight")
    assert slider.get_attribute("aria-valuenow") == "0.111"
    assert slider.get_attribute("aria-valuetext").startswith("u 0.111 picks ")
    page.page.keyboard.press("End")
    assert slider.get_attribute("aria-valuenow") == "0.9999"


def test_a_token_that_is_not_listed_is_asked_for(visit: Open) -> None:
    page = visit()
    page.page.get_by_text("wild", exact=True).click()  # no filter: most of the bar's end is not listed
    page.set("max-tokens", 8)
    page.run()
    page.chip(0).click()
    page.page.get_by_role("slider", name="the dice").focus()
    begun = len(page.requests)
    page.page.keyboard.press("End")
    page.page.locator(".outcome .go, .outcome p:has-text('a stretch of')").first.wait_for()
    assert any("component_server" in url for url in page.requests[begun:])
    assert "others" not in page.text(".outcome")


def test_touch_moves_the_dice(visit: Open) -> None:
    page = inspecting(visit, width=390, height=844, has_touch=True)
    track = page.page.locator(".stretches")
    track.scroll_into_view_if_needed()
    box = track.bounding_box()
    page.page.touchscreen.tap(box["x"] + 0.3 * box["width"], box["y"] + 12)
    value = float(page.page.get_by_role("slider", name="the dice").get_attribute("aria-valuenow"))
    assert abs(value - 0.3) < 0.02
    assert page.sideways() == 0


def test_softmax_as_arithmetic(visit: Open) -> None:
    page = inspecting(visit)
    raw = page.page.locator("#inspector .rows .candidate .raw:not(i)").all_inner_texts()
    page.page.get_by_role("button", name="Show the arithmetic").click()
    cells = page.page.locator(".arithmetic tbody tr:not(.rest)").evaluate_all(
        "(rows) => rows.map((row) => [...row.children].slice(1).map((cell) => cell.textContent))"
    )
    assert [row[3] for row in cells] == raw
    total = float(page.page.locator("#inspector .rows p b").last.inner_text())
    largest = float(cells[0][0])
    for logit, below, weight, shown in cells:
        assert abs(float(logit) - largest - float(below.replace("−", "-"))) < 0.0015
        if not shown.startswith("<"):
            assert abs(100 * float(weight.replace("−", "-")) / total - float(shown[:-1])) < 0.06
    page.chip(6).click()  # it stays chosen for the next token
    assert page.page.locator(".arithmetic").count() == 1
    page.page.get_by_role("button", name="Show the bars").click()
    assert page.page.locator("#inspector .rows .candidate").count() >= 10


def test_any_token_is_found_by_text_and_by_id(visit: Open) -> None:
    page = inspecting(visit)
    page.page.fill("#find-token", "Lyon")
    row = page.page.locator(".found .candidate", has_text="␣Lyon")
    row.wait_for()
    token_id = row.get_attribute("data-id")
    assert re.search(rf"with a space before · id {token_id} · rank \d+ · logit −?\d", page.text(".found"))
    page.page.fill("#find-token", f"#{token_id}")
    page.page.locator(".found", has_text="by id").wait_for()
    assert page.page.locator(".found .candidate").first.get_attribute("data-id") == token_id
    hear_forks(page)
    page.page.locator(".found .candidate").first.press("Enter")
    assert forks(page) == [{"lane": 0, "index": OPEN, "id": int(token_id)}]
    page.page.fill("#find-token", "")
    page.page.wait_for_function("document.querySelector('.found').childElementCount === 0")


def test_b38_what_is_looked_for_never_runs(visit: Open) -> None:
    page = inspecting(visit)
    words = FakeEngine().vocabulary
    for text in HOSTILE:
        for typed, token_id in (
            (text, words.encode(text)[0]),
            (f"#{words.ids[text.encode()]}", words.ids[text.encode()]),
        ):
            page.page.fill("#find-token", typed)
            found = page.page.locator(f".found .candidate[data-id='{token_id}'] .name")
            found.wait_for()
            assert found.text_content() == words.visible(token_id)
            assert page.page.locator("#inspector :is(img, svg, script)").count() == 0


def test_rows_of_inspector_and_popover_start_a_fork(visit: Open) -> None:
    page = inspecting(visit)
    hear_forks(page)
    rows = page.page.locator("#inspector .rows button.candidate")
    assert page.page.locator("#inspector .rows .chosen:not(button)").count() == 1  # the run's own is none
    first = rows.first.get_attribute("data-id")
    rows.first.click()
    page.chip(4).hover()
    popover = page.page.locator(".popover")
    popover.wait_for()
    other = popover.locator("button.candidate").nth(1)
    wanted = other.get_attribute("data-id")
    other.click()  # the pointer can cross over to it
    popover.wait_for(state="hidden")
    assert forks(page) == [
        {"lane": 0, "index": OPEN, "id": int(first)},
        {"lane": 0, "index": 4, "id": int(wanted)},
    ]


def test_reasons_and_cutoffs_are_on_show(visit: Open) -> None:
    page = inspecting(visit)
    reasons = page.page.locator("#inspector .rows .reason").all_inner_texts()
    cut = page.page.locator("#inspector .rows .candidate.cut").count()
    assert bool(reasons) == bool(cut)
    assert all(re.search(r"\d", reason) for reason in reasons)
    funnel = page.text(".card.funnel")
    assert "whole vocabulary" in funnel
    assert "were asked for" in funnel
    assert "the floor is" in funnel
    assert page.page.locator(".card.funnel .rule .edge").count() >= 2


@pytest.mark.parametrize("width", [1440, 390])
def test_b45_nothing_is_cut_off(visit: Open, width: int) -> None:
    page = inspecting(visit, width=width)
    slide(page, "temperature", 1.6)
    page.page.wait_for_selector(".card.distribution.hypothetical")
    page.page.fill("#find-token", "Lyon")
    page.page.locator(".found .candidate").first.wait_for()
    for _ in range(2):
        wide = page.page.evaluate(
            "[...document.querySelectorAll('#inspector .card')].filter((card) =>"
            " card.scrollWidth > card.clientWidth + 1).map((card) => card.className)"
        )
        assert wide == []
        page.page.click("#arithmetic")
    assert page.sideways() == 0
