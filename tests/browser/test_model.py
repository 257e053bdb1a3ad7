"""The page over the bundled model: what README promises."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.settings import Settings
from playground.trace import SamplingParams
from tests.browser.conftest import ROOT, Running, Visit, start

pytestmark = pytest.mark.model
Open = Callable[..., Visit]
PICTURES = ROOT / ".github" / "pictures"


@pytest.fixture(scope="module")
def app(bundled: Loaded) -> Iterator[Running]:
    """`python app.py`. Asks for `bundled` so that the weights are there, or the test is skipped."""
    command = ("app.py", "--port", "PORT", "--device", "cpu", "--dtype", "float32")
    yield from start(*command, ready=lambda health: health["ready"])


def shown_percent(share: float) -> set[str]:
    """How the page may write a share that another program computed: the last digit may differ by one."""
    if share < 0.0001:
        return {"<0.01%"}
    if share > 0.999:
        return {f"{100 * share:.2f}%", ">99.99%", "100%"}
    digits = 2 if share < 0.01 else 1
    return {f"{100 * share + nudge * 10**-digits:.{digits}f}%" for nudge in (-0.5, 0, 0.5)}


def test_the_capital_of_france_streams_with_the_models_own_numbers(
    visit: Open, app: Running, bundled: Loaded
) -> None:
    page = visit(app.url)
    assert "SmolLM2-135M-Instruct · cpu · float32 · 49,152 tokens · context 8,192" in page.text("#model")
    page.type("prompt", "What is the capital of France?")
    page.page.get_by_text("greedy", exact=True).click()
    page.generate()
    page.page.wait_for_selector(".lane[data-finished=end_token]")
    assert page.text(".plain").startswith("The capital of France is Paris.")

    ids = bundled.tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True, return_dict=False,
    )  # fmt: skip
    strip = page.page.locator(".token.prompt")
    assert [int(strip.nth(i).get_attribute("data-id")) for i in range(strip.count())] == list(ids)
    answer = [int(page.chip(index).get_attribute("data-id")) for index in range(page.count())]
    with torch.inference_mode():
        logits = bundled.model(torch.tensor([[*ids, *answer]])).logits[0].float()
    for index in (0, 2, 5):
        probs = torch.softmax(logits[len(ids) + index - 1], dim=-1)
        page.chip(index).hover()
        page.page.locator(f".popover .candidate.chosen[data-id='{answer[index]}']").wait_for()
        rows = page.page.locator(".popover .candidate")
        for place, token_id in enumerate(probs.topk(10).indices.tolist()):
            assert rows.nth(place).get_attribute("data-id") == str(token_id)
            shown = rows.nth(place).locator(".raw:not(i)").inner_text()
            assert shown in shown_percent(float(probs[token_id])), (index, token_id)


def test_what_if_is_what_the_engine_says(visit: Open, app: Running, bundled: Loaded) -> None:
    """Moved sliders show `LocalEngine.redistribute_ids`, and dice and found tokens are its own."""
    page = visit(app.url)
    for name, number in {"temperature": 0.9, "top-k": 50, "top-p": 0.9, "min-p": 0.03}.items():
        page.set(name, number)
    page.set("max-tokens", 8)
    page.run()
    ids = [int(chip.get_attribute("data-id")) for chip in page.page.locator(".token.prompt").all()]
    answer = [int(page.chip(index).get_attribute("data-id")) for index in range(page.count())]
    engine = LocalEngine(bundled)
    settings = {"top_k": 50, "top_p": 0.9, "min_p": 0.03, "seed": 2}
    for index, temperature, min_p in ((0, 1.7, 0.03), (2, 0.4, 0.2)):
        page.chip(index).click()
        page.page.locator("#inspector h2", has_text=f"Token {index + 1} of").wait_for()
        page.page.locator("#whatif-temperature input").fill(str(temperature))
        page.page.locator("#whatif-min-p input").fill(str(min_p))
        page.page.locator(".card.funnel.hypothetical", has_text=f"min-p {min_p}").wait_for()
        params = SamplingParams.from_dict({**settings, "temperature": temperature, "min_p": min_p})
        step = engine.redistribute_ids(ids, answer, index, params)
        rows = page.page.locator("#inspector .rows .candidate")
        for place, candidate in enumerate(sorted(step.candidates, key=lambda c: c.rank)[:10]):
            assert rows.nth(place).get_attribute("data-id") == str(candidate.token_id)
            shown = rows.nth(place).locator(":scope > :last-child").inner_text()
            if candidate.removed_by is None:
                assert shown in shown_percent(candidate.final_prob), (index, candidate)
            else:
                assert shown == candidate.removed_by.replace("_", "-")
        own = rows.and_(page.page.locator(".chosen")).first.get_attribute("data-id")
        assert own == str(step.token_id)
        page.page.fill("#find-token", "zebra")
        found = page.page.locator(".found .candidate").first
        found.wait_for()
        zebra = int(found.get_attribute("data-id"))
        assert zebra in [engine.vocabulary.encode(text)[0] for text in ("zebra", " zebra")]
        true = engine.redistribute_ids(ids, answer, index, params, watched=[zebra])
        rank = next(c.rank for c in true.candidates if c.token_id == zebra)
        assert f"rank {rank:,}" in page.text(".found")
        page.page.get_by_role("button", name="Back to the run").click()
    engine.close()


def test_what_a_stop_string_took_is_marked_and_not_in_the_text(visit: Open, app: Running) -> None:
    page = visit(app.url)
    page.page.get_by_text("Raw text", exact=True).click()
    page.page.get_by_text("greedy", exact=True).click()
    page.type("prompt", "The English alphabet is: A, B, C,")
    page.page.get_by_text("Stop strings and penalties").click()
    page.type("stop-strings", ", F, G")
    assert page.run() == "stop_string"
    assert page.page.locator(".plain pre").text_content() == " D, E"
    assert page.count(".trimmed") == 4
    assert page.count(".held") == 0


def test_the_page_is_there_before_the_model(bundled: Loaded) -> None:
    command = ("app.py", "--port", "PORT", "--device", "cpu")
    early: list[Any] = []
    for running in start(*command, ready=lambda health: early.append(health) or True):
        assert early[0]["ready"] is False
        assert running.until("/health", lambda health: health["ready"])["free"] == Settings().max_lanes


def test_a_fork_on_the_page_is_the_engines_own(visit: Open, app: Running, bundled: Loaded) -> None:
    page = visit(app.url)
    question = "What is the capital of France?"
    page.type("prompt", question)
    settings = {"temperature": 0.9, "top-k": 50, "top-p": 0.9, "min-p": 0.03, "max-tokens": 20}
    for name, number in settings.items():
        page.set(name, number)
    page.type("seed", "19")
    page.generate()
    page.page.wait_for_selector(".lane[data-finished=max_tokens]")

    def shown() -> list[int]:
        return [int(page.chip(index).get_attribute("data-id")) for index in range(page.count())]

    params = SamplingParams(seed=19, **{name.replace("-", "_"): number for name, number in settings.items()})
    engine = LocalEngine(bundled)
    try:
        trace = engine.run(engine.chat([{"role": "user", "content": question}]), params)
        assert shown() == list(trace.answer_ids)
        page.chip(7).click()
        row = page.page.locator("#inspector button.candidate[data-id]").nth(1)
        token_id = int(row.get_attribute("data-id"))
        row.click()
        page.page.wait_for_selector(".fork[data-node='1'][aria-selected=true]")
        page.page.wait_for_selector(".lane[data-finished]")
        assert shown() == list(engine.fork(trace, step=7, token_id=token_id).answer_ids)
        page.page.click(".fork[data-node='0']")
        assert shown() == list(trace.answer_ids)
    finally:
        engine.close()


def test_the_prompt_tab_shows_what_transformers_makes(visit: Open, app: Running, bundled: Loaded) -> None:
    page = visit(app.url)
    page.type("prompt", "What is the capital of France?")
    page.page.locator("#tab-prompt-button").click()
    page.page.wait_for_selector("#prompt-tokens .token")
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    text = bundled.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert page.page.locator("#prompt-render").text_content().replace("⏎\n", "\n") == text
    chips = page.page.locator("#prompt-tokens .token")
    ids = [int(each) for each in chips.evaluate_all("(all) => all.map((chip) => chip.dataset.id)")]
    assert ids == bundled.tokenizer(text, add_special_tokens=False).input_ids

    page.page.locator(".both .second").select_option("none")
    page.page.locator(".both .length").fill("4")
    page.page.locator("#run-both").click()
    page.page.wait_for_function("document.querySelectorAll('.both .lane[data-finished]').length === 2")
    raw = bundled.tokenizer(messages[0]["content"]).input_ids
    for side, prompt in enumerate((ids, raw)):
        with torch.inference_mode():
            probs = bundled.model(torch.tensor([prompt])).logits[0, -1].float().softmax(-1)
        rows = page.page.locator(f".side[data-side='{side}'] .candidate")
        assert rows.count() >= 8
        for row in rows.all():
            shown = row.locator(".raw").last.inner_text()
            assert shown in shown_percent(probs[int(row.get_attribute("data-id"))].item())
        assert (
            int(rows.locator("xpath=self::*[contains(@class,'chosen')]").get_attribute("data-id"))
            == probs.argmax()
        )

    page.page.wait_for_selector(".word")
    pieces = bundled.tokenizer("The word is accomodate").input_ids
    start = len(bundled.tokenizer("The word is").input_ids)
    with torch.inference_mode():
        probs = bundled.model(torch.tensor([pieces])).logits[0].float().softmax(-1)
    shown = page.page.locator(".word").last.locator(".piece-of-word small").all_inner_texts()
    assert len(shown) == len(pieces) - start
    for place, told in enumerate(shown, start):
        assert told in shown_percent(probs[place - 1, pieces[place]].item())


@pytest.mark.skipif(
    not os.environ.get("PLAYGROUND_PICTURES"), reason="set PLAYGROUND_PICTURES=1 to take pictures"
)
def test_the_picture_of_the_readme(visit: Open, app: Running) -> None:
    page = visit(app.url, width=1440, height=1080, color_scheme="light")
    page.type("prompt", "What is the capital of France?")
    for name, number in {"temperature": 0.9, "top-k": 50, "top-p": 0.9, "min-p": 0.03}.items():
        page.set(name, number)
    page.set("max-tokens", 60)
    page.type("seed", "19")
    page.run()
    page.page.mouse.move(2, 2)
    page.page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.page.wait_for_timeout(300)
    Path(PICTURES).mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=PICTURES / "playground.png")
