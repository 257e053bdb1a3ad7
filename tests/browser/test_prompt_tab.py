"""The Prompt tab in Chromium, over the fake engine."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.browser.conftest import Visit

Open = Callable[..., Visit]
HOSTILE = "<img src=x onerror=alert(1)> </script>${alert(1)}`{{7*7}} 👍🏽\u200b"


def at_prompt(visit: Open, prompt: str = "") -> Visit:
    """A visitor who typed a prompt and then opened the tab."""
    page = visit()
    if prompt:
        page.type("prompt", prompt)
    page.page.locator("#tab-prompt-button").click()
    page.page.wait_for_selector("#prompt-tokens .token")
    return page


def rendered(page: Visit, wanted: str) -> None:
    page.page.wait_for_function(
        "(text) => document.querySelector('#prompt-render').textContent.includes(text)", arg=wanted
    )


def test_what_was_typed_is_rendered_as_tokens_and_nothing_runs(visit: Open) -> None:
    page = at_prompt(visit, HOSTILE)
    rendered(page, "<img src=x onerror=alert(1)> </script>${alert(1)}`{{7*7}}")
    assert page.page.locator("#prompt-board img").count() == 0
    for kind in ("template", "user", "generation_prompt"):
        assert page.page.locator(f"#prompt-render .segment[data-kind={kind}]").count()
    count = page.page.locator("#prompt-tokens .token").count()
    assert f"{count:,} token" in page.text(".seeing .size")


def test_a_token_and_its_text_light_each_other_up(visit: Open) -> None:
    page = at_prompt(visit, "Hello there")
    chips = page.page.locator("#prompt-tokens .token")
    chips.nth(3).hover()
    page.page.wait_for_selector("#prompt-render .piece.lit")
    assert page.page.locator("#prompt-render .piece.lit").first.get_attribute("data-index") == "3"
    assert "token 4 of" in page.text(".pointed")
    page.page.locator("#prompt-render .piece[data-index='1']").hover()
    page.page.wait_for_selector("#prompt-tokens .token.lit[data-index='1']")
    assert page.page.locator("#prompt-tokens .lit").count() == 1
    chips.first.focus()  # and by keyboard
    page.page.keyboard.press("ArrowRight")
    page.page.wait_for_selector("#prompt-tokens .token.lit[data-index='1']:focus")
    page.page.keyboard.press("End")
    page.page.wait_for_selector(f"#prompt-tokens .token.lit[data-index='{chips.count() - 1}']:focus")


def test_messages_are_added_moved_and_taken_away(visit: Open) -> None:
    page = at_prompt(visit, "First")
    page.page.get_by_role("button", name="+ Message").click()
    page.page.locator("#prompt-board .message textarea").nth(1).fill("Second")
    rendered(page, "Second")
    assert page.page.locator("#prompt-board .message select").nth(1).input_value() == "assistant"
    assert page.text("#prompt-render").index("First") < page.text("#prompt-render").index("Second")
    page.page.locator("#prompt-board .message .up").nth(1).click()
    page.page.wait_for_function(
        "(() => { const text = document.querySelector('#prompt-render').textContent;"
        " return text.indexOf('Second') < text.indexOf('First'); })()"
    )
    page.page.locator("#prompt-board .message .away").first.click()
    page.page.wait_for_function("!document.querySelector('#prompt-render').textContent.includes('Second')")
    page.page.locator("#prompt-board .message .away").first.click()  # the last one leaves an empty one
    assert page.page.locator("#prompt-board .message").count() == 1


def test_another_template_is_held_against_the_models_own(visit: Open) -> None:
    page = at_prompt(visit, "Hello")
    assert page.page.locator(".against").is_hidden()
    page.page.locator("#template").select_option("llama3")
    rendered(page, "<|start_header_id|>")
    page.page.wait_for_selector(".against ins")
    assert page.page.locator(".against del").count()
    page.page.wait_for_selector(".against .split .bit")
    page.page.locator("#template").select_option("none")
    page.page.wait_for_function("document.querySelector('#prompt-render').textContent.trim() === 'Hello'")


def test_an_edited_template_that_fails_keeps_the_last_rendering(visit: Open) -> None:
    page = at_prompt(visit, "Hello")
    page.page.locator("#template").select_option("edited")
    editor = page.page.locator("#jinja")
    assert "message" in editor.input_value()  # it starts as the one before
    editor.fill("{% for message in messages %}[{{ message.content }}]{% endfor %}")
    rendered(page, "[Hello]")
    editor.fill("{% for message in %}")
    page.page.wait_for_selector(".saying .fault:not(:empty)")
    assert "[Hello]" in page.text("#prompt-render")
    assert page.page.locator(".seeing.stale").count() == 1
    editor.fill("{{ messages[0].content }}!")
    rendered(page, "Hello!")
    page.page.wait_for_selector(".saying .fault:empty", state="attached")


def test_both_templates_run_side_by_side(visit: Open) -> None:
    page = at_prompt(visit, "Hello")
    page.page.locator(".both .length").fill("6")
    page.page.locator("#run-both").click()
    page.page.wait_for_function("document.querySelectorAll('.both .lane[data-finished]').length === 2")
    for side in (0, 1):
        assert page.page.locator(f".side[data-side='{side}'] .firsts .candidate").count() >= 2
        assert "%" in page.text(f".side[data-side='{side}'] .sums")
        assert page.page.locator(f".side[data-side='{side}'] .lane .token").count() == 6
    ids = [
        page.page.locator(f".side[data-side='{side}'] .candidate").evaluate_all(
            "(rows) => rows.map((r) => r.dataset.id)"
        )
        for side in (0, 1)
    ]
    assert ids[0] == ids[1]  # the rows stand side by side
    page.page.locator(".aligning summary").click()
    assert page.page.locator(".aligning tr.same").count()


def test_stop_keeps_what_was_written(visit: Open) -> None:
    page = at_prompt(visit, "Hello")
    page.page.locator(".both .length").fill("100")
    page.page.locator("#run-both").click()
    page.page.wait_for_selector(".both .lane .token")
    page.page.locator(".both .halt").click()
    page.page.wait_for_function(
        "document.querySelectorAll('.both .lane[data-finished=stopped]').length === 2"
    )
    assert page.page.locator(".both .lane .token").count() < 200
    page.page.wait_for_selector("#run-both:enabled")


def test_the_same_template_twice_is_refused_in_a_sentence(visit: Open) -> None:
    page = at_prompt(visit, "Hello")
    page.page.locator(".both .second").select_option("own")
    page.page.locator("#run-both").click()
    page.page.wait_for_selector(".prompting > .status[data-state=error]")
    assert "same template" in page.text(".prompting > .status")


def test_any_text_is_cut_as_it_is_typed(visit: Open) -> None:
    page = at_prompt(visit)
    field = page.page.locator("#tokenizer-text")
    field.fill(HOSTILE)
    page.page.wait_for_function(
        "document.querySelector('.cut .name').textContent.includes('characters per token')"
    )
    assert page.page.locator(".cut img").count() == 0
    field.fill("")
    page.page.wait_for_function("document.querySelector('.cut .name').textContent.includes('0 tokens')")
    assert page.page.locator("#tokenizer-with option").count() > 1  # the tokenizers of the offered models


def test_words_show_letters_and_pieces(visit: Open) -> None:
    page = at_prompt(visit)
    page.page.locator("#words").fill("strawberry")
    page.page.locator("#words").press("Enter")
    page.page.wait_for_function("document.querySelectorAll('.word').length === 1")
    assert "r × 3" in page.text(".word")
    assert "yrrebwarts" in page.text(".word")
    page.page.locator("#words").fill("x" * 61)
    page.page.locator("#words").press("Enter")
    page.page.wait_for_selector(".wordly .fault:not(:empty)")
    assert page.page.locator(".word").count() == 1


def test_the_list_of_other_special_tokens_is_not_laid_out_in_columns(visit: Open) -> None:
    page = at_prompt(visit)
    shown = "(list) => { list.hidden = false; return getComputedStyle(list).display; }"
    assert page.page.locator(".explained details").evaluate(shown) == "block"


def test_another_model_reads_the_words_anew(visit: Open) -> None:
    page = at_prompt(visit)
    page.page.wait_for_selector(".word")
    page.page.evaluate("document.querySelectorAll('.word').forEach((word) => { word.dataset.old = 'yes'; })")
    page.page.evaluate(
        "document.querySelector('#model b').textContent = document.querySelector('#model').title = 'another'"
    )
    page.page.wait_for_selector(".word[data-old]", state="detached")
    page.page.wait_for_selector(".word:not([data-old])")


def test_a_server_that_fails_is_told_and_the_last_answer_stays(visit: Open) -> None:
    page = at_prompt(visit)
    page.page.wait_for_selector(".cut .token")
    page.page.route(re.compile("component_server"), lambda route: route.fulfill(status=500, body="no"))
    page.page.locator("#tokenizer-text").fill("again")
    page.page.wait_for_selector(".tokenizer .fault:not(:empty)")
    assert page.page.locator(".cut .token").count()  # the last answer stays


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_cut_off_on_a_phone(visit: Open, theme: str) -> None:
    page = visit(width=390, height=844, color_scheme=theme)
    page.page.locator("#tab-prompt-button").click()
    page.page.wait_for_selector("#prompt-tokens .token")
    assert page.sideways() == 0
