"""The Compare tab in Chromium, over the fake engine: lanes side by side."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest

from tests.browser.compare_page import PROMPT, Compare, alone, first_difference
from tests.browser.conftest import Running, Visit
from tests.ui.fake_engine import HOSTILE, FakeEngine

Open = Callable[..., Visit]
HEATS = (0.0, 0.7, 1.5)  # of the lanes that stand there first


@pytest.fixture
def compare(visit: Open, many: Running) -> Compare:
    return Compare(visit(many.url))


def test_lanes_that_differ_in_temperature_alone_part_where_each_alone_says(compare: Compare) -> None:
    compare.run()
    answers = alone([{"temperature": heat, "seed": 7} for heat in HEATS])
    assert [compare.ids(lane) for lane in range(3)] == answers
    compare.badge(0, "reference")
    for lane in (1, 2):
        parts = first_difference(answers[0], answers[lane])
        assert parts is not None
        compare.badge(lane, f"parts at token {parts + 1}")
        marked = compare.lane(lane).locator(".token[data-parts=true]")
        assert marked.evaluate_all("(all) => all.map((chip) => Number(chip.dataset.index))") == [parts]
        shared = compare.lane(lane).locator(".token.shared")
        assert shared.evaluate_all("(all) => all.map((c) => Number(c.dataset.index))") == list(range(parts))
    assert compare.lane(0).locator("[data-parts], .shared").count() == 0


def final(
    engine: FakeEngine, ids: list[int], before: list[int], heat: float
) -> tuple[list[float], list[float]]:
    """Raw and final probabilities of a step, from its logits, for a lane with a temperature and no filter."""
    logits = engine._logits(ids, before)

    def softmax(temperature: float) -> list[float]:
        if temperature == 0:
            return [float(index == logits.index(max(logits))) for index in range(len(logits))]
        largest = max(logits)
        weights = [math.exp((logit - largest) / temperature) for logit in logits]
        return [weight / sum(weights) for weight in weights]

    return softmax(1), softmax(heat)


def shown(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def test_the_parting_shows_both_tokens_under_both_settings(compare: Compare) -> None:
    compare.run()
    ids, answers = compare.prompt_ids(), [compare.ids(lane) for lane in (0, 1)]
    parts = first_difference(*answers)
    assert parts is not None
    panel = compare.page.locator(".parting")
    panel.get_by_role("heading", name=f"Where temperature 0.7 leaves greedy: token {parts + 1}").wait_for()
    panel.locator(".rival[data-id]").nth(1).wait_for()
    engine, before = FakeEngine(thinks=True), answers[0][:parts]
    raw, cool = final(engine, ids, before, 0.0)
    warm = final(engine, ids, before, 0.7)[1]
    for answer in answers:
        chosen = answer[parts]
        cells = panel.locator(f".rival[data-id='{chosen}'] .chance").all_inner_texts()
        wanted = "100%" if cool[chosen] == 1 else "cut: greedy"
        assert [text.strip() for text in cells] == [wanted, shown(warm[chosen]), shown(raw[chosen])]
    panel.locator(".say", has_text="the temperature made the difference").wait_for()


def test_the_divergence_of_every_place_that_both_lanes_have(compare: Compare) -> None:
    compare.setting(0, "temperature", 0.9)
    compare.setting(1, "temperature", 1.2)
    compare.run()
    ids, answers = compare.prompt_ids(), [compare.ids(lane) for lane in (0, 1)]
    compare.page.locator(".parting .figure").scroll_into_view_if_needed()  # a chart is drawn when it is seen
    compare.page.wait_for_selector(".parting .figure .main-svg")
    compare.page.locator(".parting .values summary").click()
    rows = compare.page.locator(".parting .values tbody tr")
    assert rows.count() == min(map(len, answers))
    engine = FakeEngine(thinks=True)
    for index in (0, 3, 11):
        one, other = (final(engine, ids, answers[lane][:index], heat) for lane, heat in enumerate((0.9, 1.2)))
        wanted = [
            sum(p * math.log(p / q) for p, q in zip(a, b, strict=True))
            for a, b in zip(one, other, strict=True)
        ]
        told = rows.nth(index).locator("td").all_inner_texts()[:2]
        for words, divergence in zip(told, wanted, strict=True):
            assert (
                words == "<0.001" if 1e-12 < divergence < 0.0005 else abs(float(words) - divergence) < 0.00051
            )


def test_another_reference_another_alignment(compare: Compare) -> None:
    compare.run()
    answers = [compare.ids(lane) for lane in range(3)]
    compare.page.select_option("#reference", label="temperature 1.5")
    compare.badge(2, "reference")
    for lane in (0, 1):
        parts = first_difference(answers[2], answers[lane])
        assert parts is not None
        compare.badge(lane, f"parts at token {parts + 1}")
        assert compare.chip(lane, parts).get_attribute("data-parts") == "true"
    assert compare.lane(2).locator("[data-parts]").count() == 0
    compare.lane(1).locator(".badge").click()
    compare.page.get_by_role(
        "heading", name=re.compile("Where temperature 0.7 leaves temperature 1.5")
    ).wait_for()


def test_lanes_are_added_doubled_renamed_and_taken_away(compare: Compare) -> None:
    assert compare.names() == ["greedy", "temperature 0.7", "temperature 1.5"]
    compare.menu(1, "Duplicate")
    assert compare.names() == ["greedy", "temperature 0.7", "temperature 0.7 2", "temperature 1.5"]
    compare.page.click("#add-lane")
    compare.page.click("#add-lane")
    assert len(compare.names()) == 6
    compare.page.click("#add-lane")
    compare.page.locator(".compare .status", has_text="at most 6 lanes").wait_for()
    assert len(compare.names()) == 6
    for _ in range(4):
        last = compare.page.locator("#compare .lane").last
        last.locator(".lane-menu summary").click()
        last.get_by_role("button", name="Remove").click()
    assert compare.names() == ["greedy", "temperature 0.7"]
    compare.menu(1, "Remove")
    compare.page.locator(".compare .status", has_text="at least two lanes").wait_for()
    compare.lane(1).locator("input.title").fill("warm")
    compare.run()
    assert compare.column("lane") == ["greedy", "warm"]
    assert compare.column("temperature") == ["0", "0.7"]
    compare.page.get_by_role("heading", name="Where warm leaves greedy").wait_for()


def test_settings_of_a_lane_survive_other_tabs_and_say_when_they_changed(compare: Compare) -> None:
    compare.run()
    compare.setting(2, "top_k", 40)
    assert "temperature 1.5 · top-k 40" in compare.lane(2).locator(".set").inner_text()
    assert "changed" in (compare.lane(2).get_attribute("class") or "")
    compare.page.get_by_role("tab", name="Playground").click()
    compare.page.get_by_role("tab", name="Compare").click()
    assert "temperature 1.5 · top-k 40" in compare.lane(2).locator(".set").inner_text()
    assert compare.page.input_value("#compare-prompt") == PROMPT
    compare.run()
    assert "changed" not in (compare.lane(2).get_attribute("class") or "")
    wanted = alone([{"temperature": 1.5, "top_k": 40, "seed": 7}])
    assert compare.ids(2) == wanted[0]


def test_dice_of_their_own(compare: Compare) -> None:
    compare.setting(1, "temperature", 1.5)
    compare.page.uncheck("#same-dice")
    compare.lane(2).locator(".set").click()
    compare.lane(2).locator(".own-seed input").fill("123")
    compare.run()
    seeds = compare.column("seed")
    assert seeds[2] == "123"
    assert len(set(seeds)) == 3
    assert compare.ids(2) == alone([{"temperature": 1.5, "seed": 123}])[0]
    compare.page.check("#same-dice")
    compare.run()
    assert compare.ids(1) == compare.ids(2)
    compare.badge(2, "parts at token")


def test_a_question_sets_the_lanes(compare: Compare) -> None:
    compare.page.get_by_role("button", name="Greedy, or luck?").click()
    assert compare.names() == ["greedy", "seed 1", "seed 2", "seed 3"]
    assert not compare.page.is_checked("#same-dice")
    assert compare.page.input_value("#compare-prompt") == PROMPT
    compare.run()
    assert compare.column("seed")[1:] == ["1", "2", "3"]


def test_the_prompt_of_the_playground_comes_along_until_somebody_types(visit: Open, many: Running) -> None:
    page = visit(many.url)
    page.type("prompt", "Tell me of the sea.")
    page.page.get_by_role("tab", name="Compare").click()
    page.page.wait_for_function("document.querySelector('#compare-prompt')?.value === 'Tell me of the sea.'")
    page.page.get_by_role("tab", name="Playground").click()
    page.type("prompt", "Tell me of the moon.")
    page.page.get_by_role("tab", name="Compare").click()
    page.page.wait_for_function("document.querySelector('#compare-prompt').value === 'Tell me of the moon.'")
    page.page.fill("#compare-prompt", "Mine.")
    page.page.get_by_role("tab", name="Playground").click()
    page.type("prompt", "Tell me of the stars.")
    page.page.get_by_role("tab", name="Compare").click()
    page.page.wait_for_timeout(300)
    assert page.page.input_value("#compare-prompt") == "Mine."


def test_the_table_sorts_by_mouse_and_keyboard(compare: Compare) -> None:
    compare.run()
    head = compare.page.locator("#compare-numbers th[data-key='perplexity']")
    assert head.get_attribute("aria-sort") == "none"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    falling = [float(text) for text in compare.column("perplexity")]
    assert falling == sorted(falling, reverse=True)
    compare.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(text) for text in compare.column("perplexity")] == falling[::-1]
    compare.page.locator("#compare-numbers th[data-key='name'] button").focus()
    compare.page.keyboard.press("Space")
    assert compare.column("lane") == ["greedy", "temperature 0.7", "temperature 1.5"]


def test_every_token_of_every_lane_opens_the_inspector(compare: Compare) -> None:
    compare.run()
    drawer = compare.page.locator(".compare .drawer")
    assert drawer.is_hidden()
    for lane, name in ((2, "temperature 1.5"), (0, "greedy")):
        compare.chip(lane, 4).click()
        drawer.wait_for()
        assert drawer.locator(".whose").inner_text() == name
        assert f"id {compare.ids(lane)[4]}" in drawer.inner_text()
        assert compare.page.locator("#compare .token[aria-selected=true]").count() == 1
        drawer.locator(".whatif").wait_for()
    compare.page.keyboard.press("ArrowRight")
    compare.page.keyboard.press("Enter")
    drawer.get_by_text("Token 6 of").wait_for()
    compare.page.keyboard.press("Escape")
    assert drawer.is_hidden()
    focused = compare.page.evaluate(
        "[document.activeElement.dataset.lane, document.activeElement.dataset.index]"
    )
    assert focused == ["0", "5"]
    compare.page.locator(".reading summary").click()
    compare.page.locator("#compare .token.prompt").nth(3).click()
    drawer.get_by_text("Prompt token 4 of").wait_for()
    drawer.get_by_role("button", name="Close").click()
    assert drawer.is_hidden()


def test_no_id_is_there_twice(compare: Compare) -> None:
    compare.run()
    compare.chip(1, 4).click()
    compare.page.wait_for_selector(".drawer .whatif")
    compare.page.get_by_role("tab", name="Playground").click()
    compare.page.locator("#strip .lane .token").nth(3).click()
    compare.page.wait_for_selector("#whatif-temperature")
    ids = compare.page.locator("[id]").evaluate_all("(all) => all.map((each) => each.id).filter(Boolean)")
    assert sorted({each for each in ids if ids.count(each) > 1}) == []


def test_a_fork_streams_into_a_lane_of_its_own(compare: Compare) -> None:
    compare.run()
    before = [compare.ids(lane) for lane in range(3)]
    compare.chip(1, 5).click()
    row = compare.page.locator(".drawer .distribution button.candidate").first
    other = int(row.get_attribute("data-id") or -1)
    row.click()
    compare.page.wait_for_selector("#compare .lane[data-lane='3'][data-finished]")
    compare.over()
    assert [compare.ids(lane) for lane in range(3)] == before
    assert compare.ids(3)[:6] == [*before[1][:5], other]
    assert compare.names()[3] == "temperature 0.7, token 6"
    parts = first_difference(before[0], compare.ids(3))
    assert parts is not None
    compare.badge(3, f"parts at token {parts + 1}")
    assert len(compare.column("lane")) == 4


def test_a_fork_stands_beside_a_lane_that_did_not_run(compare: Compare) -> None:
    compare.run()
    compare.page.click("#add-lane")
    compare.chip(1, 2).click()
    compare.page.locator(".drawer .distribution button.candidate").first.click()
    compare.page.wait_for_selector("#compare .lane[data-lane='3'][data-finished]")
    compare.over()
    numbers = compare.page.locator("#compare .lane").evaluate_all(
        "(all) => all.map((each) => each.dataset.lane)"
    )
    assert numbers == ["0", "1", "2", "4", "3"]
    assert "Not run yet." in compare.lane(4).inner_text()
    compare.run()
    assert [len(compare.ids(lane)) > 0 for lane in range(5)] == [True] * 5


def test_stop_keeps_what_there_is(compare: Compare) -> None:
    compare.page.fill("#compare-prompt", "endless")
    compare.page.fill("#compare-tokens", "400")
    compare.start()
    compare.chip(2, 8).wait_for()
    compare.page.click("#compare-stop")
    for lane in range(3):
        compare.page.wait_for_selector(f"#compare .lane[data-lane='{lane}'][data-finished=stopped]")
        assert 8 < len(compare.ids(lane)) < 400
    compare.over()
    assert compare.column("stopped by") == ["you"] * 3
    assert compare.page.is_disabled("#compare-stop")


def test_what_goes_wrong_is_one_sentence_and_the_lanes_stay(compare: Compare) -> None:
    compare.run()
    before = compare.ids(1)
    compare.page.fill("#compare-prompt", "")
    compare.page.click("#compare-run")
    compare.page.locator(
        ".compare .status[data-state=error]", has_text="Please type a prompt first."
    ).wait_for()
    compare.page.fill("#compare-prompt", PROMPT)
    compare.setting(1, "top_p", 7)
    compare.page.click("#compare-run")
    compare.page.locator(
        ".compare .status[data-state=error]", has_text="top_p must be in (0, 1], got 7"
    ).wait_for()
    assert compare.ids(1) == before
    assert compare.page.locator("#compare .lane[data-finished]").count() == 3


def test_b38_hostile_names_and_prompts_are_text(compare: Compare) -> None:
    """Case B38. `visit` fails if a dialog opened or a script failed."""
    compare.page.click("#add-lane")
    for lane, text in enumerate(HOSTILE[:4]):
        compare.lane(lane).locator("input.title").fill(text)
    compare.page.fill("#compare-prompt", " ".join(HOSTILE))
    compare.run()
    assert compare.column("lane") == HOSTILE[:4]
    compare.lane(1).locator(".badge").click()
    compare.page.locator(".parting h2", has_text=f"Where {HOSTILE[1]} leaves {HOSTILE[0]}").wait_for()
    assert compare.page.locator("#compare img, #compare script, #compare svg[onload]").count() == 0


def test_six_lanes_of_300_tokens(compare: Compare) -> None:
    for _ in range(3):
        compare.page.click("#add-lane")
    compare.page.fill("#compare-prompt", "endless")
    compare.page.fill("#compare-tokens", "300")
    compare.start()
    compare.page.wait_for_selector("#compare .token[data-lane='5'][data-index='299']", timeout=60_000)
    compare.over()
    assert [len(compare.ids(lane)) for lane in range(6)] == [300] * 6
    assert compare.column("tokens") == ["300"] * 6
