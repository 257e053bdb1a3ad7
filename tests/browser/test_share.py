"""Links, saved runs and files, in the browser."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.findings import Comparison
from playground.links import Setup
from playground.trace import Trace
from tests.browser.compare_page import Compare
from tests.browser.conftest import Running, Visit, start
from tests.hostile import hostile_trace

CLIPBOARD_GONE = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"
Opener = Callable[..., Visit]


class Share:
    """The panel of a visitor's page."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page = visit, visit.page

    def open(self) -> Share:
        if not self.page.locator(".share").is_visible():
            self.page.click("#share")
        self.page.wait_for_function("document.querySelector('.settings-link .explain').textContent !== ''")
        return self

    def close(self) -> None:
        self.page.keyboard.press("Escape")
        self.page.wait_for_selector(".share", state="hidden")

    def settings_link(self) -> str:
        self.open().page.wait_for_function("document.querySelector('.settings-link input').value !== ''")
        return self.page.input_value(".settings-link input")

    def replay_link(self) -> str:
        """Save what is shown, and give its link."""
        self.open().page.click(".share .save")
        self.page.wait_for_selector(".run-link .link:not([hidden])")
        return self.page.input_value(".run-link input")

    def file(self, label: str, folder: Path) -> Path:
        self.open()
        with self.page.expect_download() as waiting:
            self.page.get_by_role("button", name=label, exact=True).click()
        path = folder / waiting.value.suggested_filename
        waiting.value.save_as(path)
        return path

    def choose(self, name: str, data: bytes) -> None:
        self.open().page.set_input_files(
            ".drop input", {"name": name, "mimeType": "application/json", "buffer": data}
        )

    def refused(self) -> str:
        told = self.page.locator(".share .told[data-state=failed]")
        told.wait_for()
        return told.inner_text()

    def news(self, words: str) -> str:
        """What the line below the header says, once it says this."""
        line = self.page.locator(".arrived", has_text=words)
        line.wait_for()
        return line.locator("span").inner_text()


def follow(visit: Opener, link: str) -> Visit:
    """Another visitor's page at a link."""
    page = visit()
    page.page.goto("about:blank")
    page.page.goto(link)
    page.page.wait_for_selector("#model[data-state=ready]")
    return page


def ids(visit: Visit) -> list[str]:
    return visit.page.locator("#board .lane .token").evaluate_all("(all) => all.map((c) => c.dataset.id)")


