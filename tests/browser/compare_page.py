"""What tests do on the Compare tab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.trace import Finished, SamplingParams, TokenStep
from tests.browser.conftest import Visit
from tests.ui.fake_engine import FakeEngine

PROMPT = "What is the capital of France?"


class Compare:
    """The Compare tab of a visitor's page."""

    def __init__(self, visit: Visit, seed: str = "7") -> None:
        self.visit, self.page = visit, visit.page
        visit.tab("Compare")
        self.page.wait_for_selector("#compare .lane")
        self.page.fill("#compare-prompt", PROMPT)
        self.page.fill("#compare-seed", seed)

    def kind(self, name: str) -> None:
        self.page.get_by_text(name, exact=True).click()

    def run(self) -> None:
        """Run and wait until every lane is over and the numbers are there."""
        self.start()
        self.over()

    def start(self) -> None:
        self.page.click("#compare-run")
        self.page.wait_for_selector(".compare[data-run=busy]")
        self.page.wait_for_selector("#compare .token[data-lane='0'][data-index='0']")

    def over(self) -> None:
        self.page.wait_for_selector(".compare[data-run=idle]", timeout=60_000)
        self.page.wait_for_selector("#compare-numbers tbody tr")

    def lane(self, number: int) -> Any:
        return self.page.locator(f"#compare .lane[data-lane='{number}']")

    def chip(self, lane: int, index: int) -> Any:
        return self.page.locator(f"#compare .token[data-lane='{lane}'][data-index='{index}']")

    def ids(self, lane: int) -> list[int]:
        chips = self.lane(lane).locator(".token")
        return [int(each) for each in chips.evaluate_all("(all) => all.map((chip) => chip.dataset.id)")]

    def prompt_ids(self) -> list[int]:
        chips = self.page.locator("#compare .token.prompt")
        return [int(each) for each in chips.evaluate_all("(all) => all.map((chip) => chip.dataset.id)")]

    def names(self) -> list[str]:
        return self.page.locator("#compare .lane input.title").evaluate_all(
            "(all) => all.map((i) => i.value)"
        )

    def badge(self, lane: int, words: str) -> None:
        """Wait until the head of the lane says so."""
        self.lane(lane).locator(".badge", has_text=words).wait_for()

    def menu(self, lane: int, item: str) -> None:
        self.lane(lane).locator(".lane-menu summary").click()
        self.lane(lane).get_by_role("button", name=item).click()

    def setting(self, lane: int, name: str, value: float) -> None:
        """Open the lane's settings, if need be, and type a number."""
        box = self.lane(lane).locator(f"input[type=number][data-setting='{name}']")
        if not box.is_visible():
            self.lane(lane).locator(".set").click()
        box.fill(str(value))
        box.blur()

    def column(self, label: str) -> list[str]:
        """What stands in a column of the table, row by row."""
        heads = self.page.locator("#compare-numbers thead th button > span:first-child").all_inner_texts()
        place = heads.index(label)
        cell = "th" if place == 0 else f":nth-child({place + 1})"
        return [
            text.strip()
            for text in self.page.locator(f"#compare-numbers tbody tr > {cell}").all_inner_texts()
        ]


def alone(settings: Sequence[Mapping[str, Any]], prompt: str = PROMPT, most: int = 60) -> list[list[int]]:
    """The ids of each lane, run by itself on an engine of its own."""
    answers = []
    for each in settings:
        engine = FakeEngine(thinks=True)
        read = engine.chat([{"role": "user", "content": prompt}])
        events = list(engine.stream(read, SamplingParams(max_tokens=most, **each)))
        assert isinstance(events[-1], Finished)
        answers.append([event.token_id for event in events if isinstance(event, TokenStep)])
    return answers


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Written again for the tests: the first place where two answers have another token."""
    for index in range(min(len(one), len(other))):
        if one[index] != other[index]:
            return index
    return None
