"""Case B42: two browsers at once, and a third that comes later. Nobody sees anything of another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Visit
from tests.chromium import FLAGS, chromium_path
from tests.hosting.programs import free_port, healthy, program, python

pytestmark = pytest.mark.browser

ROUNDS = 20


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A server for strangers."""
    port, log = free_port(), tmp_path / "log"
    flags = ("--hosted", "--port", str(port), "--store", str(tmp_path / "store"))
    with program(python("-m", "tests.hosting.serve", "0.01", *flags), log=log) as process:
        healthy(f"http://127.0.0.1:{port}/", process, log, lambda health: health["ready"])
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture
def browsers(chromium: Any) -> Iterator[list[Any]]:
    """Two browsers, each a program of its own."""
    other = chromium.browser_type.launch(executable_path=chromium_path(), args=FLAGS)
    yield [chromium, other]
    other.close()


class Guest:
    """A visitor with words of their own in every prompt."""

    def __init__(self, browser: Any, url: str, word: str, other: str) -> None:
        self.context = browser.new_context(viewport={"width": 1440, "height": 1100})
        self.visit = Visit(self.context.new_page(), url)
        self.page, self.word, self.other = self.visit.page, word, other
        self.heard: list[bytes] = []
        self.page.on("requestfinished", self._hear)

    def _hear(self, request: Any) -> None:
        if "/queue/data" not in request.url:
            return
        try:
            self.heard.append(request.response().body())
        except Exception:  # of a stream that the browser did not keep
            self.heard.append(b"")

    def ask(self, number: int, tokens: int) -> None:
        self.visit.type("prompt", f"{self.word}{number}")
        self.visit.set("max-tokens", tokens)
        self.page.evaluate(
            "document.querySelectorAll('.lane').forEach((lane) => { lane.dataset.old = 'yes' })"
        )
        self.visit.generate()

    def see(self, number: int, tokens: int) -> None:
        """Their own run has come, whole, and nothing of the other's."""
        self.page.wait_for_selector(".lane[data-finished]:not([data-old])")
        assert self.visit.count() == tokens
        assert f"{self.word}{number}" in self.prompt()
        self.see_nothing_else()

    def see_nothing_else(self) -> None:
        assert self.other not in self.shown()
        assert self.other not in self.page.content()
        assert self.other.encode() not in self.all_heard()

    def shown(self) -> str:
        return str(self.page.text_content("body"))

    def all_heard(self) -> bytes:
        return b"".join(self.heard)

    def share(self) -> str:
        """Save the run that is shown; its link."""
        self.page.click("#share")
        self.page.click("#share-panel .run-link .save")
        link = self.page.locator("#share-panel .run-link .link input")
        link.wait_for()
        self.page.wait_for_function(
            "document.querySelector('#share-panel .run-link .link input').value.includes('#r=')"
        )
        return link.input_value()

    def prompt(self) -> str:
        """The prompt as the model read it, from the chips."""
        return "".join(self.page.locator(".prompt-strip .token").all_text_contents())


def test_b42_two_visitors_see_their_own_alone(browsers: list[Any], url: str) -> None:
    one = Guest(browsers[0], url, "Xylophone", "Yesterday")
    two = Guest(browsers[1], url, "Yesterday", "Xylophone")
    for number in range(ROUNDS):
        first, second = (one, two) if number % 2 else (two, one)
        first.ask(number, 4 + number % 3)
        second.ask(number, 8 + number % 4)
        second.see(number, 8 + number % 4)
        first.see(number, 4 + number % 3)
    for guest in (one, two):
        assert guest.word in guest.shown()  # so what was looked for could have been found
        assert guest.word.encode() in guest.all_heard()
        guest.context.close()
        assert guest.visit.trouble == []


def test_b42_a_link_opens_its_run_and_a_third_visitor_sees_neither(browsers: list[Any], url: str) -> None:
    one = Guest(browsers[0], url, "Xylophone", "Yesterday")
    two = Guest(browsers[1], url, "Yesterday", "Xylophone")
    one.ask(1, 6)
    two.ask(1, 9)
    one.see(1, 6)
    two.see(1, 9)
    links = [guest.share() for guest in (one, two)]
    for guest in (one, two):
        guest.page.reload()
        guest.page.wait_for_selector("#model[data-state=ready]")
        guest.page.wait_for_selector(".lane[data-finished]")
        guest.see_nothing_else()

    third = Guest(browsers[1], url, "Zeppelin", "Xylophone")
    third.page.wait_for_selector(".lane[data-finished]")
    third.see_nothing_else()
    third.other = "Yesterday"
    third.see_nothing_else()
    third.page.goto(links[0])
    third.page.wait_for_function(
        "document.querySelector('.prompt-strip')?.textContent.includes('Xylophone1')"
    )
    assert third.visit.count() == 6
    third.see_nothing_else()

    ids = [re.search(r"#r=([0-9a-f]{32})", link)[1] for link in links]
    differing = sum(a != b for a, b in zip(*ids, strict=True))
    assert differing > 20  # of 32: one tells nothing about the next
    for guest in (one, two, third):
        guest.context.close()
