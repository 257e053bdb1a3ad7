"""The page in Chromium, over the fake engine."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.browser.conftest import MODEL_NAME, Running, Visit
from tests.ui.fake_engine import HOSTILE

Open = Callable[..., Visit]


def test_a_run_streams_chips(visit: Open) -> None:
    page = visit()
    assert "Type a prompt" in page.text(".empty")
    page.generate()
    page.page.wait_for_selector(".lane .token[data-index='3']")
    assert page.page.get_attribute(".lane", "data-finished") is None  # shown while it goes on
    page.page.wait_for_selector(".lane[data-finished]")
    assert page.page.get_attribute(".lane", "data-finished") == "end_token"
    assert page.count() > 10
    assert [page.chip(0).get_attribute(name) for name in ("data-lane", "data-index")] == ["0", "0"]
    assert page.chip(0).get_attribute("data-id").isdecimal()
    assert page.page.locator(".token.prompt").count() > 5
    assert page.count(".special") == 1
    assert re.fullmatch(r"token 1, '.+', [<>]?[\d.]+%, rank \d+", page.chip(0).get_attribute("aria-label"))
    assert page.text(".meters").count("\n") > 5


def test_hover_shows_what_else_it_could_have_been(visit: Open) -> None:
    page = visit()
    page.set("top-k", 4)
    page.run()
    before = len(page.requests)
    page.chip(4).hover()
    popover = page.page.locator(".popover")
    popover.wait_for()
    rows = popover.locator(".candidate")
    assert rows.count() in (10, 11)  # the chosen one is listed even if it is not among the ten
    chosen = popover.locator(f".candidate.chosen[data-id='{page.chip(4).get_attribute('data-id')}']")
    assert chosen.count() == popover.locator(".candidate.chosen").count() == 1
    assert "everything else" in popover.locator(":scope > *").last.inner_text()
    cut = popover.locator(".candidate.cut")
    assert cut.count() > 0
    assert re.search("top-k|min-p", cut.first.inner_text())
    assert all(re.search(r"\d%", row) for row in rows.all_inner_texts())
    assert len(page.requests) == before  # no round trip
    page.page.mouse.move(2, 2)
    popover.wait_for(state="hidden")


def test_the_inspector_tells_why(visit: Open) -> None:
    page = visit()
    page.run()
    page.chip(6).click()
    inspector = page.text("#inspector")
    assert "Token 7 of" in inspector
    assert "The roll" in inspector or "Only" in inspector
    assert "What each setting kept" in inspector
    assert page.page.locator("#inspector .candidate.chosen").count() == 1
    assert page.chip(6).get_attribute("aria-selected") == "true"
    page.chip(8, lane="prompt").click()
    assert "Prompt token 9 of" in page.text("#inspector")
    assert page.page.locator(".token[aria-selected=true]").count() == 1


def test_settings_reach_the_run(visit: Open) -> None:
    page = visit()
    page.page.get_by_text("greedy", exact=True).click()
    page.set("max-tokens", 5)
    assert page.run() == "max_tokens"
    assert page.count() == 5
    page.chip(0).click()
    assert "No dice" in page.text("#inspector")
    page.set("temperature", 1.5)
    page.set("top-k", 3)
    page.type("seed", "11")
    page.run()
    page.chip(1).click()
    kept = page.page.locator("#inspector .stage").all_inner_texts()
    assert any("temperature 1.5" in row for row in kept)
    assert any("top-k 3" in row and re.search(r"\b3 ·", row) for row in kept)
    first = page.text(".plain")
    page.run()
    assert page.text(".plain") == first  # the same seed


def test_raw_mode_sends_the_text_alone(visit: Open) -> None:
    page = visit()
    page.page.get_by_text("Raw text", exact=True).click()
    assert page.page.locator("#system").is_hidden()
    page.type("prompt", "The capital")
    page.run()
    assert page.page.locator(".token.prompt").count() == 2
    assert "your text" in page.text(".prompt-strip")


def begin_endless(page: Visit) -> None:
    """Start a run that only its visitor ends."""
    page.type("prompt", "endless")
    page.set("max-tokens", 1000)
    page.generate()
    page.page.wait_for_selector(".lane .token[data-index='4']")


def test_stop_keeps_the_partial_run(visit: Open, server: Running) -> None:
    page = visit()
    page.page.click("#stop")  # idle: harmless
    begin_endless(page)
    page.page.click("#stop")
    page.page.wait_for_selector(".lane[data-finished=stopped]")
    page.page.click("#stop")
    made = page.count()
    assert 5 <= made < 500
    server.until("/health", lambda health: health["running"] == 0, 5)
    assert page.count() == made
    page.chip(2).click()
    assert "Token 3 of" in page.text("#inspector")
    page.type("prompt", "Hi")
    assert page.run() == "end_token"


def test_b52_a_closed_tab_stops_its_run(visit: Open, server: Running) -> None:
    page = visit()
    begin_endless(page)
    at_close = server.get("/counts")
    page.page.close()
    server.until("/health", lambda health: health["running"] == 0, 5)
    ended = server.until("/counts", lambda counts: counts["closed"] == counts["opened"], 5)
    assert ended["steps"] - at_close["steps"] < 100  # of 1000
    assert visit().run() == "end_token"


def test_b52_a_reload_stops_the_run_too(visit: Open, server: Running) -> None:
    page = visit()
    begin_endless(page)
    page.open()
    server.until("/health", lambda health: health["running"] == 0, 5)
    assert page.run() == "end_token"  # also where the last run came back


def test_b53_who_waits_is_told_and_small_actions_do_not_wait(visit: Open, server: Running) -> None:
    first, second, third = visit(), visit(), visit()
    begin_endless(first)
    begin_endless(second)
    third.generate()
    third.page.wait_for_selector(".status[data-state=waiting]")
    assert "you are number 1" in third.text(".status")
    answer = third.page.evaluate("""async () => {
        const post = await fetch('gradio_api/call/tokenize', {
            method: 'POST', headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ data: ['The capital'] }),
        });
        const id = (await post.json()).event_id;
        return (await fetch('gradio_api/call/tokenize/' + id)).text();
    }""")
    assert b" capital".hex() in answer
    assert server.get("/health")["waiting"] == 1  # it did not wait for the runs
    opened = server.get("/counts")["opened"]
    third.page.click("#stop")
    third.page.wait_for_selector(".status[data-state=idle]")
    for page in (first, second):
        page.page.click("#stop")
        page.page.wait_for_selector(".lane[data-finished=stopped]")
    server.until("/health", lambda health: health["free"] == 2 and health["waiting"] == 0, 5)
    assert server.get("/counts")["opened"] == opened
    assert third.count() == 0


def test_b42_visitors_see_only_their_own(visit: Open) -> None:
    first, second, third = visit(), visit(), visit()
    first.type("prompt", "Paris Paris")
    second.type("prompt", "Lyon Lyon")
    for page in (first, second):
        page.generate()
    for page, own, other in ((first, "Paris", "Lyon"), (second, "Lyon", "Paris")):
        page.page.wait_for_selector(".lane[data-finished]")
        assert own in page.text(".prompt-strip")
        assert other not in page.text(".prompt-strip")
    assert third.count() == 0


def test_half_characters_are_grouped_and_the_plain_text_is_whole(visit: Open) -> None:
    page = visit()
    page.page.get_by_text("Raw text", exact=True).click()
    page.type("prompt", "👩🏽")
    page.run()
    parts = page.page.locator(".token.prompt.part").all_inner_texts()
    assert [part.split()[:2] for part in parts[:4]] == [
        ["F0", "1/4"], ["9F", "2/4"], ["91", "3/4"], ["A9", "4/4"],
    ]  # fmt: skip
    assert "👩" in parts[3]


def test_keyboard(visit: Open) -> None:
    page = visit()
    page.page.locator("#prompt textarea").press("Control+Enter")
    page.page.wait_for_selector(".lane[data-finished]")
    page.chip(2).click()
    focused = "document.activeElement.dataset.lane + ':' + document.activeElement.dataset.index"
    page.page.keyboard.press("ArrowRight")
    assert page.page.evaluate(focused) == "0:3"
    page.page.locator(".popover").wait_for()
    page.page.keyboard.press("Escape")
    assert page.page.locator(".popover").is_hidden()
    page.page.keyboard.press("Enter")
    assert page.chip(3).get_attribute("aria-selected") == "true"
    page.page.keyboard.press("Home")
    assert page.page.evaluate(focused) == "prompt:0"
    page.page.keyboard.press("End")
    assert page.page.evaluate(focused) == f"0:{page.count() - 1}"
    assert page.page.locator(".token[tabindex='0']").count() == 1


def test_an_error_is_a_sentence_and_the_screen_keeps_what_it_had(visit: Open) -> None:
    page = visit()
    page.run()
    made, text = page.count(), page.text(".plain")
    page.type("seed", "soon")
    page.generate()
    page.page.wait_for_selector(".status[data-state=error]")
    assert "seed must be a whole number" in page.text(".status")
    assert (page.count(), page.text(".plain")) == (made, text)


@pytest.mark.parametrize("place", ["prompt", "system", "stop-strings", "seed"])
def test_b38_hostile_text_is_shown_letter_for_letter(visit: Open, place: str) -> None:
    page = visit()
    page.page.get_by_text("Stop strings and penalties").click()
    for hostile in ["\n".join(HOSTILE)] if place != "seed" else HOSTILE:
        page.type(place, hostile)
        if place == "seed":
            page.generate()
            page.page.wait_for_function(
                "(text) => document.querySelector('.status').innerText.includes(text)", arg=hostile[:30]
            )
        else:
            page.run()
    if place in ("prompt", "system"):
        for hostile in HOSTILE:
            assert hostile.replace(" ", "") in re.sub(r"[\s␣⏎]", "", page.text(".prompt-strip"))
    made = "#board img, #board svg:not(.timing svg), #board [onload], #board script, #board b:has(b)"
    assert page.page.locator(made).count() == 0
    assert page.text("#model b") == MODEL_NAME
    assert page.page.get_attribute("#model", "title").startswith(MODEL_NAME)


def test_b38_hostile_candidates_are_shown_letter_for_letter(visit: Open) -> None:
    page = visit()
    page.type("seed", "2")
    page.run()
    seen = set()
    for index in range(0, page.count(), 4):
        page.chip(index).click()
        seen |= set(page.page.locator("#inspector .candidate .name").all_inner_texts())
    assert seen & set(HOSTILE)
    assert page.page.locator("#inspector :is(img, svg, script)").count() == 0


def test_nothing_is_fetched_from_anywhere_else(visit: Open) -> None:
    page = visit()
    page.run()
    page.chip(1).hover()
    foreign = [url for url in page.requests if not url.startswith((page.url, "data:", "blob:"))]
    assert foreign == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_never_scrolls_sideways(visit: Open, scheme: str) -> None:
    page = visit(width=390, height=844, color_scheme=scheme, has_touch=True)
    assert page.sideways() == 0
    page.type("prompt", "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenfabrikant" * 3)
    page.run()
    assert page.sideways() == 0
    page.chip(3).tap()
    sheet = page.page.locator("#inspector.open")
    assert sheet.bounding_box()["y"] > 100
    assert page.sideways() == 0
    page.page.locator("#inspector .close").tap()
    assert page.page.locator("#inspector").is_hidden()


def test_dark_follows_the_system_and_the_switch_is_remembered(visit: Open) -> None:
    is_dark = "document.body.classList.contains('dark')"
    page = visit(color_scheme="dark")
    assert page.page.evaluate(is_dark)
    page.page.click(".theme")
    assert not page.page.evaluate(is_dark)
    page.open()
    page.page.wait_for_function(f"!{is_dark}")
    assert not visit(color_scheme="light").page.evaluate(is_dark)


CONTRAST = """() => {
    const dot = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgb = (colour, below) => {
        dot.fillStyle = below; dot.fillRect(0, 0, 1, 1);
        dot.fillStyle = colour; dot.fillRect(0, 0, 1, 1);
        return [...dot.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (channels) => channels.map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const paper = getComputedStyle(document.querySelector('.card')).backgroundColor;
    const chip = document.querySelector('.lane .token:not(.special)');
    chip.classList.remove('calm');
    return [0, 0.25, 0.5, 0.75, 1].map((strength) => {
        chip.style.setProperty('--s', strength);
        const ink = chip.querySelector('.ink');
        ink.style.transition = 'none';
        const style = getComputedStyle(ink);
        const both = [light(rgb(style.color, paper)), light(rgb(style.backgroundColor, paper))];
        return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_chip_text_has_contrast_at_every_colour(visit: Open, scheme: str) -> None:
    page = visit(color_scheme=scheme)
    page.run()
    ratios = page.page.evaluate(CONTRAST)
    assert len(set(ratios)) == 5  # the colour does change
    assert min(ratios) >= 4.5


def test_colour_by_changes_chips_and_legend(visit: Open) -> None:
    page = visit()
    page.run()
    strengths = "[...document.querySelectorAll('.lane .token')].map((c) => c.style.cssText).join()"
    seen, units = set(), set()
    for mode in ("surprise", "final", "rank", "entropy", "ratio", "time"):
        page.page.select_option("#color-by", mode)
        seen.add(page.page.evaluate(strengths))
        units.add(page.text(".legend .unit"))
    assert len(seen) == len(units) == 6
    page.page.select_option("#color-by", "role")
    assert page.chip(0).get_attribute("data-role") == "assistant"


def test_a_newer_run_takes_over_and_late_messages_of_the_older_are_dropped(visit: Open) -> None:
    page = visit()
    begin_endless(page)
    page.type("prompt", "Paris")
    assert page.run() == "end_token"
    shown = page.page.evaluate("[...document.querySelectorAll('.lane .token')].map((c) => +c.dataset.index)")
    assert shown == list(range(len(shown)))
    assert "Paris" in page.text(".prompt-strip")


def test_the_old_runs_end_does_not_answer_for_the_new_one(visit: Open) -> None:
    page = visit()
    page.run()
    page.page.evaluate("document.querySelector('#generate button, button#generate').click()")
    assert page.page.locator(".lane[data-finished]").count() == 0
    page.page.wait_for_selector(".lane[data-finished=end_token]")
    page.type("prompt", "")
    page.generate()  # refused: the old run stays, with its end
    page.page.wait_for_selector(".status[data-state=error]")
    page.page.wait_for_selector(".lane[data-finished=end_token]")
