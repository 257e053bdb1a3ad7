"""Recorded runs without a server: they open from a disk, everything in them works, nothing leaves them."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from playground.pages.site import write_site
from playground.pages.standalone import standalone_page
from playground.sampling import dice
from playground.ui.recorded import recorded_trace
from tests.browser.test_access import AXE
from tests.hostile import hostile_trace

Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the shipped run as a single file."""
    path = tmp_path_factory.mktemp("one") / "a run.html"
    path.write_bytes(standalone_page(recorded_trace()).encode())
    return path.as_uri()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "a site"
    write_site(folder, [("France", recorded_trace()), ("hostile", hostile_trace())])
    return folder


@pytest.fixture
def opened(chromium: Any) -> Iterator[Opened]:
    """Opens an address with nothing but files within reach. Fails if a page had trouble or asked for more."""
    contexts: list[Any] = []
    trouble: list[str] = []

    def opened(address: str, width: int = 1440, **options: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 1000}, **options)
        contexts.append(context)
        page = context.new_page()
        place = address.rpartition("/")[0]

        def asked(request: Any) -> None:
            if not request.url.startswith(place):
                trouble.append(f"asked for {request.url[:100]}")

        page.on("request", asked)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append("a dialog"), dialog.dismiss()))
        page.on("console", lambda line: trouble.append(line.text) if line.type == "error" else None)
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def chip(page: Any, index: int, lane: str = "0") -> Any:
    return page.locator(f".token[data-lane='{lane}'][data-index='{index}']")


def slide(page: Any, name: str, value: float) -> None:
    """Set a what-if slider and wait for its answer."""
    page.locator(f"#whatif-{name} input").evaluate(
        "(input, value) => { input.value = value;"
        " input.dispatchEvent(new Event('input', { bubbles: true })); }",
        str(value),
    )
    expect(page.locator(".whatif .said")).to_have_text(re.compile("would|No dice|Not available here"))


def test_a_file_shows_the_whole_run_and_has_no_dead_controls(opened: Opened, one: str) -> None:
    trace, page = recorded_trace(), opened(one)
    page.wait_for_selector(".lane[data-finished=end_token]")
    assert page.locator(".lane .token").count() == len(trace.steps)
    assert page.locator(".token.prompt").count() == len(trace.prompt.tokens)
    assert page.title() == "What is the capital of France? · Token Playground"
    assert page.locator(".asked").inner_text().startswith("What is the capital of France?")
    assert "seed 19" in page.locator(".settings").inner_text()
    for control in (".hand", ".change", ".reply", ".talk", ".notice", ".rewrite", ".grove", "#generate"):
        assert page.locator(f"{control}:visible").count() == 0
    page.wait_for_selector(".timeline .main-svg")  # the library came out of the page itself
    page.keyboard.press("Tab")
    chip(page, 5).hover()
    page.wait_for_selector(".popover:not([hidden]) .candidate")
    assert page.locator(".popover .candidate").count() >= 10
    assert page.locator("button.candidate").count() == 0  # nothing can go on from a candidate
    chip(page, 0).click()
    page.wait_for_selector("#inspector .tokenhead")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#inspector h2").first).to_have_text("Token 2 of 46")
    page.locator(".loop summary").click()
    page.wait_for_selector(".loop tbody tr")
    page.select_option("#color-by", "rank")
    page.wait_for_selector(".legend[data-mode=rank]")


def test_what_if_is_worked_out_in_the_page(opened: Opened, one: str) -> None:
    trace, page = recorded_trace(), opened(one)
    index = next(step.index for step in trace.steps if step.rank > 1)
    step = trace.steps[index]
    best = min(step.candidates, key=lambda candidate: candidate.rank)
    chip(page, index).click()
    page.wait_for_selector(".whatif")
    slide(page, "temperature", 0)
    page.wait_for_selector(f".card.hypothetical .candidate.chosen[data-id='{best.token_id}']")
    assert "No dice at temperature 0" in page.locator(".whatif .said").inner_text()
    assert "listed" not in page.locator(".whatif .said").inner_text()  # the likeliest of all is always listed
    slide(page, "temperature", 1.9)
    expect(page.locator(".whatif .said")).to_contain_text("listed tokens")
    number = f"{len(step.candidates)} of 49,152"
    expect(page.locator(".funnel")).to_contain_text(f"listed tokens {number}")
    page.get_by_text("Back to the run’s settings").click()
    expect(page.locator(".card.hypothetical")).to_have_count(0)


