"""The Compare tab in Chromium: samples and sweeps, files, and everybody's page."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playground.findings import Comparison
from playground.trace import SamplingParams, TokenStep
from tests.browser.compare_page import PROMPT, Compare, alone, first_difference
from tests.browser.conftest import MODEL_NAME, Running, Visit
from tests.browser.test_access import serious
from tests.ui.fake_engine import FakeEngine

Open = Callable[..., Visit]
COLD = {"temperature": 0.3, "min_p": 0.0}  # so that samples agree for a while


@pytest.fixture
def compare(visit: Open, many: Running) -> Compare:
    return Compare(visit(many.url))


def sample(compare: Compare, number: int) -> None:
    compare.kind("Other seeds")
    compare.page.locator(".base .set").click()
    for name, value in COLD.items():
        box = compare.page.locator(f".base input[type=number][data-setting='{name}']")
        box.fill(str(value))
        box.blur()
    compare.page.fill("#compare-samples", str(number))
    compare.run()
    compare.page.wait_for_selector(".tree-card .branch")


def answers_of(seeds: list[str]) -> list[list[TokenStep]]:
    engine = FakeEngine(thinks=True)
    read = engine.chat([{"role": "user", "content": PROMPT}])
    runs = [engine.stream(read, SamplingParams(max_tokens=60, seed=int(seed), **COLD)) for seed in seeds]
    return [[event for event in run if isinstance(event, TokenStep)] for run in runs]


def test_samples_are_drawn_as_a_tree_of_where_they_part(compare: Compare) -> None:
    sample(compare, 6)
    seeds = compare.column("seed")
    assert len(set(seeds)) == 6
    answers = answers_of(seeds)
    ids = [tuple(step.token_id for step in answer) for answer in answers]
    # By brute force: a branch begins at each token at which some of those that came so far go another way.
    firsts: list[int] = []  # how many samples go each way, at every parting
    for length in range(max(map(len, ids))):
        for start in {answer[:length] for answer in ids}:
            ways = Counter(
                answer[length] for answer in ids if answer[:length] == start and len(answer) > length
            )
            firsts += ways.values() if len(ways) > 1 else []
    rows = compare.page.locator(".branch")
    told = rows.evaluate_all("(all) => all.map((row) => row.dataset.samples.split(' ').length)")
    assert sorted(told) == sorted([6, *firsts])
    shares = [text.split("%")[0] for text in rows.locator(".portion b").all_inner_texts()]
    assert [round(float(share)) for share in shares] == [round(100 * number / 6) for number in told]
    held = sum(
        math.prod(step.final_prob for step in answer)
        for answer in dict(zip(ids, answers, strict=True)).values()
    )
    for row in rows.all():  # each figure stands in its own row
        around, own = row.bounding_box(), row.locator(".portion").bounding_box()
        assert around["y"] <= own["y"]
        assert own["y"] + own["height"] <= around["y"] + around["height"] + 1
    said = compare.page.locator(".tree-card .said").inner_text()
    assert f"6 samples, {len(set(ids))} different answers." in said
    assert ("<0.01%" if held < 1e-4 else f"{100 * held:.{2 if held < 0.01 else 1}f}%") in said


def test_a_stretch_of_the_tree_opens_its_samples_strip(compare: Compare) -> None:
    sample(compare, 4)
    lanes = compare.page.locator("#compare .lane:visible")
    assert lanes.count() == 1
    row = compare.page.locator(".branch").last
    number = int((row.get_attribute("data-samples") or "").split()[0])
    row.click()
    compare.page.wait_for_selector(f"#compare .lane[data-lane='{number}'] .token[aria-selected=true]")
    assert lanes.count() == 1
    assert row.get_attribute("aria-current") == "true"
    assert compare.page.locator(".drawer .whose").inner_text() == f"sample {number + 1}"
    compare.page.keyboard.press("Escape")
    compare.page.get_by_role("button", name="Show every strip").click()
    assert lanes.count() == 4


def test_a_sweep_is_a_heat_map_whose_cells_open_tokens(compare: Compare) -> None:
    compare.kind("Sweep")
    compare.page.fill("#sweep-to", "1.6")
    compare.page.fill("#sweep-steps", "5")
    compare.page.fill("#compare-tokens", "12")
    compare.run()
    heats = [0.0, 0.4, 0.8, 1.2, 1.6]
    assert compare.column("temperature") == [f"{heat:g}" for heat in heats]
    wanted = alone([{"temperature": heat, "min_p": 0.05, "seed": 7} for heat in heats], most=12)
    assert [compare.ids(lane) for lane in range(5)] == wanted
    compare.page.locator(".sweep-card .figure").scroll_into_view_if_needed()
    compare.page.wait_for_selector(".sweep-card .main-svg")
    cell = compare.page.evaluate("""() => {
        const plot = document.querySelector('.sweep-card .plot');
        const { xaxis, yaxis } = plot._fullLayout;
        const heat = plot._fullData.find((each) => each.type === 'heatmap');
        const box = plot.getBoundingClientRect();
        const [x, y] = [heat.x ? heat.x[3] : 3, heat.y[2]];
        return [box.left + xaxis._offset + xaxis.d2p(x), box.top + yaxis._offset + yaxis.d2p(y)];
    }""")
    compare.page.mouse.move(*cell)
    compare.page.mouse.click(*cell)
    compare.page.wait_for_selector("#compare .token[data-lane='2'][data-index='3'][aria-selected=true]")
    assert "0.8" in compare.page.locator(".drawer .whose").inner_text()


def test_each_kind_keeps_its_own_run(compare: Compare) -> None:
    compare.run()
    before = compare.ids(1)
    compare.kind("Other seeds")
    assert compare.page.locator("#compare .lane").count() == 0
    compare.page.fill("#compare-samples", "2")
    compare.run()
    compare.kind("Side by side")
    assert compare.ids(1) == before
    compare.page.wait_for_selector("#compare .save:disabled")  # the server keeps the latest alone
    compare.kind("Other seeds")
    compare.page.wait_for_selector("#compare .save:not(:disabled)")


def download(compare: Compare, name: str) -> Any:
    compare.page.wait_for_selector("#compare .save:not(:disabled)")
    with compare.page.expect_download() as waiting:
        compare.page.get_by_role("button", name=name).click()
    return waiting.value


def test_the_table_as_csv_and_json(compare: Compare) -> None:
    compare.lane(1).locator("input.title").fill('=HYPERLINK("x"), warm')
    compare.run()
    table = Path(download(compare, "Table as CSV").path()).read_bytes().decode()
    rows = list(csv.reader(io.StringIO(table, newline="")))
    assert [row[0] for row in rows[1:]] == ["greedy", '\'=HYPERLINK("x"), warm', "temperature 1.5"]
    numbers = json.loads(Path(download(compare, "Table as JSON").path()).read_text())
    assert [f"{row['perplexity']:.2f}" for row in numbers] == compare.column("perplexity")
    assert [row["tokens"] for row in numbers] == [len(compare.ids(lane)) for lane in range(3)]


def test_a_comparison_saves_and_opens_as_one_file(
    compare: Compare, visit: Open, many: Running, tmp_path: Path
) -> None:
    compare.run()
    compare.page.select_option("#reference", label="temperature 0.7")
    compare.menu(2, "Duplicate")
    compare.menu(0, "Remove")
    saved = tmp_path / "comparison.json"
    download(compare, "Save comparison").save_as(saved)
    stored = Comparison.from_json(saved.read_text())
    assert stored.names == ("temperature 0.7", "temperature 1.5")
    answers = [compare.ids(lane) for lane in (1, 2)]

    other = visit(many.url)
    other.page.get_by_role("tab", name="Compare").click()
    other.page.wait_for_selector("#compare .files input")
    other.page.set_input_files("#compare .files input", saved)
    other.page.locator(".compare .notice", has_text="A saved comparison").wait_for()
    opened = Compare.__new__(Compare)
    opened.visit, opened.page = other, other.page
    opened.over()
    assert opened.names() == list(stored.names)
    assert [opened.ids(lane) for lane in (0, 1)] == answers
    assert other.page.input_value("#compare-prompt") == PROMPT
    parts = first_difference(*answers)
    assert parts is not None
    opened.badge(1, f"parts at token {parts + 1}")
    opened.chip(1, 3).click()
    other.page.wait_for_selector(".drawer .whatif")


def test_another_models_comparison_can_be_read_only(compare: Compare, tmp_path: Path) -> None:
    compare.run()
    saved = tmp_path / "comparison.json"
    download(compare, "Save comparison").save_as(saved)
    plain = json.loads(saved.read_text())
    for trace in plain["traces"]:
        trace["model"].update(name=f"Other {MODEL_NAME}", sha256="1" * 64, dtype="bfloat16")
    saved.write_text(json.dumps(plain))
    compare.page.set_input_files("#compare .files input", saved)
    notice = compare.page.locator(".compare .notice")
    notice.filter(has_text=f"recorded with Other {MODEL_NAME}").wait_for()
    assert "not gone on with" in notice.inner_text()
    assert "In 16 bit a lane need not equal the same lane alone" in notice.inner_text()
    compare.over()
    compare.page.locator(".parting .say", has_text="another model").wait_for()


@pytest.mark.parametrize("text", ["", "no JSON at all", '{"version": 1}', "[" * 2000])
def test_files_that_are_none_are_refused_in_a_sentence(compare: Compare, tmp_path: Path, text: str) -> None:
    compare.run()
    before = compare.ids(1)
    broken = tmp_path / "broken.json"
    broken.write_text(text)
    compare.page.set_input_files("#compare .files input", broken)
    compare.page.locator(
        ".compare .status[data-state=error]", has_text="This file cannot be opened"
    ).wait_for()
    assert compare.ids(1) == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Open, many: Running, scheme: str) -> None:
    compare = Compare(visit(many.url, color_scheme=scheme))
    assert serious(compare.visit) == []
    compare.lane(1).locator(".set").click()
    compare.lane(2).locator(".lane-menu summary").click()
    assert serious(compare.visit) == []
    compare.page.keyboard.press("Escape")
    compare.run()
    compare.badge(1, "parts")
    compare.chip(1, 4).click()
    compare.page.wait_for_selector(".drawer .whatif")
    compare.page.wait_for_timeout(400)
    assert serious(compare.visit) == []
    compare.page.keyboard.press("Escape")
    sample(compare, 3)
    assert serious(compare.visit) == []
    compare.kind("Sweep")
    compare.page.fill("#sweep-steps", "3")
    compare.page.fill("#sweep-to", "")
    compare.page.click("#compare-run")
    compare.page.wait_for_selector(".compare .status[data-state=error]")
    assert serious(compare.visit) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_state_scrolls_sideways_on_a_phone(visit: Open, many: Running, scheme: str) -> None:
    page = visit(many.url, width=390, height=844, color_scheme=scheme, has_touch=True)
    compare = Compare(page)
    assert page.sideways() == 0
    compare.lane(1).locator(".set").tap()
    assert page.sideways() == 0
    compare.lane(1).locator(".set").tap()
    compare.run()
    assert page.sideways() == 0
    compare.chip(1, 4).tap()
    compare.page.wait_for_selector(".drawer:not([hidden]) .whatif")
    assert page.sideways() == 0
    sheet = compare.page.locator(".compare .drawer").bounding_box()
    chip = compare.chip(1, 4).bounding_box()
    assert sheet["width"] == 390
    assert chip["y"] + chip["height"] <= sheet["y"]  # what was tapped can be seen
    compare.page.locator(".drawer .close").tap()
    sample(compare, 4)
    assert page.sideways() == 0
    compare.kind("Sweep")
    compare.page.fill("#sweep-steps", "3")
    compare.page.fill("#compare-tokens", "8")
    compare.run()
    compare.page.locator(".sweep-card .figure").scroll_into_view_if_needed()
    compare.page.wait_for_selector(".sweep-card .main-svg")
    assert page.sideways() == 0


def test_who_waits_is_told_the_place(visit: Open, many: Running) -> None:
    first, second = Compare(visit(many.url)), Compare(visit(many.url))
    first.page.fill("#compare-prompt", "endless")
    first.page.fill("#compare-tokens", "300")
    first.kind("Other seeds")
    first.page.fill("#compare-samples", "15")
    first.start()
    second.page.click("#compare-run")
    second.page.locator(".compare .status[data-state=waiting]", has_text="you are number 1").wait_for()
    assert serious(second.visit) == []
    first.page.click("#compare-stop")
    second.page.wait_for_selector("#compare .token[data-lane='2'][data-index='3']")
    second.over()


def test_whoever_wants_less_motion_gets_none(visit: Open, many: Running) -> None:
    compare = Compare(visit(many.url, reduced_motion="reduce"))
    compare.page.fill("#compare-prompt", "endless")
    compare.start()
    moving = compare.page.evaluate("""() => document.getAnimations()
        .filter((each) => each.playState === 'running' && each.effect.target.closest('#compare'))
        .map((each) => each.effect.target.outerHTML.slice(0, 120))""")
    assert moving == []
    compare.page.click("#compare-stop")
    compare.over()
