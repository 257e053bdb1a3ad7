"""The Inside tab in Chromium over the fake engine: its strip, its states, and answers made by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Running, Visit
from tests.browser.inside_page import HEADS, LAYERS, SECTIONS, ByHand, Inside, Request, by_hand
from tests.browser.test_access import serious
from tests.ui.fake_engine import HOSTILE

Open = Callable[..., Visit]


def opened(visit: Open, many: Running, answer: Callable[[Request], Any] = by_hand, **options: Any) -> Any:
    """The tab over the recorded run, its questions answered by hand: (Inside, ByHand)."""
    made = visit(many.url, **options)
    server = ByHand(made.page, answer)
    return Inside(made), server


def test_an_engine_that_cannot_look_inside_says_so(visit: Open, server: Running) -> None:
    page = visit(server.url)
    page.set("max-tokens", 6)
    page.run()
    inside = Inside(page)
    told = inside.page.locator("#inside .problem")
    told.wait_for()
    assert re.match(r"Not available here\b.+\.$", told.inner_text())
    assert inside.page.locator("#inside .inside-panel").count() == 0


def test_another_models_run_is_not_looked_into(visit: Open, many: Running) -> None:
    inside = Inside(visit(many.url))  # the recorded run is the bundled model's, and that is not here
    told = inside.page.locator("#inside .problem")
    told.wait_for()
    assert "this run was made by another model" in told.inner_text()


def test_the_strip_is_the_playgrounds_and_its_selection_comes_along(visit: Open, many: Running) -> None:
    page = visit(many.url)
    chips = page.page.locator("#strip .token")
    ids = [int(each) for each in chips.evaluate_all("(all) => all.map((chip) => chip.dataset.id)")]
    page.chip(3).click()
    ByHand(page.page, by_hand)
    inside = Inside(page)
    given = inside.count(".prompt")
    assert inside.ids() == ids
    assert inside.position() == given + 3
    title = inside.chip(given + 3).get_attribute("title")
    assert title == f"position {given + 3} · id {ids[given + 3]}"
    assert inside.chip(given + 2).get_attribute("data-from") == "true"
    assert f"token 4 of the answer, was chosen from position {given + 2}" in page.text("#inside .choice")
    page.page.get_by_role("tab", name="Playground").click()
    page.chip(7).click()
    page.page.get_by_role("tab", name="Inside").click()
    page.page.wait_for_selector("#inside .choice:has-text('token 8 of the answer')")
    assert inside.position() == given + 7


def test_nothing_is_asked_before_its_section_is_opened(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    inside.wait("embeddings")
    assert sorted(server.whats()) == ["embedding", "map", "shape"]
    inside.ready("lens")
    assert server.whats()[3:] == ["lens"]
    inside.ready("embeddings")  # its answers stand there still
    inside.ready("cache")
    assert server.whats()[4:] == ["cache"]
    lens = server.asked[3]
    assert lens["ids"] == inside.ids()
    assert lens["position"] == inside.position() - 1
    assert {"owner", "model"} <= set(lens)


def test_the_strip_is_walked_by_keys(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    inside.ready("lens")
    at = inside.position()
    inside.chip(at).focus()
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        inside.page.keyboard.press(key)
    inside.page.wait_for_selector(f"#inside .choice:has-text('at position {at - 2}')")
    inside.wait("lens")
    assert server.asked[-1]["what"] == "lens"
    assert server.asked[-1]["position"] == at - 3
    assert f"Read at position {at - 3}" in inside.page.inner_text(".inside-panel[data-section=lens]")


def test_every_section_says_that_it_reads_and_then_shows_it(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    inside.wait("embeddings")
    for section in SECTIONS[1:]:
        server.holding = True
        inside.page.click(f"#inside-sections [data-section={section}]")
        panel = inside.page.locator(f".inside-panel[data-section={section}]")
        waits = panel.locator(".wait:not(:empty)").first
        waits.wait_for()
        assert re.search(r"(Reading|Counting) \d+ positions", waits.inner_text())
        assert panel.get_attribute("data-ready") == "false"
        server.release()
        inside.wait(section)
        assert panel.locator(".wait:not(:empty)").count() == 0


def test_a_failure_is_a_sentence_and_can_be_tried_again(visit: Open, many: Running) -> None:
    broken = {"on": True}

    def answer(request: Request) -> Any:
        if broken["on"] and request["what"] == "lens":
            return {"error": "The worker is busy: please try again."}
        return by_hand(request)

    inside, server = opened(visit, many, answer)
    inside.wait("embeddings")
    inside.page.click("#inside-sections [data-section=lens]")
    panel = inside.page.locator(".inside-panel[data-section=lens]")
    panel.locator(".problem").wait_for()
    assert panel.locator(".problem").inner_text() == "The worker is busy: please try again."
    assert panel.get_attribute("data-ready") == "false"
    broken["on"] = False
    panel.get_by_role("button", name="Try again").click()
    inside.wait("lens")
    assert panel.locator(".problem").count() == 0
    assert server.whats().count("lens") == 2


def test_what_is_not_available_says_why_and_offers_no_other_try(visit: Open, many: Running) -> None:
    def answer(request: Request) -> Any:
        if request["what"] in ("grid", "map_of", "row"):
            return {"error": "not available here: this model has no attention."}
        return by_hand(request)

    inside, _ = opened(visit, many, answer)
    inside.wait("embeddings")
    inside.page.click("#inside-sections [data-section=attention]")
    panel = inside.page.locator(".inside-panel[data-section=attention]")
    panel.locator(".problem").nth(2).wait_for()
    assert (
        panel.locator(".problem").all_inner_texts()
        == ["Not available here: this model has no attention."] * 3
    )
    assert panel.get_by_role("button", name="Try again").count() == 0


def test_heads_are_chosen_in_the_grid_by_keys_by_mouse_and_by_number(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    inside.wait("embeddings")
    panel = inside.ready("attention")
    page = inside.page
    grid = panel.locator(".head-grid canvas")
    grid.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function(
        "() => document.querySelector('#inside-layer').value === '2'"
        " && document.querySelector('#inside-head').value === '1'"
    )
    inside.wait("attention")
    row = [request for request in server.asked if request["what"] == "row"][-1]
    assert (row["layer"], row["head"]) == (2, 1)
    assert "Query head 1 reads key head 0" in panel.inner_text()
    box = grid.bounding_box()
    cell = (box["width"] - 34) / LAYERS
    grid.click(position={"x": 34 + 3.5 * cell, "y": 20 + 3.5 * cell})
    page.wait_for_function("() => document.querySelector('#inside-layer').value === '3'")
    assert page.input_value("#inside-head") == "3"
    assert "Query head 3 reads key head 1" in panel.inner_text()
    page.fill("#inside-head", "99")
    page.locator("#inside-head").blur()
    page.wait_for_function(f"() => document.querySelector('#inside-head').value === '{HEADS - 1}'")
    inside.wait("attention")
    panel.get_by_text("Mean of all layers").click()
    page.wait_for_selector("#inside h2:has-text('mean of all 4 layers')")
    inside.wait("attention")
    mean = [request for request in server.asked if request["what"] == "map_of"][-1]
    assert (mean["layer"], mean["head"]) == (None, None)


def test_one_row_step_by_step_with_its_window(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    inside.wait("embeddings")
    panel = inside.ready("attention")
    at = inside.position() - 1
    rows = panel.locator(".attention-row tbody tr")
    assert rows.count() == at + 1
    assert panel.locator(".attention-row tr.masked").count() == at + 1 - 6
    assert "Layer 0 has a sliding window" in panel.inner_text()
    assert panel.locator(".attention-row tfoot td").last.inner_text() == "100%"
    true = by_hand([request for request in server.asked if request["what"] == "row"][-1])["look"]
    told = rows.nth(at).locator("td").all_inner_texts()
    assert told[1] == f"{true['products'][at]:.2f}".replace("-", "−")
    assert told[-1] == f"{100 * true['weights'][at]:.1f}%"
    panel.get_by_text("By weight").click()
    first = int(rows.first.get_attribute("data-position"))
    assert true["weights"][first] == max(true["weights"])
    assert inside.chip(first).get_attribute("class").split().count("tinted") == 1


def test_what_mattered_is_painted_by_token_word_and_message(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    inside.wait("embeddings")
    panel = inside.ready("influence")
    true = by_hand(server.asked[-1])["look"]
    at = inside.position()
    assert server.asked[-1]["ids"] == inside.ids()[: at + 1]
    signs = inside.page.locator("#inside-strip .token").evaluate_all(
        "(all) => all.map((chip) => chip.dataset.sign)"
    )
    assert [sign == "minus" for sign in signs[:at]] == [score < 0 for score in true["scores"]]
    assert inside.chip(at).get_attribute("class").split().count("tinted") == 0
    assert "0.125 nats" in panel.locator(".facts").inner_text()  # the gap
    strongest = max(range(at), key=lambda place: abs(true["scores"][place]))
    assert panel.locator(".influence-rows tbody tr").first.get_attribute("data-from") == str(strongest)
    panel.get_by_text("By message").click()
    rows = panel.locator(".influence-rows tbody tr")
    names = rows.locator("td:nth-child(2)").all_inner_texts()
    assert sorted(names) == ["answer", "generation prompt", "system message", "you"]
    told = [float(text.replace("−", "-")) for text in rows.locator("td:last-child").all_inner_texts()]
    assert sum(told) == pytest.approx(sum(true["scores"]), abs=0.003)
    panel.get_by_text("Attention rollout").click()
    inside.page.wait_for_selector("#inside .painted:has-text('share of what was read')")
    assert inside.page.locator("#inside-strip .tinted[data-sign=minus]").count() == 0
    inside.ready("lens")
    assert inside.page.locator("#inside-strip .tinted").count() == 0
    inside.ready("influence")
    assert inside.page.locator("#inside-strip .tinted").count() > 0


def test_before_the_first_token_there_is_nothing_to_look_at(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    inside.wait("embeddings")
    inside.select(0)
    assert "Nothing is before it" in inside.page.inner_text("#inside .choice")
    asked = len(server.asked)
    for section in ("lens", "influence", "cache"):
        panel = inside.ready(section)
        assert "Nothing stands before position 0" in panel.inner_text()
    assert server.whats()[asked:] == ["embedding"] or not server.whats()[asked:]


def test_a_neighbour_can_be_followed_and_left_again(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    panel = inside.wait("embeddings")
    own = inside.ids()[inside.position()]
    panel.locator(".neighbours tbody tr").nth(2).locator("button").click()
    panel.locator(".tokenhead small:has-text('id 102')").wait_for()
    assert server.asked[-1]["id"] == 102
    panel.get_by_role("button", name=re.compile("^Back to")).click()
    panel.locator(f".tokenhead small:has-text('id {own}')").wait_for()


def test_words_of_ones_own_on_the_map(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    panel = inside.wait("embeddings")
    inside.page.fill("#inside-words", "red, green; blue\nred")
    panel.get_by_role("button", name="Draw the map").click()
    inside.wait("embeddings")
    assert server.asked[-1]["words"] == ["red", "green", "blue"]
    inside.page.fill("#inside-words", "red")
    panel.get_by_role("button", name="Draw the map").click()
    panel.locator(".problem", has_text="two words or more").wait_for()


def test_the_same_words_in_another_order(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    inside.wait("embeddings")
    panel = inside.ready("positions")
    assert "order" not in server.whats()
    panel.get_by_role("button", name="Shuffle").click()
    panel.locator(".orders").wait_for()
    asked = server.asked[-1]
    assert asked["before"] != asked["after"]
    assert sorted(asked["before"].split()) == sorted(asked["after"].split())
    assert "40.0% of the probability moved" in panel.inner_text()


def test_the_strip_follows_when_a_run_ends(visit: Open, many: Running) -> None:
    page = visit(many.url)
    server = ByHand(page.page, by_hand)
    inside = Inside(page)
    recorded = inside.ids()
    page.page.get_by_role("tab", name="Playground").click()
    page.set("max-tokens", 300)
    page.type("prompt", "endless")
    page.generate()
    page.page.wait_for_selector("html[data-run=busy] #strip .lane .token >> nth=2")
    page.page.get_by_role("tab", name="Inside").click()
    page.page.wait_for_selector("#inside .standing:has-text('being written')")
    assert inside.ids() == recorded
    page.page.wait_for_function("() => document.querySelector('#inside .standing').textContent === ''")
    page.page.wait_for_function(
        "(before) => document.querySelectorAll('#inside-strip .token').length !== before", arg=len(recorded)
    )
    inside.wait("embeddings")
    assert server.asked[-1]["model"] != server.asked[0]["model"]
    lane = page.page.locator("#strip .token")
    assert inside.ids() == [
        int(each) for each in lane.evaluate_all("(all) => all.map((chip) => chip.dataset.id)")
    ]


def test_hostile_texts_stay_texts(visit: Open, many: Running) -> None:
    def answer(request: Request) -> Any:
        told = by_hand(request)
        look = told["look"]
        if request["what"] == "embedding":
            look["text"] = HOSTILE[0]
            for near, text in zip(look["neighbours"], HOSTILE, strict=False):
                near["text"] = text
        if request["what"] == "lens":
            for row in look["rows"]:
                row["tokens"][0]["text"] = HOSTILE[1]
        if request["what"] == "order":
            look["tokens"] = [[text, 0.1, 0.1] for text in HOSTILE]
        return told

    inside, _ = opened(visit, many, answer)
    panel = inside.wait("embeddings")
    assert panel.locator(".neighbours .name").all_inner_texts()[: len(HOSTILE)] == HOSTILE
    inside.ready("lens")
    panel = inside.ready("positions")
    panel.get_by_role("button", name="Shuffle").click()
    panel.locator(".orders").wait_for()
    assert panel.locator(".orders .name").all_inner_texts() == HOSTILE
    assert inside.page.locator("#inside :is(img, script, svg[onload])").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_at_phone_width_nothing_is_cut_off(visit: Open, many: Running, scheme: str) -> None:
    inside, _ = opened(visit, many, width=390, height=844, color_scheme=scheme)
    inside.wait("embeddings")
    for section in SECTIONS:
        panel = inside.ready(section)
        assert inside.visit.sideways() == 0, section
        wide = panel.evaluate(
            "(panel) => [...panel.querySelectorAll('*')]"
            ".filter((part) => !part.closest('.scroll, .figure, .hush')"
            " && part.getBoundingClientRect().right > 391).map((part) => part.className || part.tagName)"
        )
        assert wide == [], section


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Open, many: Running, scheme: str) -> None:
    inside, _ = opened(visit, many, color_scheme=scheme)
    inside.wait("embeddings")
    inside.page.locator("summary", has_text="Cosines").click()
    for section in SECTIONS:
        panel = inside.ready(section)
        if section == "positions":
            panel.get_by_role("button", name="Shuffle").click()
            panel.locator(".orders").wait_for()
        for summary in panel.locator("details:not([open]) summary").all():
            summary.click()
        assert serious(inside.visit) == [], section


def test_another_model_in_the_header_is_asked_what_it_is_made_of(visit: Open, many: Running) -> None:
    inside, server = opened(visit, many)
    inside.wait("embeddings")
    inside.page.click("#model")
    inside.page.locator(".offer").last.wait_for()
    inside.page.locator(".offer:not(:disabled):not([aria-current])").first.click()
    inside.page.wait_for_function(
        "(before) => document.querySelector('#model').title !== before && "
        "document.querySelector('#model').dataset.state === 'ready'",
        arg=inside.page.get_attribute("#model", "title"),
    )
    inside.page.wait_for_function("() => document.querySelector('#inside .made-of .facts') !== null")
    inside.wait("embeddings")
    assert server.whats().count("shape") == 2
