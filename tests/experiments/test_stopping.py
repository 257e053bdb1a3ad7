"""Lab stopping against the model's own logits, and its stop string against the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from playground.engine.local import LocalEngine
from playground.experiments.bench import Bench
from playground.experiments.lab import run_lab
from playground.experiments.stopping import STOPPING, Options, Stopping, report
from playground.findings.report import Chart, LabResult, Say
from tests.fakes import Row, byte_tokenizer, loaded, probabilities, scripted, tiny_gemma3, tiny_llama


@pytest.fixture(params=[tiny_llama, tiny_gemma3])
def engine(request: pytest.FixtureRequest) -> Iterator[LocalEngine]:
    made = LocalEngine(loaded(request.param(positions=512)))
    yield made
    made.close()


def results(engine: LocalEngine) -> list[Stopping]:
    options = Options(question="abc", tokens=12, beyond=5)
    return [each.found for each in run_lab(STOPPING, Bench(engine), options) if isinstance(each, LabResult)]


def test_the_chance_of_the_end_is_the_models(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    prompt = list(engine.chat([{"role": "user", "content": "abc"}]).ids)
    for ending in (found.free, found.ignored, found.banned):
        assert ending is not None
        ids = torch.tensor([[*prompt, *ending.answer.ids]])
        with torch.no_grad():
            rows = engine.model(ids).logits[0, len(prompt) - 1 : -1].float().softmax(-1)
        expected = rows[:, list(engine.info.end_ids)].sum(-1)
        assert ending.raw == pytest.approx(expected.tolist(), abs=1e-5)


def test_a_banned_end_never_comes_and_a_cut_is_a_beginning(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    assert found.banned is not None
    assert found.cut is not None
    assert not set(found.banned.answer.ids) & set(engine.info.end_ids)
    assert all(share == 0 for share in found.banned.final)
    assert found.cut.ids == found.free.answer.ids[: found.cut_at]


def test_the_stop_string_crosses_a_border_and_is_never_shown(engine: LocalEngine) -> None:
    found = results(engine)[-1]
    if found.stopped is None:
        assert found.no_string
        return
    stopped = found.stopped
    whole = found.free.answer.text
    assert stopped.answer.reason == "stop_string"
    assert stopped.answer.text == whole[: whole.index(stopped.string)]
    assert "".join(step.shown for step in stopped.steps) == stopped.answer.text
    assert all(stopped.string not in step.arrived for step in stopped.steps)
    assert stopped.decided == len(stopped.steps) - 1


def test_each_partial_finding_can_be_told(engine: LocalEngine) -> None:
    assert all(report(found) for found in results(engine))


END = 257  # of the byte tokenizer: <|im_end|>
# "aéb" and a likely end; where that ends nothing, "cd" comes, where it is banned "xcd".
ROWS: list[Row] = [
    97,
    0xC3,
    0xA9,
    98,
    probabilities({END: 0.8, 120: 0.15}),
    99,
    100,
    *[probabilities({101: 0.6, END: 0.1})] * 40,
]


@pytest.fixture
def ending() -> Iterator[tuple[LocalEngine, list[int]]]:
    """A model whose greedy answer ends at its fifth token, and the ids of the prompt."""
    message = [{"role": "user", "content": "abc"}]
    ids = byte_tokenizer().apply_chat_template(message, add_generation_prompt=True, return_dict=False)
    made = LocalEngine(loaded(scripted(ROWS, prompt_length=len(ids), max_position_embeddings=512)))
    yield made, list(ids)
    made.close()


def test_an_answer_that_ends_and_the_same_without_its_end(ending: tuple[LocalEngine, list[int]]) -> None:
    engine, prompt = ending
    *_, found = results(engine)
    ends = list(engine.info.end_ids)

    def generated(most: int, **settings: object) -> tuple[int, ...]:
        made = engine.model.generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=most, pad_token_id=0, **settings
        )
        return tuple(made[0, len(prompt) :].tolist())

    assert found.ignored is not None
    assert found.banned is not None
    assert found.free.answer.ids == generated(12, eos_token_id=ends)
    assert found.free.answer.ids == (97, 0xC3, 0xA9, 98, END)
    assert found.free.answer.reason == "end_token"
    longer = len(found.free.answer.ids) + 5
    assert found.ignored.answer.ids == generated(longer, eos_token_id=-1)
    assert found.banned.answer.ids == generated(longer, eos_token_id=ends, suppress_tokens=ends)
    assert found.banned.answer.ids[4] == 120
    assert found.free.raw[-1] == pytest.approx(0.8, abs=1e-3)
    assert found.free.final == (0, 0, 0, 0, 1)  # at temperature 0 all or nothing
    assert found.ignored.final[:6] == (0, 0, 0, 0, 1, 0)
    assert found.ignored.raw[-1] == pytest.approx(0.1, abs=1e-3)


def test_what_is_held_back_is_what_the_engine_holds_back(ending: tuple[LocalEngine, list[int]]) -> None:
    engine, _ = ending
    *_, found = results(engine)
    assert found.stopped is not None
    assert found.stopped.string == "éb"
    told = [(step.arrived, step.shown, step.held) for step in found.stopped.steps]
    assert told == [("a", "a", ""), ("", "", ""), ("é", "", "é"), ("b", "", "éb")]
    assert (found.stopped.decided, found.stopped.answer.text) == (3, "a")


def test_the_report_tells_who_ended_it(ending: tuple[LocalEngine, list[int]]) -> None:
    engine, _ = ending
    *_, found = results(engine)
    blocks = report(found)
    said = ["".join(part.text for part in block.parts) for block in blocks if isinstance(block, Say)]
    assert said[0].startswith(
        "The model ended its answer at token 5 with <|im_end|>. There it gave an end 80.0%"
    )
    assert said[1] == (
        "Where an end token ends nothing, the model picked one once and wrote 10 tokens; where it is banned, "
        "10 tokens. The limit stopped both."
    )
    assert "after 1 of the 3 tokens before" in said[2]
    assert sum(isinstance(block, Chart) for block in blocks) == 1


def test_a_stop_string_that_does_not_come_up_again_is_said(ending: tuple[LocalEngine, list[int]]) -> None:
    engine, _ = ending
    *_, found = results(engine)
    assert found.stopped is not None
    gone = replace(found, stopped=replace(found.stopped, decided=None))
    said = ["".join(part.text for part in block.parts) for block in report(gone) if isinstance(block, Say)]
    assert "The stop string éb did not come up again." in said
