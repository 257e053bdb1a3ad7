"""What tests do on the Guide tab, and how the task of each of its pages is solved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import TimeoutError

from tests.browser.conftest import Visit


class Guide:
    """The Guide tab of a visitor's page."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page = visit, visit.page
        self.page.click("#tab-guide-button")
        self.page.wait_for_selector(".guide-page")

    def names(self) -> list[str]:
        return self.page.locator("#guide-pages [data-page]").evaluate_all(
            "(all) => all.map((entry) => entry.dataset.page)"
        )

    def open(self, name: str) -> None:
        """Opens a page; waits until what it asked for is there, or is said to be missing."""
        self.page.click(f"#guide-pages [data-page={name}]")
        self.page.wait_for_selector(f".guide-page[data-page={name}]")
        self.page.wait_for_function(
            "![...document.querySelectorAll('.guide-page .slot')]"
            ".some((slot) => slot.dataset.state === 'waiting')"
        )

    def try_it(self, name: str) -> None:
        """Does what the page's task asks, and comes back."""
        self.page.click(".guide-try")
        SOLVE[name](self.page)
        self.page.wait_for_selector("#guide-dock[data-done=yes]", state="attached")
        if self.page.locator("#guide-dock").is_visible():
            self.page.click("#guide-back")
        self.page.wait_for_selector(".guide-task[data-tried=true]")

    def choose(self, place: int) -> str | None:
        """Gives an answer; what the question became."""
        self.page.click(f".guide-choice[data-place='{place}']")
        return self.page.get_attribute(".guide-question", "data-answered")

    def answer(self) -> list[str | None]:
        """Tries the answers in turn until one holds; what the question became each time."""
        told: list[str | None] = []
        while "right" not in told:
            told.append(self.choose(len(told)))
        return told

    def done(self, name: str) -> bool:
        return self.page.get_attribute(f"#guide-pages [data-page={name}]", "data-done") == "yes"


def _story(page: Any) -> None:
    page.click("#generate.lit")


def _template(page: Any) -> None:
    page.wait_for_selector("#template.lit")
    page.select_option("#template", "none")


def _tokens(page: Any) -> None:
    page.wait_for_selector("#tokenizer-text.lit")
    page.fill("#tokenizer-text", "strawberry")


def _embeddings(page: Any) -> None:
    page.locator("#inside .neighbours button").first.click()


def _logits(page: Any) -> None:
    chips = page.locator("#strip .token:not(.prompt)")
    for place in range(chips.count()):
        chips.nth(place).click()
        try:
            page.wait_for_selector("#guide-dock[data-done=yes]", state="attached", timeout=1000)
        except TimeoutError:
            continue
        return


def _temperature(page: Any) -> None:
    page.locator("#strip .token:not(.prompt)").first.click()
    page.locator("#whatif-temperature input").fill("1.8")


def _passes(page: Any) -> None:
    page.fill(
        "#prompt textarea", "What is the capital of France, and of which country is Rome the capital? " * 6
    )
    page.click("#generate")


def _stopping(page: Any) -> None:
    page.fill("#max-tokens input[type=number]", "3")
    page.click("#generate")


def _attention(page: Any) -> None:
    page.click("#inside-sections [data-section=attention]")


def _cache(page: Any) -> None:
    page.click("#inside-sections [data-section=cache]")


def _loop(page: Any) -> None:
    page.locator("#strip .token:not(.prompt)").nth(2).click()
    page.locator("#inspector button.candidate:not(.chosen)").nth(1).click()


def _cost(page: Any) -> None:
    page.fill("#max-tokens input[type=number]", "8")
    page.click("#generate")


def _agents(page: Any) -> None:
    page.fill(".reply.lit textarea", "The tool returned: 17 degrees.")
    page.keyboard.press("Enter")


def _forgetting(page: Any) -> None:
    page.click("#labs-list [data-lab=frozen]")


# By page: does the task once its control is in view. The page notices by itself.
SOLVE: dict[str, Callable[[Any], None]] = {
    "story": _story,
    "template": _template,
    "tokens": _tokens,
    "embeddings": _embeddings,
    "attention": _attention,
    "logits": _logits,
    "temperature": _temperature,
    "loop": _loop,
    "cache": _cache,
    "passes": _passes,
    "stopping": _stopping,
    "cost": _cost,
    "forgetting": _forgetting,
    "agents": _agents,
}
