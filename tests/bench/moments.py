"""Two moments of the page: how soon the recorded run is on the screen, and a moved what-if slider.

Both end when the frame is drawn that shows it. The server is that of the browser tests, as app.py serves it,
over the fake engine: what is measured is the page, not a model.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

VISITS = 5
MOVES = 30
# `drawn(seen)`: resolves to the time, in ms since the navigation, when a frame is drawn after `seen()` holds.
DRAWN = """
window.drawn = (seen) => new Promise((resolve) => {
    const frame = new MessageChannel();
    frame.port1.onmessage = () => resolve(performance.now());
    const look = () => {
        if (!seen()) return;
        changes.disconnect();
        requestAnimationFrame(() => frame.port2.postMessage(0));
    };
    const changes = new MutationObserver(look);
    changes.observe(document, { childList: true, subtree: true, characterData: true });
    look();
});
"""
FIRST = "window.firstChip = drawn(() => document.querySelector('.lane .token'));"
MOVE = """async ([from, step, moves]) => {
    const input = document.querySelector('#whatif-temperature input');
    const shows = (words) => () => [...document.querySelectorAll('.card.funnel.hypothetical .what')]
        .some((what) => what.textContent === words);
    const late = [];
    for (let move = 0; move < moves; move += 1) {
        const value = (from + move * step).toFixed(2);
        const begun = performance.now();
        input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true }));
        late.push(await drawn(shows('temperature ' + value)) - begun);
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return late;
}"""


def moments(report: Callable[..., None], playwright: Any, path: str | None) -> None:
    from tests.browser.conftest import start
    from tests.chromium import FLAGS

    command = ("-m", "tests.browser.serve", "PORT", "0.005", "Fake-12M", "recorded")
    servers = start(*command, ready=lambda health: health["ready"])
    url = next(servers).url
    try:
        first = []
        for visit in range(VISITS):
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            tab = browser.new_page(viewport={"width": 1440, "height": 1100})
            tab.add_init_script(DRAWN + FIRST)
            tab.goto(url)
            first.append(tab.evaluate("window.firstChip"))
            if visit + 1 == VISITS:
                late = slide(tab)
            browser.close()
    finally:
        servers.close()
    report("recorded run on the screen (ms)", statistics.median(first), 1000, False,
           visits=[round(each) for each in first])  # fmt: skip
    late.sort()
    report("what-if slider to screen p95 (ms)", late[int(0.95 * len(late))], 100, False,
           median=round(statistics.median(late), 1), slowest=round(late[-1], 1))  # fmt: skip


def slide(tab: Any) -> list[float]:
    """A run, a token of it in the inspector, and moves of the temperature: how late each was shown, in ms."""
    tab.wait_for_selector("#model[data-state=ready]")
    tab.evaluate("document.querySelectorAll('.lane').forEach((lane) => { lane.dataset.old = 'yes' })")
    tab.click("#generate")
    tab.wait_for_selector(".lane[data-finished]:not([data-old])")
    tab.click(".token[data-lane='0'][data-index='5']")
    tab.wait_for_selector("#whatif-temperature input")
    tab.wait_for_timeout(1000)
    # Odd hundredths, so that no value is a preset's own or 1, where the stage would not be listed.
    late: list[float] = tab.evaluate(MOVE, [1.21, 0.02, MOVES])
    return late
