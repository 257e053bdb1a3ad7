"""Time on the page: the pass ribbon, the timeline, the loop as a table, blocks of the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.browser.conftest import Visit

Open = Callable[..., Visit]
PLOT = ".timeline .js-plotly-plot"


def selected(page: Visit) -> int:
    return int(page.page.get_attribute(".lane .token[aria-selected=true]", "data-index"))


def boxes(page: Visit) -> tuple[dict[str, float], dict[str, float]]:
    block = page.page.locator(".passes .prefill").bounding_box()
    ticks = page.page.locator(".passes .ticks").bounding_box()
    return block, ticks


def pitch(page: Visit) -> float:
    """Pixels from one tick to the next."""
    return page.page.evaluate(
        """() => {
            const path = document.querySelector('.passes .own').getAttribute('d');
            const starts = [...path.matchAll(/M([\\d.]+)/g)];
            return Number(starts[1][1]) - Number(starts[0][1]);
        }"""
    )


def test_prefill_is_a_wide_block_and_decode_is_ticks(visit: Open) -> None:
    page = visit()
    page.run()
    tokens = page.count()
    page.page.wait_for_function(
        "n => document.querySelector('.passes').getAttribute('aria-valuemax') == n", arg=tokens
    )
    block, ticks = boxes(page)
    assert block["width"] > 8 * pitch(page)
    assert (
        page.page.get_attribute(".passes .own", "d").count("M") == tokens - 1
    )  # the first came with prefill
    prompt = page.page.locator(".token.prompt").count()
    assert f"{prompt} tokens" in page.text(".passes .prefill")
    assert "tokens/s" in page.text(".pass-legend .read")
    assert "tokens/s" in page.text(".pass-legend .write")
    assert page.text(".timing .weights") == "Weights read per pass: not available here."
    assert ticks["x"] + ticks["width"] <= page.page.locator(".timing").bounding_box()["x"] + 700


def test_a_pass_selects_its_token(visit: Open) -> None:
    page = visit()
    page.run()
    page.page.wait_for_selector(".passes .own[d*=M]")
    _, ticks = boxes(page)
    x, y = ticks["x"] + 5.5 * pitch(page), ticks["y"] + ticks["height"] - 4
    page.page.mouse.move(x, y)
    assert "pass 7" in page.text(".timing .readout")
    page.page.mouse.click(x, y)
    assert selected(page) == 6
    assert "Token 7 of" in page.text("#inspector")
    page.page.locator(".passes").focus()
    page.page.keyboard.press("ArrowRight")
    assert selected(page) == 7
    assert page.page.locator(".passes").get_attribute("aria-valuenow") == "8"
    assert page.page.locator(".passes").get_attribute("aria-valuetext").startswith("pass 8, ")
    page.page.keyboard.press("Home")
    assert selected(page) == 0
    page.page.keyboard.press("End")
    assert selected(page) == page.count() - 1
    page.page.locator(".passes .prefill").click()
    assert selected(page) == 0
    assert page.page.evaluate("document.activeElement.className") == "passes"  # not taken away


def point(page: Visit, index: int) -> tuple[float, float]:
    """Where on the screen the timeline has the token `index`."""
    place = page.page.evaluate(
        """([selector, index]) => {
            const plot = document.querySelector(selector);
            const { xaxis, yaxis } = plot._fullLayout;
            const box = plot.getBoundingClientRect();
            const x = xaxis._offset + xaxis.l2p(index + 1);
            return [box.left + x, box.top + yaxis._offset + yaxis._length / 2];
        }""",
        [PLOT, index],
    )
    return place[0], place[1]


def shown(page: Visit) -> None:
    """Wait until the timeline shows the whole run."""
    page.page.locator(".timing").scroll_into_view_if_needed()
    page.page.wait_for_function(
        "([selector, n]) => document.querySelector(selector)?.data?.[0].x.length === n",
        arg=[PLOT, page.count()],
    )


def test_the_timeline_selects_and_follows(visit: Open) -> None:
    page = visit()
    page.run()
    shown(page)
    page.page.mouse.move(*point(page, 9))
    page.page.wait_for_selector(f"{PLOT} .hoverlayer .legend")
    page.page.mouse.click(*point(page, 9))
    assert selected(page) == 9
    line = "selector => document.querySelector(selector).layout.shapes[0].x0"
    page.page.wait_for_function(f"selector => ({line})(selector) === 10", arg=PLOT)
    page.chip(4).click()
    page.page.wait_for_function(f"selector => ({line})(selector) === 5", arg=PLOT)


def test_the_timeline_is_whole_as_soon_as_a_run_waits(visit: Open) -> None:
    page = visit()
    page.page.click("#step")
    page.page.wait_for_selector(".hand[data-state=paused]")
    page.page.locator(".timeline").scroll_into_view_if_needed()
    page.page.wait_for_selector(f"{PLOT} .scatterlayer")
    page.page.locator("#pace label", has_text="5").click()  # so slow that the button stays where it is
    page.page.click("#play")
    page.page.wait_for_selector(".lane .token[data-index='4']")
    page.page.click("#play")
    page.page.wait_for_selector(".hand[data-state=paused]")
    page.page.wait_for_function(
        "([selector, n]) => document.querySelector(selector).data[0].x.length === n",
        arg=[PLOT, page.count()],
        timeout=2500,
    )


def test_the_timeline_has_the_colours_of_its_theme(visit: Open) -> None:
    page = visit(color_scheme="dark")
    page.run()
    shown(page)
    colour = "selector => document.querySelector(selector).data[2].line.color"
    assert page.page.evaluate(colour, PLOT) == "#8fa4ff"
    page.page.evaluate("document.body.classList.remove('dark')")
    page.page.wait_for_function(f"selector => ({colour})(selector) === '#2b4acb'", arg=PLOT)


def test_plotly_comes_from_this_server_after_the_page(visit: Open) -> None:
    page = visit()
    assert not [url for url in page.requests if "plotly" in url]  # not before there is something to draw
    page.run()
    shown(page)
    library = [url for url in page.requests if "plotly" in url]
    assert len(library) == 1
    assert all(url.startswith((page.url, "blob:", "data:")) for url in page.requests)


def test_b38_the_timeline_shows_tokens_letter_for_letter(visit: Open) -> None:
    page = visit()
    page.run()
    shown(page)
    texts = page.page.evaluate(
        "() => [...document.querySelectorAll('.lane .token')].map((chip) => chip.textContent)"
    )
    bold = next(index for index, text in enumerate(texts) if "<b>" in text)
    page.page.mouse.move(*point(page, bold))
    label = page.page.locator(f"{PLOT} .hoverlayer .legend")
    label.wait_for()
    assert "<b>" in label.evaluate("label => label.textContent")
    assert "&" not in label.evaluate("label => label.textContent")


def test_the_loop_as_a_table_is_made_when_opened(visit: Open) -> None:
    page = visit()
    page.run()
    assert page.page.locator(".loop tbody tr").count() == 0
    page.page.locator(".loop summary").click()
    rows = page.page.locator(".loop tbody tr")
    rows.nth(page.count() - 1).wait_for()
    assert rows.count() == page.count()
    first = rows.nth(0).inner_text().split()
    prompt = page.page.locator(".token.prompt").count()
    assert first[:5] == ["1", "the", "prompt", str(prompt), "0"]
    assert rows.nth(1).inner_text().split()[0] == "2"
    rows.nth(5).locator("button").click()
    assert selected(page) == 5
    page.run()
    page.page.wait_for_function(
        "(count) => document.querySelectorAll('.loop tbody tr').length === count", arg=page.count()
    )


def test_a_long_answer_stands_in_blocks(visit: Open) -> None:
    page = visit()
    page.type("prompt", "endless")
    page.set("max-tokens", 260)
    page.run()
    sizes: list[int] = page.page.evaluate(
        "() => [...document.querySelectorAll('.lane .paragraph')].map((block) => block.children.length)"
    )
    assert sum(sizes) == page.count() == 260
    assert len(sizes) > 1
    assert max(sizes) <= 192


def test_on_a_phone_nothing_is_cut_off(visit: Open) -> None:
    page = visit(width=390, height=844)
    page.run()
    shown(page)
    page.page.locator(".loop summary").click()
    assert page.sideways() == 0
    block, ticks = boxes(page)
    assert block["width"] >= 110
    assert ticks["x"] + ticks["width"] <= 390 - 12
    drawn: dict[str, Any] = page.page.locator(f"{PLOT} .main-svg").first.bounding_box()
    assert drawn["x"] >= 0
    assert drawn["x"] + drawn["width"] <= 390