def test_dice_and_find_know_the_listed_tokens(opened: Opened, one: str) -> None:
    trace, page = recorded_trace(), opened(one)
    index = next(step.index for step in trace.steps if step.rank > 2)
    step = trace.steps[index]
    assert trace.params.seed is not None
    assert step.draw.u == dice(trace.params.seed, index)
    chip(page, index).click()
    page.wait_for_selector(".dice .roll")
    page.locator(".dice .roll").focus()
    page.keyboard.press("Home")
    best = max(step.candidates, key=lambda candidate: candidate.final_prob)
    expect(page.locator(".outcome")).to_have_text(re.compile("^u = 0.000 picks"))
    assert best.text in page.locator(".outcome").inner_text()
    assert page.locator(".outcome .go").count() == 0
    page.fill("#find-token", best.text.replace("␣", " "))
    page.wait_for_selector(f".found .candidate[data-id='{best.token_id}']")
    page.fill("#find-token", "no such token")
    expect(page.locator(".found")).to_have_text(re.compile("^Not available here"))
    chip(page, 12, "prompt").click()
    expect(page.locator("#inspector")).to_contain_text("holds no model")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_pages_fit_every_screen_and_axe_finds_nothing(
    opened: Opened, one: str, site: Path, scheme: str, width: int
) -> None:
    for address in (one, (site / "index.html").as_uri()):
        page = opened(address, width, color_scheme=scheme)
        assert page.evaluate("document.body.classList.contains('dark')") == (scheme == "dark")
        if address == one:
            page.wait_for_selector(".timeline .main-svg")
            chip(page, 30).click()
            page.wait_for_selector("#inspector .dice")
            slide(page, "temperature", 1.9)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.evaluate(AXE)
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        assert [
            (rule["id"], node["html"][:200], node["failureSummary"])
            for rule in found
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"][:4]
        ] == []


def test_light_and_dark_are_switched_and_stay(opened: Opened, one: str) -> None:
    page = opened(one, color_scheme="light")
    page.wait_for_selector(".timeline .main-svg")
    page.click(".theme")
    page.wait_for_selector("body.dark")
    page.reload()
    page.wait_for_selector("body.dark .lane[data-finished]")


def test_b38_nothing_of_a_hostile_trace_runs(opened: Opened, tmp_path: Path) -> None:
    trace = hostile_trace()
    path = tmp_path / "hostile.html"
    path.write_bytes(standalone_page(trace).encode())
    page = opened(path.as_uri())
    page.wait_for_selector(".lane[data-finished]")
    assert page.locator(".top .chip b").inner_text() == trace.model.name
    assert page.locator(".asked h2").inner_text() == trace.prompt.text[:159] + "…"
    page.wait_for_selector(".timeline .main-svg")
    chip(page, 0).click()
    page.wait_for_selector("#inspector .dice")
    slide(page, "temperature", 1.9)
    chip(page, 2).hover()
    page.wait_for_selector(".popover:not([hidden]) .candidate")
    page.locator(".loop summary").click()
    page.wait_for_selector(".loop tbody tr")
    made = "script:not([type]), img, svg[onload], [onerror], [onload], [onclick], [onmouseover]"
    assert page.locator(made).count() == 3  # our two scripts, and the charts' library
    assert page.locator(".plain").inner_text().strip() == trace.finished.text.strip()


class Host(SimpleHTTPRequestHandler):
    """A file host that says nothing."""

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def host(site: Path) -> Iterator[str]:
    """The site under a path of a host."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Host, directory=str(site.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/a%20site"
    server.shutdown()


@pytest.mark.parametrize("where", ["disk", "host"])
def test_a_site_opens_from_a_disk_and_from_a_host(opened: Opened, site: Path, host: str, where: str) -> None:
    page = opened(f"{site.as_uri() if where == 'disk' else host}/index.html")
    cards = page.locator(".runs a")
    assert cards.count() == 2
    assert "What is the capital of France?" in cards.first.inner_text()
    assert "46 tokens" in cards.first.inner_text()
    cards.first.click()
    page.wait_for_selector(".lane[data-finished=end_token]")
    page.wait_for_selector(".timeline .main-svg")  # from beside the page
    page.get_by_text("All runs").click()
    page.wait_for_selector(".runs a")
    page.locator(".runs a").last.click()
    page.wait_for_selector(".lane[data-finished]")


def test_the_trace_is_saved_whole(opened: Opened, tmp_path: Path) -> None:
    trace = hostile_trace()
    path = tmp_path / "run.html"
    path.write_bytes(standalone_page(trace).encode())
    page = opened(path.as_uri())
    with page.expect_download() as download:
        page.click(".save")
    assert download.value.suggested_filename == "run.trace.json"
    download.value.save_as(tmp_path / "run.json")
    assert (tmp_path / "run.json").read_text("utf-8") == trace.to_json()