def selected(visit: Visit, board: str = "#board") -> tuple[str, str]:
    chip = visit.page.locator(f"{board} .token[aria-selected=true]")
    chip.wait_for()
    return chip.get_attribute("data-lane"), chip.get_attribute("data-index")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of another model, with the recorded run first, as app.py shows it."""
    command = ("-m", "tests.browser.serve", "PORT", "0.02", "other/Model-1", "recorded")
    yield from start(*command, ready=lambda health: health["ready"])


# -- links to settings ------------------------------------------------------------------------------


def test_b39_a_settings_link_fills_another_page_and_runs_nothing(visit: Opener, server: Running) -> None:
    one = visit()
    prompt = "</textarea><script>alert(1)</script> 👋🏽\n${alert(1)} ‮"
    one.page.get_by_text("Raw text", exact=True).click()
    one.type("prompt", prompt)
    one.type("seed", "18446744073709551615")
    one.type("watched", " Paris\n Lyon")
    one.set("temperature", 1.35)
    one.set("top-k", 12)
    one.set("max-tokens", 33)
    link = Share(one).settings_link()
    assert link.startswith(server.url)
    setup = Setup.from_fragment(link[link.index("#") :])
    assert (setup.prompt, setup.mode, setup.seed) == (prompt, "raw", 2**64 - 1)
    before = server.get("/counts")
    two = follow(visit, link)
    two_share = Share(two)
    two_share.news("Settings from a link. Nothing has run.")
    assert two.page.input_value("#prompt textarea") == prompt
    assert two.page.input_value("#watched textarea") == " Paris\n Lyon"
    assert two.page.is_checked("#mode input[value=raw]")
    numbers = [
        two.page.input_value(f"#{name} input[type=number]") for name in ("temperature", "top-k", "max-tokens")
    ]
    assert numbers == ["1.35", "12", "33"]
    assert server.get("/counts") == before
    assert not [url for url in two.requests if "#" in url or "s=" in url.partition("?")[2]]
    assert two_share.settings_link() == link
    two_share.close()
    one_share = Share(one)
    one_share.close()
    assert [one.run(), two.run()] == ["max_tokens", "max_tokens"]
    assert ids(one) == ids(two)  # what stands in the fields is what Python gets


def test_a_link_of_another_page_arrives_while_this_one_is_open(visit: Opener) -> None:
    page = visit()
    page.type("prompt", "mine")
    setup = Setup(prompt="from the link", model="org/other", system="Be brief.")
    page.page.evaluate("(hash) => { location.hash = hash; }", setup.to_fragment())
    said = Share(page).news("Settings from a link")
    assert "They were made with org/other" in said
    assert page.page.input_value("#prompt textarea") == "from the link"
    assert page.page.input_value("#system textarea") == "Be brief."


def test_the_settings_of_a_comparison_have_a_link(visit: Opener) -> None:
    one = Compare(visit(), seed="123")
    one.kind("Sweep")
    one.page.select_option("#sweep-setting", "top_p")
    one.page.fill("#sweep-from", "0.25")
    one.page.fill("#sweep-steps", "4")
    one.page.fill("#compare-tokens", "11")
    link = Share(one.visit).settings_link()
    two = follow(visit, link)
    Share(two).news("Settings from a link")
    two.page.wait_for_selector(".compare[data-kind=sweep]")
    values = [two.page.input_value(f"#sweep-{name}") for name in ("setting", "from", "to", "steps")]
    assert values == ["top_p", "0.25", "1", "4"]
    assert two.page.input_value("#compare-seed") == "123"
    assert two.page.input_value("#compare-tokens") == "11"
    assert Share(two).settings_link() == link


def test_lanes_of_a_link_stand_in_the_compare_form(visit: Opener) -> None:
    one = Compare(visit())
    one.setting(1, "temperature", 1.9)
    one.menu(2, "Make it the reference")
    link = Share(one.visit).settings_link()
    two = follow(visit, link)
    Share(two).news("Settings from a link")
    assert Share(two).settings_link() == link
    setup = Setup.from_fragment(link[link.index("#") :])
    assert (setup.lanes[1].params.temperature, setup.reference) == (1.9, 2)


def test_b40_what_is_too_long_for_a_link_is_offered_as_a_file(visit: Opener, tmp_path: Path) -> None:
    page = visit()
    prompt = "".join(f"{n * 7919 % 1_000_003:x} " for n in range(4000))
    page.type("prompt", prompt)
    share = Share(page).open()
    share.page.locator(
        ".settings-link", has_text="too much for a link of at most 8,000 characters"
    ).wait_for()
    assert not share.page.is_visible(".settings-link .link")
    path = share.file("Settings, JSON", tmp_path)
    assert Setup.from_json(path.read_text()).prompt == prompt
    other = visit()
    Share(other).choose("settings.json", path.read_bytes())
    Share(other).news("Settings from a file. Nothing has run.")
    assert other.page.input_value("#prompt textarea") == prompt


def test_a_chat_goes_on_in_the_page_of_whoever_has_its_link(visit: Opener) -> None:
    one = visit()
    one.run()
    one.page.fill(".reply textarea", "And of Spain?")
    one.page.keyboard.press("Enter")
    one.page.wait_for_selector(".turn:nth-child(2)")
    one.page.wait_for_selector("#board .lane[data-finished]")
    made = one.text("#board .prompt-strip")
    link = Share(one).settings_link()
    setup = Setup.from_fragment(link[link.index("#") :])
    assert [message.role for message in setup.messages] == ["user", "assistant"]
    two = follow(visit, link)
    two.page.locator(".talk .turns", has_text="2 earlier messages, from a link or a file.").wait_for()
    assert two.page.input_value("#prompt textarea") == "And of Spain?"
    two.run()
    assert two.text("#board .prompt-strip") == made


@pytest.mark.parametrize("link", ["#s=AAAA", "#s=", "#s=" + "A" * 9000, "#r=1234", "#r=" + "0" * 32])
def test_b40_a_hostile_link_is_refused_in_one_sentence(visit: Opener, server: Running, link: str) -> None:
    page = follow(visit, server.url + "/" + link)
    said = Share(page).news("This link" if link != "#r=" + "0" * 32 else "What this link leads to")
    assert said.endswith(".")
    page.type("prompt", "still here")
    assert page.run() == "end_token"


def test_b40_hostile_settings_are_refused_before_any_is_set(visit: Opener, server: Running) -> None:
    from tests.test_hostile_links import link_of

    value = {"v": 1, "prompt": "evil", "lanes": [{"params": {"temperature": 1e9}}]}
    page = follow(visit, server.url + "/" + link_of(json.dumps(value)))
    assert "temperature" in Share(page).news("These settings cannot be used")
    assert page.page.input_value("#prompt textarea") == "What is the capital of France?"


def test_without_a_clipboard_the_link_stays_selected(visit: Opener) -> None:
    page = visit()
    page.page.add_init_script(CLIPBOARD_GONE)
    page.open()
    share = Share(page)
    link = share.settings_link()
    share.page.click(".settings-link .copy")
    share.page.locator(".settings-link .copy", has_text="Press Ctrl+C").wait_for()
    assert share.page.evaluate("String(getSelection())") == link


# -- links to runs ----------------------------------------------------------------------------------


def test_b41_a_replay_opens_at_its_token_without_running_and_goes_on_live(
    visit: Opener, server: Running
) -> None:
    one = visit()
    one.run()
    made, text = ids(one), one.text("#board .plain pre")
    one.chip(3).click()
    link = Share(one).replay_link()
    assert link.endswith("&t=0.3")
    before = server.get("/counts")
    two = follow(visit, link)
    two.page.locator(".notice", has_text="The same model runs here").wait_for()
    assert selected(two) == ("0", "3")
    assert ids(two) == made
    assert two.text("#board .plain pre") == text
    two.page.wait_for_selector("#inspector .candidate")
    assert server.get("/counts") == before
    # live from here: another token in its place
    two.page.locator(f"#inspector .candidate[data-id]:not([data-id='{made[3]}'])").first.click()
    two.page.wait_for_selector("#board .lane[data-finished]")
    two.page.wait_for_selector(".fork")
    two.page.wait_for_function("document.querySelectorAll('#board .lane .token.shared').length === 3")
    assert ids(two)[:3] == made[:3]
    assert ids(two)[3] != made[3]


def test_b41_a_replay_of_another_model_is_read_only(visit: Opener, other: Running, tmp_path: Path) -> None:
    one = visit()
    one.run()
    path = Share(one).file("Trace, JSON", tmp_path)
    trace = json.loads(path.read_text())
    trace["model"] |= {"sha256": "f" * 64, "name": "far/Away"}
    two = visit(other.url)
    before = other.get("/counts")
    Share(two).choose("run.json", json.dumps(trace).encode())
    two.page.locator(".notice", has_text="Recorded with far/Away, read-only").wait_for()
    assert ids(two) == ids(one)
    for name in ("play", "write", "edit"):
        two.page.wait_for_selector(f".hand .{name}[disabled][title*='read-only']")
    two.chip(3).click()
    two.page.locator("#inspector .candidate[data-id]").nth(2).click()
    two.page.locator("#board .status[data-state=error]", has_text="read-only").wait_for()
    assert ids(two) == ids(one)
    assert other.get("/counts") == before


def test_a_saved_comparison_opens_on_its_own_tab(visit: Opener, many: Running) -> None:
    one = Compare(visit(many.url))
    one.run()
    one.chip(1, 2).click()
    one.page.wait_for_selector(".compare .drawer:not([hidden])")
    link = Share(one.visit).replay_link()
    assert link.endswith("&t=1.2")
    two = follow(visit, link)
    two.page.locator(".compare .notice", has_text="A saved comparison").wait_for()
    assert two.page.get_attribute("#tab-compare-button", "aria-selected") == "true"
    assert selected(two, "#compare") == ("1", "2")
    read = two.page.locator("#compare .lane[data-lane='1'] .token")
    assert [int(id) for id in read.evaluate_all("(all) => all.map((c) => c.dataset.id)")] == one.ids(1)


def test_before_anything_ran_the_panel_says_so(visit: Opener) -> None:
    page = visit()
    share = Share(page).open()
    assert "No run yet" in share.page.inner_text(".run-link .explain")
    assert share.page.locator(".share .save").is_disabled()
    for label in ("Trace, JSON", "Web page", "Strip, PNG"):
        assert share.page.get_by_role("button", name=label, exact=True).is_disabled()
    assert share.page.get_by_role("button", name="Settings, JSON").is_enabled()


def test_the_panel_closes_by_key_by_button_and_beside_it(visit: Opener) -> None:
    share = Share(visit()).open()
    share.page.wait_for_function("document.activeElement.matches('.settings-link input')")
    share.close()
    assert share.page.evaluate("document.activeElement.id") == "share"
    share.open().page.click("#prompt textarea")
    share.page.wait_for_selector(".share", state="hidden")
    share.open().page.click("#share")
    share.page.wait_for_selector(".share", state="hidden")


# -- the last run -----------------------------------------------------------------------------------


def kept_messages(visit: Visit) -> int:
    """How many messages of the last run this browser keeps."""
    return visit.page.evaluate(
        """() => new Promise((resolve) => {
            const asked = indexedDB.open('token-playground', 1);
            asked.onsuccess = () => {
                const found = asked.result.transaction('last').objectStore('last').get('run');
                found.onsuccess = () => {
                    asked.result.close();
                    resolve(found.result ? found.result.texts.length : 0);
                };
            };
        })"""
    )


def until_kept(visit: Visit, kept: bool = True) -> None:
    for _ in range(100):
        if bool(kept_messages(visit)) == kept:
            return
        visit.page.wait_for_timeout(50)
    raise AssertionError(f"what this browser keeps of the last run stayed at {kept_messages(visit)}")


def test_the_last_run_comes_back_after_a_reload_and_can_be_forgotten(visit: Opener, other: Running) -> None:
    page = visit(other.url)
    page.run()
    made, text = ids(page), page.text("#board .plain pre")
    until_kept(page)
    page.open()
    notice = page.page.locator(".notice", has_text="Your last run, from this browser.")
    notice.wait_for()
    assert (ids(page), page.text("#board .plain pre")) == (made, text)
    # it goes on
    page.chip(2).click()
    page.page.locator(f"#inspector .candidate[data-id]:not([data-id='{made[2]}'])").first.click()
    page.page.wait_for_selector(".fork")
    page.page.wait_for_selector("#board .lane[data-finished]")
    forked = ids(page)
    until_kept(page)
    page.page.wait_for_timeout(300)
    page.open()
    notice.wait_for()
    assert ids(page) == forked
    assert page.page.locator(".fork").count() == 2
    notice.get_by_role("button", name="Forget it").click()
    page.page.locator(".notice", has_text="Recorded run of").wait_for()
    until_kept(page, False)
    page.open()
    page.page.locator(".notice", has_text="Recorded run of").wait_for()


def test_a_run_that_was_cut_off_by_a_reload_waits(visit: Opener) -> None:
    page = visit()
    page.page.get_by_text("5 tokens/s").click()
    page.generate()
    page.page.wait_for_selector("#board .token[data-lane='0'][data-index='2']")
    until_kept(page)
    assert page.page.get_attribute("#board .lane", "data-finished") is None
    page.open()
    page.page.locator(".notice", has_text="Your last run").wait_for()
    made = ids(page)
    assert made
    page.page.locator(".hand .doing", has_text="paused after").wait_for()
    page.page.click(".hand .play:not([disabled])")
    page.page.wait_for_selector("#board .lane[data-finished]", timeout=60_000)
    assert ids(page)[: len(made)] == made
    assert len(ids(page)) > len(made)


def test_what_others_made_is_not_kept_as_the_last_run(visit: Opener) -> None:
    one = visit()
    one.run()
    link = Share(one).replay_link()
    two = follow(visit, link)
    two.page.locator(".notice", has_text="The same model runs here").wait_for()
    two.page.wait_for_timeout(500)
    assert kept_messages(two) == 0


# -- files ------------------------------------------------------------------------------------------


def test_a_run_as_files_and_back(visit: Opener, tmp_path: Path) -> None:
    page = visit()
    page.run()
    share = Share(page)
    trace = Trace.from_json(share.file("Trace, JSON", tmp_path).read_text())
    assert [str(id) for id in trace.answer_ids] == ids(page)
    rows = share.file("Steps, CSV", tmp_path).read_text().splitlines()
    assert len(rows) == len(trace.steps) + 1
    assert "<!doctype html>" in share.file("Web page", tmp_path).read_text()
    again = visit()
    Share(again).choose("run.json", trace.to_json().encode())
    again.page.locator(".notice", has_text="The same model runs here").wait_for()
    assert ids(again) == ids(page)
    assert again.page.input_value("#prompt textarea") == page.page.input_value("#prompt textarea")
    assert again.page.is_hidden(".share")


def test_a_comparison_as_a_file(visit: Opener, many: Running, tmp_path: Path) -> None:
    page = Compare(visit(many.url))
    page.run()
    comparison = Comparison.from_json(Share(page.visit).file("All lanes, JSON", tmp_path).read_text())
    assert list(comparison.names) == page.names()
    picture = Share(page.visit).file("Strip, PNG", tmp_path)
    assert png_size(picture.read_bytes())[0] == 1920


def test_b40_hostile_files_are_refused_and_the_screen_keeps_what_it_had(visit: Opener) -> None:
    page = visit()
    page.run()
    made = ids(page)
    share = Share(page)
    hostile = [
        b"", b"{}", b"[]", b'{"version": 99, "steps": []}', b"<script>alert(1)</script>", b"[" * 50_000,
        gzip.compress(b'{"steps":' + b" " * 300_000_000), b"\x1f\x8b broken", b'{"v": 1, "prompt": 5}',
        b'{"v": 1, "__proto__": {"prompt": "evil"}}',
    ]  # fmt: skip
    for data in hostile:
        share.choose("evil.json", data)
        assert share.refused().endswith(".")
        share.close()
    assert ids(page) == made
    assert page.page.input_value("#prompt textarea") == "What is the capital of France?"


def test_b38_nothing_in_a_file_can_run(visit: Opener) -> None:
    page = visit()
    trace = hostile_trace()
    Share(page).choose("run.json", trace.to_json().encode())
    page.page.locator(".notice", has_text="read-only").wait_for()
    assert ids(page) == [str(id) for id in trace.answer_ids]
    page.chip(2).click()
    page.page.wait_for_selector("#inspector .candidate")
    assert (
        page.page.evaluate(
            "document.querySelectorAll('#board script, #board img, #board svg[onload]').length"
        )
        == 0
    )
    Share(page).open()


def png_size(data: bytes) -> tuple[int, int]:
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def colours_of(page: Any, data: bytes) -> int:
    """How many colours a picture has, counted by the browser."""
    return page.evaluate(
        """async (bytes) => {
            const picture = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
            const canvas = new OffscreenCanvas(picture.width, picture.height);
            const pen = canvas.getContext('2d');
            pen.drawImage(picture, 0, 0);
            const { data } = pen.getImageData(0, 0, picture.width, picture.height);
            return new Set(new Uint32Array(data.buffer)).size;
        }""",
        list(data),
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_strip_and_the_timeline_as_pictures(visit: Opener, tmp_path: Path, theme: str) -> None:
    page = visit(color_scheme=theme)
    page.run()
    share = Share(page)
    strip = share.file("Strip, PNG", tmp_path).read_bytes()
    width, height = png_size(strip)
    assert width == 1920
    assert 300 < height < 2000
    assert colours_of(page.page, strip) > 100
    timeline = share.file("Timeline, PNG", tmp_path).read_bytes()
    assert png_size(timeline)[0] == 1920
    assert colours_of(page.page, timeline) > 20


def test_a_figure_as_a_web_page_needs_no_server(visit: Opener, chromium: Any, tmp_path: Path) -> None:
    page = visit()
    page.run()
    path = Share(page).file("Timeline, web page", tmp_path)
    alone = chromium.new_context(offline=True).new_page()
    trouble: list[str] = []
    alone.on("pageerror", lambda error: trouble.append(str(error)))
    alone.goto(path.as_uri())
    alone.wait_for_selector(".js-plotly-plot .scatterlayer path")
    assert trouble == []
    alone.context.close()


def test_on_a_phone_the_panel_is_a_sheet(visit: Opener) -> None:
    page = visit(width=390, height=844)
    page.run()
    share = Share(page).open()
    box = share.page.locator(".share").bounding_box()
    assert (box["x"], box["width"]) == (0, 390)
    assert round(box["y"] + box["height"]) == 844
    assert page.sideways() == 0
    share.page.click(".share .close")
    share.page.wait_for_selector(".share", state="hidden")
