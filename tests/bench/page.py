"""What the page costs: a recorded run of 1,000 tokens arrives at 50 tokens a second in Chromium.

Everything is the production way: serializer, outbox, Gradio's stream, the board. Bytes are those of the
answer's stream as the browser counts them. The main thread's time is Chromium's own count of the
processor's time for its tasks, so that others on the machine do not count. A token is on the screen when the
frame with its chip has been drawn. A short run goes first, so that loading the library for charts counts
nowhere. Two moments of the page follow, each with a server of its own (moments.py).
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

from tests.bench.moments import moments

TOKENS = 1000
PACE = 50
WATCH = """() => {
    const bench = window.bench = { drawn: {}, count: 0 };
    const seen = (node) => {
        const chips = node.matches?.('.token') ? [node] : node.querySelectorAll?.('.token') || [];
        for (const { dataset: { index } } of chips) {
            if (index in bench.drawn) continue;
            bench.drawn[index] = null;
            fresh.push(index);
        }
    };
    const fresh = [];
    const channel = new MessageChannel();
    const waiting = [];
    channel.port1.onmessage = () => {
        const now = performance.timeOrigin + performance.now();
        for (const index of waiting.splice(0)) { bench.drawn[index] = now; bench.count += 1; }
    };
    new MutationObserver((changes) => {
        for (const change of changes) change.addedNodes.forEach(seen);
        if (!fresh.length) return;
        const these = fresh.splice(0);
        requestAnimationFrame(() => { waiting.push(...these); channel.port2.postMessage(0); });
    }).observe(document.querySelector('.lanes'), { childList: true, subtree: true });
}"""


def page(report: Callable[..., None]) -> None:
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import start
    from tests.chromium import FLAGS

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    servers = start("-m", "tests.bench.serve", "PORT", str(PACE), ready=lambda health: health["ready"])
    server = next(servers)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            tab = browser.new_page(viewport={"width": 1440, "height": 1100})
            tab.goto(server.url)
            tab.wait_for_selector("#model[data-state=ready]")
            run(tab, 50)
            tab.wait_for_timeout(3000)
            samples, received, drawn = measure(tab)
            sent = server.get("/times")
            browser.close()
            servers.close()
            tell(report, samples, received, drawn, sent)
            moments(report, playwright, path)
    finally:
        servers.close()


def run(tab: Any, tokens: int, watch: Callable[[], Any] = lambda: None) -> None:
    """Press Generate and wait for the end; `watch` is called four times a second."""
    box = tab.locator("#max-tokens input[type=number]")
    box.fill(str(tokens))
    box.blur()
    tab.evaluate("document.querySelectorAll('.lane').forEach((lane) => { lane.dataset.old = 'yes' })")
    tab.click("#generate")
    over = time.monotonic() + 30 + 3 * tokens / PACE
    while not tab.evaluate("Boolean(document.querySelector('.lane[data-finished]:not([data-old])'))"):
        if time.monotonic() > over:
            raise SystemExit("the run did not end")
        watch()
        tab.wait_for_timeout(250)
    watch()


def measure(tab: Any) -> tuple[list[dict[str, float]], int, dict[int, float]]:
    """The measured run: samples of Chromium's counters, bytes received, when each token was drawn (ms)."""
    cdp = tab.context.new_cdp_session(tab)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})  # not while others have the processor
    cdp.send("Network.enable")
    cdp.send("HeapProfiler.collectGarbage")
    received = 0

    def count(event: dict[str, Any]) -> None:
        nonlocal received
        received += event["dataLength"]

    cdp.on("Network.dataReceived", count)
    tab.evaluate(WATCH)
    samples: list[dict[str, float]] = []

    def sample() -> None:
        counters = {each["name"]: each["value"] for each in cdp.send("Performance.getMetrics")["metrics"]}
        samples.append({**counters, "tokens": tab.evaluate("bench.count"), "wall": time.monotonic()})

    sample()
    run(tab, TOKENS, sample)
    tab.wait_for_timeout(500)
    cdp.send("HeapProfiler.collectGarbage")
    sample()
    drawn = {int(index): at for index, at in tab.evaluate("bench.drawn").items()}
    return samples, received, drawn


def at(samples: list[dict[str, float]], tokens: float, name: str) -> float:
    """The counter `name` when so many tokens had been drawn: of the last sample before the first token, of
    the first after the last one, else between two samples."""
    before = [each for each in samples if each["tokens"] <= tokens][-1]
    after = next(each for each in samples if each["tokens"] >= tokens)
    if tokens == 0 or before["tokens"] == after["tokens"]:
        return before[name] if tokens == 0 else after[name]
    share = (tokens - before["tokens"]) / (after["tokens"] - before["tokens"])
    return before[name] + share * (after[name] - before[name])


def tell(
    report: Callable[..., None],
    samples: list[dict[str, float]],
    received: int,
    drawn: dict[int, float],
    sent: list[float],
) -> None:
    if len(sent) != TOKENS or len(drawn) != TOKENS:
        raise SystemExit(f"{len(sent)} tokens were sent and {len(drawn)} drawn, not {TOKENS}")

    def spent(first: int, last: int, name: str = "TaskDuration") -> float:
        return at(samples, last, name) - at(samples, first, name)

    report("bytes per token", received / TOKENS, 2500, False)
    wall = spent(0, TOKENS, "wall")
    parts = {
        name.removesuffix("Duration").lower() + "_s": round(spent(0, TOKENS, name), 2)
        for name in ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration")
    }
    report("main-thread share", spent(0, TOKENS) / wall, 0.30, False, wall_s=round(wall, 1), **parts)
    late = sorted(drawn[index] - 1000 * time_sent for index, time_sent in enumerate(sent))
    median, p95 = statistics.median(late), late[int(0.95 * len(late))]
    report("token to screen p95 (ms)", p95, 100, False, median=round(median, 1), slowest=round(late[-1], 1))
    first, last = 10 * spent(0, 100), 10 * spent(TOKENS - 100, TOKENS)
    layout = {
        f"layout_{name}_ms": round(10 * (spent(a, a + 100, "LayoutDuration")), 3)
        for name, a in (("first", 0), ("last", TOKENS - 100))
    }
    report("time per token, last hundred ÷ first", last / first, 1.2, False,
           first_ms=round(first, 2), second_ms=round(10 * spent(100, 200), 2), last_ms=round(last, 2),
           **layout)  # fmt: skip
    heap, nodes = (samples[-1][name] - samples[0][name] for name in ("JSHeapUsedSize", "Nodes"))
    report("script memory per token (KB)", heap / TOKENS / 1024, 20, False, nodes=round(nodes / TOKENS, 1))
