"""The browser of the tests: Debian's Chromium, which asks nobody outside this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium_path() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser. Without one the test is skipped, or fails if PLAYGROUND_REQUIRE_BROWSER=1 is set (in CI)."""
    path = chromium_path()
    if path is None:
        if os.environ.get("PLAYGROUND_REQUIRE_BROWSER") == "1":
            pytest.fail("there is no Chromium: install it, or name it in CHROMIUM")
        pytest.skip("there is no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
