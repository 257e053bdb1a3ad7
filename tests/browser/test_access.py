"""For everybody, anywhere: axe-core, root paths, no network, less motion, narrow screens."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

import pytest

from tests.browser.conftest import MODEL_NAME, Running, Visit, start

Open = Callable[..., Visit]
AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
ROOT_PATH = "/some/where"


@pytest.fixture(scope="module")
def app() -> Iterator[Running]:
    """The page as app.py serves it, over the fake engine."""
    command = ("-m", "tests.browser.serve", "PORT", "0.02", MODEL_NAME, "recorded")
    yield from start(*command, ready=lambda health: health["ready"])


def serious(page: Visit) -> list[str]:
    """What axe-core finds serious or worse, as lines: rule, element, why."""
    page.page.evaluate(AXE)
    found = page.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"][:4]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Open, app: Running, server: Running, scheme: str) -> None:
    empty = visit(color_scheme=scheme)
    assert serious(empty) == []
    page = visit(app.url, color_scheme=scheme)
    assert serious(page) == []  # the recorded run
    page.type("watched", " Paris")
    page.run()
    page.chip(3).click()
    page.page.fill(".reply textarea", "And?")
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(".turn:nth-child(2)")
    page.page.wait_for_selector(".reply:not([hidden])")
    page.page.get_by_text("Stop strings and penalties").click()
    page.page.get_by_text("Bans, biases, typical-p and length").click()
    page.page.click("#model")
    page.page.wait_for_selector(".offer")
    page.page.wait_for_timeout(400)  # for what slides open
    assert serious(page) == []
    page.page.keyboard.press("Escape")
    page.type("seed", "soon")
    page.generate()
    page.page.wait_for_selector(".status[data-state=error]")
    assert serious(page) == []


class _Proxy(BaseHTTPRequestHandler):
    """Hands on what lies under ROOT_PATH, as a reverse proxy does. `target` is set by the fixture."""

    target = ""
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        if not self.path.startswith(ROOT_PATH):
            self.send_error(404)
            return
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length) if length else None
        host = self.target.removeprefix("http://")
        there = http.client.HTTPConnection(host, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
        headers["x-forwarded-prefix"] = ROOT_PATH
        there.request(self.command, self.path.removeprefix(ROOT_PATH) or "/", body, headers)
        answer = there.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.end_headers()
        while chunk := answer.read1(65536):
            self.wfile.write(chunk)
            self.wfile.flush()
        there.close()

    do_POST = do_GET

    def log_message(self, *told: Any) -> None:
        pass


@pytest.fixture
def proxy() -> Iterator[str]:
    """The page under a root path, behind a reverse proxy."""
    command = ("-m", "tests.browser.serve", "PORT", "0.02", "Fake-12M", "recorded", ROOT_PATH)
    for running in start(*command, ready=lambda health: health["ready"]):
        _Proxy.target = running.url
        front = ThreadingHTTPServer(("127.0.0.1", 0), _Proxy)
        front.daemon_threads = True
        threading.Thread(target=front.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{front.server_port}{ROOT_PATH}/"
        front.shutdown()
        front.server_close()


def test_it_works_under_a_root_path(visit: Open, proxy: str) -> None:
    page = visit(proxy)
    assert "Recorded run" in page.text(".notice")
    assert page.run() == "end_token"
    assert page.count() > 10
    page.page.wait_for_timeout(300)  # the timeline's library comes after the run
    asked = [url for url in page.requests if url.startswith("http")]
    assert [url for url in asked if not url.startswith(proxy.rstrip("/"))] == []


def test_nothing_is_asked_of_any_other_host_and_nothing_needs_one(visit: Open, app: Running) -> None:
    page = visit(app.url)
    asked: list[str] = []

    def only_ours(route: Any) -> None:
        asked.append(route.request.url)
        if route.request.url.startswith(app.url):
            route.continue_()
        else:
            route.abort()

    page.page.context.route("**/*", only_ours)
    page.open()
    page.run()
    page.chip(2).click()
    page.page.click("#model")
    page.page.wait_for_selector(".offer")
    page.page.wait_for_timeout(300)
    foreign = [url for url in [*asked, *page.requests] if not url.startswith((app.url, "data:", "blob:"))]
    assert foreign == []
    assert len(asked) > 5


def test_whoever_wants_less_motion_gets_none(visit: Open, app: Running) -> None:
    page = visit(app.url, reduced_motion="reduce")
    page.type("prompt", "endless")
    page.set("max-tokens", 400)
    page.generate()
    page.page.wait_for_selector(".lane .token[data-index='12']")
    moving = page.page.evaluate("""() => document.getAnimations()
        .filter((each) => each.playState === 'running' && each.effect.target.closest('#board, #header'))
        .map((each) => each.effect.target.outerHTML.slice(0, 120))""")
    assert moving == []
    page.page.click("#stop")
    page.page.wait_for_selector(".lane[data-finished=stopped]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_state_scrolls_sideways_on_a_phone(visit: Open, app: Running, scheme: str) -> None:
    page = visit(app.url, width=390, height=844, color_scheme=scheme, has_touch=True)
    assert page.sideways() == 0  # the recorded run
    page.page.locator("#model").tap()
    page.page.wait_for_selector(".offer")
    assert page.sideways() == 0
    box = page.page.locator(".models").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.page.keyboard.press("Escape")
    long = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenfabrikant" * 2
    page.type("watched", long)
    page.type("prompt", long)
    page.run()
    page.page.fill(".reply textarea", long)
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector(".turn:nth-child(2)")
    page.page.wait_for_selector(".reply:not([hidden])")
    assert page.sideways() == 0
    page.page.locator(".turn").first.tap()
    assert page.sideways() == 0
