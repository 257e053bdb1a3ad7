"""Chromium and the servers it visits. Nothing here leaves this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MODEL_NAME = "</script><script>alert(1)</script>${alert(1)}`{{7*7}}"  # as hostile as a name can be


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


class Running:
    """A server in a process of its own."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.process = process

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def until(self, path: str, condition: Callable[[Any], bool], seconds: float = 60) -> Any:
        """What `path` answers once it fits."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                found = self.get(path)
                if condition(found):
                    return found
            except OSError:
                found = "no answer"
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, f"{path} stayed at {found}"
            time.sleep(0.05)


def start(*command: str, ready: Callable[[Any], bool]) -> Iterator[Running]:
    """Run `command PORT` until the test is over."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [part.replace("PORT", str(port)) for part in command]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GRADIO_", "PLAYGROUND_"))}
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment)
    try:
        running = Running(port, process)
        running.until("/health", ready)
        yield running
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="session")
def server() -> Iterator[Running]:
    """The page over the fake engine, two lanes, 40 ms a token, its model under a hostile name."""
    command = ("-m", "tests.browser.serve", "PORT", "0.04", MODEL_NAME)
    yield from start(*command, ready=lambda health: health["ready"])


@pytest.fixture(scope="session")
def many() -> Iterator[Running]:
    """The same for sixteen lanes at once, 20 ms a token, a recorded run first."""
    command = ("-m", "tests.browser.serve", "PORT", "0.02", MODEL_NAME, "recorded", "", "16")
    yield from start(*command, ready=lambda health: health["ready"])


class Visit:
    """One visitor's page, and what must not happen on it."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.requests: list[str] = []
        self.trouble: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", self._dialog)
        self.open()

    def _dialog(self, dialog: Any) -> None:
        self.trouble.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def open(self) -> None:
        self.page.goto(self.url)
        self.page.wait_for_selector("#color-by option", state="attached")
        self.page.wait_for_selector("#model[data-state=ready]")
        self.type("seed", "2")  # the same tokens each time

    def tab(self, name: str) -> None:
        """Opens a tab of the page; a narrow screen has the last ones in a menu."""
        tab = self.page.get_by_role("tab", name=name)
        if not tab.is_visible():
            self.page.locator("#tabs .overflow-menu > button").click()
            tab = self.page.locator("#tabs .overflow-dropdown").get_by_text(name, exact=True)
        tab.click()

    def type(self, place: str, text: str) -> None:
        self.page.fill(f"#{place} :is(textarea, input)", text)

    def set(self, place: str, number: float) -> None:
        """Type a number into a slider's box and leave it."""
        box = self.page.locator(f"#{place} input[type=number]")
        box.fill(str(number))
        box.blur()

    def generate(self) -> None:
        self.page.click("#generate")

    def run(self) -> str:
        """Generate and wait for the end. Returns why it ended."""
        self.page.evaluate(
            "document.querySelectorAll('.lane').forEach((lane) => { lane.dataset.old = 'yes' })"
        )
        self.generate()
        self.page.wait_for_selector(".lane[data-finished]:not([data-old])")
        return self.page.get_attribute(".lane", "data-finished")

    def count(self, more: str = "") -> int:
        return self.page.locator(f".lane .token{more}").count()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).first.inner_text()

    def chip(self, index: int, lane: str = "0") -> Any:
        return self.page.locator(f".token[data-lane='{lane}'][data-index='{index}']")

    def sideways(self) -> int:
        """How far the page can be scrolled to the right, in pixels."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )


@pytest.fixture
def visit(chromium: Any, server: Running) -> Iterator[Callable[..., Visit]]:
    """Opens pages: `visit(width=390, color_scheme="dark")`. Fails if any of them had an error or a dialog."""
    contexts, visits = [], []

    def opened(url: str = server.url, width: int = 1440, height: int = 1100, **options: Any) -> Visit:
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        visits.append(Visit(context.new_page(), url))
        return visits[-1]

    yield opened
    for context in contexts:
        context.close()
    assert [each.trouble for each in visits] == [[] for _ in visits]
