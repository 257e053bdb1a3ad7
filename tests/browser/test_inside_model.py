"""The Inside tab over the bundled model: every section, against numbers that transformers gives alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from playground.engine.models import Loaded
from tests.browser.conftest import Running, Visit, start
from tests.browser.inside_page import SECTIONS, Inside
from tests.browser.test_model import shown_percent

pytestmark = pytest.mark.model
Open = Callable[..., Visit]
SLOW = 90_000  # milliseconds


@pytest.fixture(scope="module")
def app(bundled: Loaded) -> Iterator[Running]:
    """`python app.py`. Asks for `bundled` so that the weights are there, or the test is skipped."""
    command = ("app.py", "--port", "PORT", "--device", "cpu", "--dtype", "float32")
    yield from start(*command, ready=lambda health: health["ready"])


@pytest.fixture
def inside(visit: Open, app: Running) -> Inside:
    """The tab over the recorded run, which the bundled model made."""
    return Inside(visit(app.url))


def plotted(inside: Inside, section: str) -> int:
    """How many figures of the section plotly has drawn; waits for the first."""
    place = f".inside-panel[data-section={section}] .figure .main-svg"
    inside.page.wait_for_selector(place, state="attached", timeout=SLOW)
    return inside.page.locator(f".inside-panel[data-section={section}] .figure").count()


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", "").strip("<>%"))


def test_what_the_model_is_made_of(inside: Inside, bundled: Loaded) -> None:
    inside.page.wait_for_selector("#inside .made-of .facts")
    facts = inside.page.locator("#inside .made-of .facts > div")
    told = {each.split("\n")[-1]: each.split("\n")[0] for each in facts.all_inner_texts()}
    config = bundled.model.config
    assert told["layers"] == str(config.num_hidden_layers)
    assert told["query heads"] == str(config.num_attention_heads)
    assert told["key heads"] == str(config.num_key_value_heads)
    assert told["width"] == str(config.hidden_size)
    assert told["positions"] == "rotary"
    assert told["sliding window"] == "none"


def test_the_nearest_rows_of_the_embedding_table(inside: Inside, bundled: Loaded) -> None:
    panel = inside.ready("embeddings", SLOW)
    token_id = inside.ids()[inside.position()]
    table = bundled.model.get_input_embeddings().weight.detach().float()
    cosines = torch.nn.functional.cosine_similarity(table, table[token_id : token_id + 1])
    cosines[token_id] = -2
    rows = panel.locator(".neighbours tbody tr")
    assert rows.count() == 12
    for place, near in enumerate(cosines.topk(12).indices.tolist()):
        assert rows.nth(place).get_attribute("data-id") == str(near)
        told = number(rows.nth(place).locator("td").nth(2).inner_text())
        assert told == pytest.approx(float(cosines[near]), abs=0.001)
    assert number(panel.locator(".facts b").nth(1).inner_text()) == pytest.approx(
        float(table[token_id].norm()), abs=0.001
    )
    assert "the same table is also its output" in panel.inner_text()
    assert plotted(inside, "embeddings") == 1  # the map of words


def test_king_is_nearer_to_queen_than_to_apple(inside: Inside, bundled: Loaded) -> None:
    panel = inside.ready("embeddings", SLOW)
    inside.page.fill("#inside-words", "king, queen, apple")
    panel.get_by_role("button", name="Draw the map").click()
    inside.page.wait_for_function("() => document.querySelectorAll('#inside .cosines tbody tr').length === 3")
    panel.locator("summary", has_text="Cosines in the full space").click()
    told = [number(text) for text in panel.locator(".cosines tbody tr").first.locator("td").all_inner_texts()]
    table = bundled.model.get_input_embeddings().weight.detach().float()
    rows = [table[bundled.tokenizer.encode(" " + word)[-1]] for word in ("king", "queen", "apple")]
    true = [float(torch.nn.functional.cosine_similarity(rows[0], row, dim=0)) for row in rows]
    assert told == pytest.approx(true, abs=0.006)
    assert told[1] > told[2]


def test_positions_and_word_order(inside: Inside, bundled: Loaded) -> None:
    panel = inside.ready("positions", SLOW)
    assert "rotary positions" in panel.inner_text()
    assert plotted(inside, "positions") == 1
    inside.page.fill("#inside-second", "3")
    inside.page.locator("#inside-second").blur()
    panel.locator(".say", has_text="put at position 3").wait_for()
    panel.locator("summary", has_text="The angles").click()
    config = bundled.model.config
    assert panel.locator(".angles tbody tr").count() == config.head_dim // 2
    inside.page.fill("#inside-before", "The capital of France is")
    inside.page.fill("#inside-after", "is France of capital The")
    panel.get_by_role("button", name="Compare").click()
    panel.locator(".orders tbody tr").first.wait_for()
    with torch.inference_mode():
        probs = [
            torch.softmax(bundled.model(torch.tensor([bundled.tokenizer.encode(text)])).logits[0, -1], -1)
            for text in ("The capital of France is", "is France of capital The")
        ]
    moved = float((probs[0] - probs[1]).abs().sum() / 2)
    assert panel.locator(".facts b").first.inner_text() in shown_percent(moved)


def test_one_row_of_attention(inside: Inside, bundled: Loaded) -> None:
    panel = inside.ready("attention", SLOW)
    inside.page.fill("#inside-layer", "5")
    inside.page.locator("#inside-layer").blur()
    inside.page.fill("#inside-head", "4")
    inside.page.locator("#inside-head").blur()
    panel.locator(".say", has_text="key head 1").wait_for()
    inside.wait("attention", SLOW)
    assert "Query head 4 reads key head 1" in panel.inner_text()
    assert plotted(inside, "attention") == 1
    at = inside.position() - 1
    model, before = bundled.model, bundled.model.config._attn_implementation
    try:
        model.set_attn_implementation("eager")
        with torch.inference_mode():
            maps = model(torch.tensor([inside.ids()]), output_attentions=True).attentions
    finally:
        model.set_attn_implementation(before)
    true = maps[5][0, 4, at]
    rows = panel.locator(".attention-row tbody tr")
    assert rows.count() == at + 1
    told = panel.locator(".attention-row tbody td:last-child").all_inner_texts()
    for place in range(at + 1):
        assert told[place] in shown_percent(float(true[place])), place
    assert panel.locator(".attention-row tfoot td").last.inner_text() == "100%"


def test_the_lens_ends_at_the_models_own_output(inside: Inside, bundled: Loaded) -> None:
    panel = inside.ready("lens", SLOW)
    assert plotted(inside, "lens") == 1
    at = inside.position()
    ids = inside.ids()
    with torch.inference_mode():
        probs = torch.softmax(bundled.model(torch.tensor([ids[:at]])).logits[0, -1], -1)
    panel.locator("summary", has_text="As numbers").click()
    rows = panel.locator(".lens-rows tbody tr")
    assert rows.count() == bundled.model.config.num_hidden_layers + 1
    cells = rows.first.locator("td").all_inner_texts()  # the last block stands at the top
    assert rows.first.get_attribute("data-layer") == str(bundled.model.config.num_hidden_layers)
    best = float(probs.max())
    assert cells[0].split()[1] in shown_percent(best)
    assert cells[1] in shown_percent(float(probs[ids[at]]))
    assert number(cells[2]) == int((probs > probs[ids[at]]).sum()) + 1
    assert number(cells[4]) == 0
    assert float(panel.locator(".foot b").inner_text().replace("−", "-")) < 1e-4


def test_which_tokens_mattered(inside: Inside, bundled: Loaded) -> None:
    panel = inside.ready("influence", SLOW)
    at = inside.position()
    ids = torch.tensor([inside.ids()[: at + 1]])
    embedded = bundled.model.get_input_embeddings()(ids[:, :at]).detach().requires_grad_(True)
    logits = bundled.model(inputs_embeds=embedded).logits[0, -1]
    torch.log_softmax(logits.float(), dim=-1)[ids[0, at]].backward()
    true = (embedded.grad * embedded).sum(-1)[0].detach()
    bundled.model.zero_grad(set_to_none=True)
    rows = panel.locator(".influence-rows tbody tr")
    for place, position in enumerate(true.abs().topk(5).indices.tolist()):
        assert rows.nth(place).get_attribute("data-from") == str(position)
        told = number(rows.nth(place).locator("td").last.inner_text())
        assert told == pytest.approx(float(true[position]), abs=0.002)
    assert inside.page.locator("#inside-strip .tinted").count() > 5
    panel.get_by_text("Attention rollout").click()
    inside.page.wait_for_selector("#inside .painted:has-text('share of what was read')", timeout=SLOW)
    inside.wait("influence", SLOW)
    panel.get_by_text("By message").click()
    shares = panel.locator(".influence-rows tbody td:last-child").all_inner_texts()
    assert sum(map(number, shares)) == pytest.approx(100, abs=0.3)


def test_integrated_gradients_say_their_gap(inside: Inside) -> None:
    panel = inside.ready("influence", SLOW)
    inside.select(inside.count(".prompt"))  # the first of the answer: fewer positions, a quicker look
    inside.wait("influence", SLOW)
    panel.get_by_text("Integrated gradients").click()
    panel.locator(".wait", has_text="32 passes").wait_for()
    panel.locator(".facts b", has_text="32").wait_for(timeout=SLOW)
    total, summed, gap = (number(text.removesuffix(" nats")) for text in
                          panel.locator(".facts b").all_inner_texts()[:3])  # fmt: skip
    assert total - summed == pytest.approx(gap, abs=0.002)


def test_the_cache_in_bytes(inside: Inside, bundled: Loaded) -> None:
    panel = inside.ready("cache", SLOW)
    assert plotted(inside, "cache") == 1
    config = bundled.model.config
    each = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
    assert f"{each:,} bytes" in panel.inner_text()
    held = panel.locator(".cache-parts tbody td:nth-child(3)").all_inner_texts()
    assert sum(map(number, held)) == inside.position()


def test_looking_leaves_the_run_as_it_was(visit: Open, app: Running) -> None:
    """B47: the same greedy run before and after every section was opened."""
    page = visit(app.url)
    page.page.get_by_text("greedy", exact=True).click()
    page.type("prompt", "Name a colour.")
    page.set("max-tokens", 12)

    def written() -> list[str]:
        page.run()
        return page.page.locator("#strip .lane .token").evaluate_all(
            "(all) => all.map((chip) => chip.dataset.id + ' ' + chip.getAttribute('aria-label'))"
        )

    before = written()
    inside = Inside(page)
    for section in SECTIONS:
        inside.ready(section, SLOW)
    page.page.get_by_role("tab", name="Playground").click()
    assert written() == before
