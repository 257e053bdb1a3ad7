"""The browser's own compression and JSON agree with ours on what a settings link is."""

from __future__ import annotations

from typing import Any

from tests.test_links import BROWSER, SHARED, check_what_javascript_made


def test_a_browser_writes_and_reads_the_same_format(chromium: Any) -> None:
    page = chromium.new_page()
    call = f"([json, fragment]) => ({BROWSER})(JSON.parse(json), fragment)"
    check_what_javascript_made(page.evaluate(call, [SHARED.to_json(), SHARED.to_fragment()]))
    page.close()
