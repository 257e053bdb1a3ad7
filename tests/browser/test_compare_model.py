"""The Compare tab over the bundled model, against numbers that transformers and torch give alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from playground.engine.models import Loaded
from playground.sampling.dice import dice
from tests.browser.compare_page import Compare, first_difference
from tests.browser.conftest import Running, Visit, start
from tests.browser.test_model import shown_percent

pytestmark = pytest.mark.model
Open = Callable[..., Visit]
PROMPT = "Describe the sea in two sentences."
SEED = 4
HEATS = (0.0, 0.7, 1.5)
TOKENS = 24


@pytest.fixture(scope="module")
def app(bundled: Loaded) -> Iterator[Running]:
    """`python app.py`. Asks for `bundled` so that the weights are there, or the test is skipped."""
    command = ("app.py", "--port", "PORT", "--device", "cpu", "--dtype", "float32")
    yield from start(*command, ready=lambda health: health["ready"])


def rows_of(model: torch.nn.Module, ids: list[int]) -> torch.Tensor:
    """Logits after the last id, by a whole pass of its own: no cache, no batch."""
    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0, -1].float()


def written(model: torch.nn.Module, prompt: list[int], heat: float, ends: tuple[int, ...]) -> list[int]:
    """An answer by plain torch: softmax at the temperature, and the lane's dice over it, likeliest first."""
    answer: list[int] = []
    while len(answer) < TOKENS and not (answer and answer[-1] in ends):
        logits = rows_of(model, [*prompt, *answer])
        if heat == 0:
            answer.append(int(logits.argmax()))
            continue
        probs, order = torch.softmax(logits.double() / heat, dim=-1).sort(descending=True, stable=True)
        place = torch.searchsorted(probs.cumsum(0), dice(SEED, len(answer)), right=True)
        answer.append(int(order[place]))
    return answer


def test_lanes_part_where_torch_alone_says(visit: Open, app: Running, bundled: Loaded) -> None:
    compare = Compare(visit(app.url), seed=str(SEED))
    compare.page.fill("#compare-prompt", PROMPT)
    compare.page.fill("#compare-tokens", str(TOKENS))
    compare.run()
    prompt = bundled.tokenizer.apply_chat_template(
        [{"role": "user", "content": PROMPT}], add_generation_prompt=True, return_dict=False
    )
    assert compare.prompt_ids() == list(prompt)
    answers = [written(bundled.model, list(prompt), heat, bundled.info.end_ids) for heat in HEATS]
    assert [compare.ids(lane) for lane in range(3)] == answers
    for lane in (1, 2):
        parts = first_difference(answers[0], answers[lane])
        assert parts is not None
        compare.badge(lane, f"parts at token {parts + 1}")
        assert compare.chip(lane, parts).get_attribute("data-parts") == "true"
        compare.lane(lane).locator(".badge").click()
        panel = compare.page.locator(".parting")
        name = ("greedy", "temperature 0.7", "temperature 1.5")[lane]
        panel.get_by_role("heading", name=f"Where {name} leaves greedy: token {parts + 1}").wait_for()
        logits = rows_of(bundled.model, [*prompt, *answers[0][:parts]])
        raw, final = (torch.softmax(logits / heat, dim=-1) for heat in (1, HEATS[lane]))
        for chosen in (answers[0][parts], answers[lane][parts]):
            row = panel.locator(f".rival[data-id='{chosen}']")
            row.wait_for()
            told = row.locator(".chance").all_inner_texts()
            assert told[1].strip() in shown_percent(float(final[chosen]))
            assert told[2].strip() in shown_percent(float(raw[chosen]))
