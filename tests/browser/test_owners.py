"""Whose requests are whose on a server for strangers: each open page names itself in all that it asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.conftest import Running, Visit, start


@pytest.fixture
def hosted() -> Iterator[Running]:
    command = ("-m", "tests.browser.serve", "PORT", "0.01", "Fake-12M", "", "", "16", "hosted")
    yield from start(*command, ready=lambda health: health["ready"])


def owners(server: Running, least: int) -> list[str]:
    found = server.until("/counts", lambda counts: len(counts["owners"]) >= least)["owners"]
    return [str(owner) for owner in found]


def test_a_page_names_itself_in_runs_orders_looks_and_comparisons(
    visit: Callable[..., Visit], hosted: Running
) -> None:
    def used(page: Visit, before: int) -> set[str]:
        """The owners of what a page asks on both tabs."""
        page.set("max-tokens", 6)
        page.run()
        asked = len(owners(hosted, before + 1))
        page.chip(2).click()
        page.page.fill("#find-token", "Paris")
        asked = len(owners(hosted, asked + 1))  # a look
        page.page.click("#step")
        asked = len(owners(hosted, asked + 1))
        page.page.click("#tabs button[role=tab]:has-text('Compare')")
        page.page.click("#compare-run")
        page.page.wait_for_selector("#compare .compare[data-run=idle]")
        return set(owners(hosted, asked + 1)[before:])

    first = used(visit(hosted.url), 0)
    second = used(visit(hosted.url), len(owners(hosted, 1)))
    assert len(first) == len(second) == 1
    assert first != second
    assert all(re.fullmatch("[0-9a-f]{32}", owner) for owner in first | second)


def test_at_home_there_are_no_owners(visit: Callable[..., Visit], server: Running) -> None:
    page: Any = visit()
    page.run()
    assert set(owners(server, 1)) == {""}
