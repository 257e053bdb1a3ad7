"""The page under a prefix behind a real nginx, over HTTPS."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.compare_page import Compare
from tests.browser.conftest import Visit
from tests.hosting.conftest import Hosted, behind_nginx

pytestmark = pytest.mark.browser

ENDLESS = json.dumps({"data": ['"endless"', '{"max_tokens": 60, "seed": 1}']})


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with behind_nginx(tmp_path_factory.mktemp("nginx"), "--trusted-proxy", "127.0.0.1") as made:
        yield made


@pytest.fixture
def visit(chromium: Any, hosted: Hosted) -> Iterator[Visit]:
    context = chromium.new_context(ignore_https_errors=True, viewport={"width": 1440, "height": 1100})
    page, failed = context.new_page(), []
    page.on(
        "response",
        lambda answer: failed.append((answer.status, answer.url)) if answer.status >= 400 else None,
    )
    page.on("requestfailed", lambda request: failed.append((request.failure, request.url)))
    opened = Visit(page, hosted.url)
    yield opened
    outside = [url for url in opened.requests if url.startswith(("http", "ws"))]
    context.close()
    assert [url for url in outside if not url.startswith(hosted.url)] == []
    assert [each for each in failed if "ABORTED" not in str(each[0])] == []
    assert opened.trouble == []


def test_first_paint_and_a_run_that_streams(visit: Visit) -> None:
    assert "Recorded run" in visit.text(".notice")
    visit.type("prompt", "endless")
    visit.set("max-tokens", 400)
    visit.page.wait_for_selector(".lane[data-finished]")  # the recorded run is whole
    visit.page.evaluate("document.querySelector('.lane').dataset.old = 'yes'")
    visit.generate()
    new = ".lane:not([data-old], [data-finished])"
    visit.page.wait_for_selector(f"{new} .token[data-index='5']")  # nothing is held back on the way
    visit.page.click("#stop")
    visit.page.wait_for_selector(".lane[data-finished=stopped]")
    visit.type("prompt", "What is the capital of France?")
    assert visit.run() == "end_token"
    visit.chip(3).click()
    visit.page.locator("#inspector h2", has_text="Token 4 of").wait_for()
    visit.page.wait_for_selector(".timeline .js-plotly-plot")  # its library has come too


def test_lanes_side_by_side(visit: Visit) -> None:
    compare = Compare(visit)
    compare.run()
    assert len(compare.ids(0)) > 5
    assert len(compare.ids(1)) > 5


# -- whose request it is ------------------------------------------------------------------------------------


def first_event(port: int, path: str, address: str, *, tls: bool, **headers: str) -> tuple[Any, str]:
    """Ask for an endless run from `address`: the answer, which goes on, and the first event in it."""

    def connection() -> http.client.HTTPConnection:
        there: Any = {"source_address": (address, 0), "timeout": 30}
        if not tls:
            return http.client.HTTPConnection("127.0.0.1", port, **there)
        unverified = ssl._create_unverified_context()
        return http.client.HTTPSConnection("127.0.0.1", port, context=unverified, **there)

    call = f"{path}gradio_api/call/generate"
    asking = connection()
    asking.request("POST", call, ENDLESS, {"content-type": "application/json", **headers})
    answer = asking.getresponse()
    told = json.loads(answer.read())
    assert answer.status == 200, told
    reading = connection()
    reading.request("GET", f"{call}/{told['event_id']}", headers=headers)
    events = reading.getresponse()
    line = events.readline().decode()
    while not line.startswith("event:") or "heartbeat" in line:
        line = events.readline().decode()
    return events, line.split(":")[1].strip()


def kinds(port: int, path: str, *visitors: str, tls: bool = True, **headers: str) -> list[str]:
    """The first events of runs asked for at once, one by each visitor."""
    kept = [first_event(port, path, address, tls=tls, **headers) for address in visitors]
    for events, _ in kept:
        events.close()
    return [kind for _, kind in kept]


def test_a_trusted_proxy_tells_visitors_apart(tmp_path: Any) -> None:
    limits = ("--visitor-runs", "1", "--trusted-proxy", "127.0.0.1")
    with behind_nginx(tmp_path, *limits, seconds=0.2) as hosted:
        assert kinds(hosted.port, "/play/", "127.0.0.2", "127.0.0.2", "127.0.0.3") == [
            "generating", "error", "generating",
        ]  # fmt: skip
        # Past the proxy nobody is believed who says that they come from elsewhere.
        first = first_event(hosted.own_port, "/", "127.0.0.4", tls=False, **{"X-Forwarded-For": "10.0.0.1"})
        again = first_event(hosted.own_port, "/", "127.0.0.4", tls=False, **{"X-Forwarded-For": "10.0.0.2"})
        assert (first[1], again[1]) == ("generating", "error")


def test_without_trust_all_who_come_by_the_proxy_count_as_one(tmp_path: Any) -> None:
    with behind_nginx(tmp_path, "--visitor-runs", "1", seconds=0.2) as hosted:
        assert kinds(hosted.port, "/play/", "127.0.0.2", "127.0.0.3") == ["generating", "error"]
        spoofed = {"X-Forwarded-For": "10.0.0.9"}
        assert kinds(hosted.port, "/play/", "127.0.0.2", **spoofed) == ["error"]
