"""What the Compare tab costs: six lanes of 300 tokens each arrive side by side in Chromium.

As in page.py everything is the production way, and the main thread's time is Chromium's own count of the
processor's time for its tasks. It is taken from the first tokens on the screen to the last; a short run goes
first.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

LANES = 6
TOKENS = 300
PACE = 25  # tokens a second and lane
PARTS = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration")
DRAWN = "document.querySelectorAll('#compare .lane .token').length"


def compare(report: Callable[..., None]) -> None:
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import start
    from tests.chromium import FLAGS

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    serving = contextmanager(start)
    command = ("-m", "tests.bench.serve", "PORT", str(PACE))
    with serving(*command, ready=lambda health: health["ready"]) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        tab = browser.new_page(viewport={"width": 1440, "height": 1100})
        tab.goto(server.url)
        tab.wait_for_selector("#model[data-state=ready]")
        tab.get_by_role("tab", name="Compare").click()
        tab.fill("#compare-prompt", "Tell me a story.")
        while tab.locator("#compare .lane").count() < LANES:
            tab.click("#add-lane")
        run(tab, 20)
        tab.wait_for_timeout(2000)
        first, last = measure(tab)
        browser.close()
    wall = last["wall"] - first["wall"]
    spent = {name: last[name] - first[name] for name in PARTS}
    parts = {
        name.removesuffix("Duration").lower() + "_s": round(seconds, 2) for name, seconds in spent.items()
    }
    tokens = last["drawn"] - first["drawn"]
    report("main-thread share, six lanes", spent["TaskDuration"] / wall, 0.30, False,
           wall_s=round(wall, 1), tokens_a_second=round(tokens / wall, 1), **parts)  # fmt: skip


def run(tab: Any, tokens: int) -> None:
    """Press Run and wait until all lanes are over."""
    tab.fill("#compare-tokens", str(tokens))
    tab.click("#compare-run")
    tab.wait_for_selector(".compare[data-run=busy]")
    tab.wait_for_selector(".compare[data-run=idle]", timeout=60_000)
    if tab.evaluate(DRAWN) != LANES * tokens:
        raise SystemExit(f"{tab.evaluate(DRAWN)} tokens were drawn, not {LANES * tokens}")


def measure(tab: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Chromium's counters when the first tokens were on the screen and when all were."""
    cdp = tab.context.new_cdp_session(tab)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})  # not while others have the processor

    def sample() -> dict[str, float]:
        counters = {each["name"]: each["value"] for each in cdp.send("Performance.getMetrics")["metrics"]}
        return {**counters, "drawn": tab.evaluate(DRAWN), "wall": time.monotonic()}

    tab.fill("#compare-tokens", str(TOKENS))
    tab.click("#compare-run")
    tab.wait_for_function(f"{DRAWN} > 0 && {DRAWN} < {LANES * 20}")
    first = last = sample()
    over = time.monotonic() + 30 + 3 * TOKENS / PACE
    while last["drawn"] < LANES * TOKENS:
        if time.monotonic() > over:
            raise SystemExit("the run did not end")
        tab.wait_for_timeout(250)
        last = sample()
    return first, last
