"""Lab context against attention and probabilities that transformers computes, and the engine's own limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.experiments.bench import Bench
from playground.experiments.context import CONTEXT, Chance, Context, Options, measure, report
from playground.experiments.history import TURNS, conversation, places, way_of
from playground.experiments.lab import Progress, run_lab
from playground.findings.report import Block, LabResult, Say
from playground.params import SamplingParams
from tests.engines import engine_of
from tests.fakes import CHATML, byte_tokenizer, loaded, tiny_gemma3, tiny_llama, tiny_mamba

INSTRUCTION, WORD, QUESTION = "Always say Zebra.", "Zebra", "Why?"
ASKED = Options(
    instruction="Always say {word}.", word=WORD, question=QUESTION, turns=(0, 1, 2), tokens=4, seconds=600
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHATML
DROPS_SYSTEM = CHATML.replace(
    "for message in messages", "for message in messages if message.role != 'system'"
)

Make = Callable[[], Any]
MAKES: dict[str, Make] = {
    "a llama": lambda: tiny_llama(positions=1024),
    "windows that slide": lambda: tiny_gemma3(positions=1024, window=64),
}


@pytest.fixture(params=MAKES)
def case(request: pytest.FixtureRequest) -> Iterator[tuple[LocalEngine, Any]]:
    """An engine, and another copy of its model whose attention is transformers' plain form."""
    plain = MAKES[request.param]()
    plain.set_attn_implementation("eager")
    engine = LocalEngine(loaded(MAKES[request.param]()))
    yield engine, plain
    engine.close()


def results(engine: LocalEngine, options: Options = ASKED, **bounds: int) -> list[Context]:
    events = run_lab(CONTEXT, Bench(engine, **bounds), options)
    return [event.found for event in events if isinstance(event, LabResult)]


def chatml(turns: int, *, system: bool, opening: str = "", first: str = "") -> list[int]:
    """The prompt as the template would be read out loud, and its bytes with the control tokens."""
    said = [("system", INSTRUCTION)] if system else []
    for asked, answered in TURNS[:turns]:
        said += [("user", asked), ("assistant", opening + answered)]
    said.append(("user", QUESTION))
    if first:
        place = 1 if system else 0
        said[place] = (said[place][0], first + said[place][1])
    ids: list[int] = []
    for role, text in said:
        ids += [256, *f"{role}\n{text}".encode(), 257, 10]
    return [*ids, 256, *b"assistant\n"]


def rows(model: Any, ids: list[int]) -> tuple[torch.Tensor, np.ndarray]:
    """Log-probabilities (vocab,) after `ids`, and (layers, heads, length) weights of the last position."""
    with torch.no_grad():
        output = model(torch.tensor([ids]), use_cache=False, output_attentions=True)
    weights = torch.cat(output.attentions)[:, :, -1].double().numpy()
    return output.logits[0, -1].double().log_softmax(-1), weights


def check_chance(found: Chance, logprobs: torch.Tensor, ids: list[int]) -> None:
    wanted = float(logprobs[WORD.encode()[0]])
    prob = math.exp(wanted)
    assert found.prompt == len(ids)
    assert found.logprob == pytest.approx(wanted, abs=1e-4)
    assert found.log_odds == pytest.approx(math.log(prob / (1 - prob)), abs=1e-4)
    assert found.rank == 1 + int((logprobs > wanted).sum())


@pytest.mark.parametrize("obeyed", [False, True])
def test_chances_are_the_models_with_the_instruction_and_without(
    case: tuple[LocalEngine, Any], obeyed: bool
) -> None:
    engine, plain = case
    found = results(engine, replace(ASKED, obeyed=obeyed))[-1]
    opening = "Zebra " if obeyed else ""
    assert found.way == "system message"
    assert (found.token, found.first) == ("Z", "<|im_start|>")
    assert [each.turns for each in found.cases] == [0, 1, 2]
    for each in found.cases:
        for chance, system in ((each.told, True), (each.untold, False)):
            ids = chatml(each.turns, system=system, opening=opening)
            check_chance(chance, rows(plain, ids)[0], ids)


def test_attention_is_that_of_the_plain_form(case: tuple[LocalEngine, Any]) -> None:
    engine, plain = case
    found = results(engine)[-1]
    blind = []
    for each in found.cases:
        ids = chatml(each.turns, system=True)
        start = 1 + len(b"system\n")  # after <|im_start|>
        end = start + len(INSTRUCTION.encode())
        _, weights = rows(plain, ids)
        mass = weights[:, :, start:end].sum(-1)
        assert each.look is not None
        assert each.instruction == end - start
        np.testing.assert_allclose(each.look.instruction, mass.mean(-1), atol=1e-5)
        np.testing.assert_allclose(each.look.first, weights[:, :, 0].mean(-1), atol=1e-5)
        layer, head, most = each.look.head
        assert most == pytest.approx(mass.max(), abs=1e-5)
        assert mass[layer, head] == pytest.approx(mass.max(), abs=1e-5)
        assert each.look.blind == int((mass == 0).all(-1).sum())
        blind.append(each.look.blind)
    slides = any(engine.inside.shape().windows) if engine.inside else False
    assert blind == ([0, 4, 4] if slides else [0, 0, 0])
    assert ("windows of 4 of 6 layers" in told(report(found))) == slides


@pytest.mark.parametrize(("more", "blind"), [(0, 4), (1, 0)])
def test_a_window_that_just_reaches_the_instruction(more: int, blind: int) -> None:
    """One that sees the position after the instruction's last token, and one that sees that as well."""
    ids = chatml(0, system=True)
    after = len(ids) - (1 + len(b"system\n") + len(INSTRUCTION))  # positions from there to the end
    engine = LocalEngine(loaded(tiny_gemma3(positions=1024, window=after + more)))
    try:
        look = results(engine, replace(ASKED, turns=(0,), seconds=0))[-1].cases[0].look
        assert look is not None
        assert look.blind == blind
        assert sum(mass == 0 for mass in look.instruction) == blind
    finally:
        engine.close()


def test_the_likeliest_answer_and_whether_it_obeys(case: tuple[LocalEngine, Any]) -> None:
    engine, plain = case
    ids = chatml(0, system=True)
    made: list[int] = []
    for _ in range(4):
        made.append(int(rows(plain, [*ids, *made])[0].argmax()))
    text = bytes(made).decode(errors="replace").strip()
    for word, obeyed in ((text[:2], True), ("Zebra", False)):
        options = replace(ASKED, instruction=INSTRUCTION, word=word, turns=(0,), seconds=0)
        found = results(engine, options)[-1].cases[0]
        assert (found.text, found.obeyed) == (text, obeyed)


def test_the_end_of_the_context_is_really_met(case: tuple[LocalEngine, Any]) -> None:
    engine, _ = case
    limit = results(engine, replace(ASKED, turns=(0,)))[-1].limit
    assert (limit.context, limit.most_prompt, limit.most_new, limit.not_filled) == (1024, None, None, "")
    full, last, cut = limit.tries
    assert (full.prompt, full.answer, full.reason) == (1024, None, "refused")
    with pytest.raises(ValueError) as refusal:  # the sentence is compared below
        engine.stream(Bench(engine).filled(1024), SamplingParams(max_tokens=1))
    assert full.told == str(refusal.value)
    assert (last.prompt, last.asked, last.answer, last.reason) == (1023, 8, 1, "context_full")
    assert (cut.prompt, cut.asked, cut.answer, cut.reason) == (1016, 16, 8, "context_full")


def test_a_long_context_is_filled_in_steps() -> None:
    engine = LocalEngine(loaded(tiny_llama(positions=3000)))
    try:
        events = list(measure(Bench(engine), replace(ASKED, turns=(0,))))
        steps = [each.text for each in events if isinstance(each, Progress) and "Filling" in each.text]
        assert list(dict.fromkeys(steps)) == [f"Filling: {each} tokens" for each in ("256", "1,024", "2,048")]
        found = events[-1]
        assert isinstance(found, Context)
        assert [each.answer for each in found.limit.tries] == [None, 1, 8]
    finally:
        engine.close()


def test_what_would_take_too_long_is_not_filled(case: tuple[LocalEngine, Any]) -> None:
    engine, _ = case
    limit = results(engine, replace(ASKED, turns=(0,), seconds=0))[-1].limit
    assert len(limit.tries) == 1
    assert limit.not_filled.endswith("; 0 s are allowed.")


def test_a_servers_limits_come_first(case: tuple[LocalEngine, Any]) -> None:
    engine, _ = case
    found = results(engine, most_prompt=200, most_new=16)[-1]
    assert [each.turns for each in found.cases] == [0]
    assert any("histories of 1, 2 turns" in note for note in found.notes)
    assert found.limit.tries[0].told.startswith("this needs a prompt of 1,024 tokens, and 200 are the limit")
    assert "this server's own limits come before" in found.limit.not_filled
    assert "takes prompts of 200, so its own limit comes first" in told(report(found))


@pytest.mark.parametrize("template", [NO_SYSTEM, DROPS_SYSTEM])
def test_where_the_template_has_no_system_message_the_first_user_message_opens_with_it(template: str) -> None:
    made = loaded(tiny_llama(positions=1024), byte_tokenizer(template))
    plain = tiny_llama(positions=1024)
    plain.set_attn_implementation("eager")
    engine = LocalEngine(made)
    try:
        found = results(engine)[-1]
        assert found.way == "first user message"
        assert "template has none" in " ".join(found.notes)
        for each in found.cases:
            ids = chatml(each.turns, system=False, first=f"{INSTRUCTION}\n\n")
            logprobs, weights = rows(plain, ids)
            check_chance(each.told, logprobs, ids)
            start = 1 + len(b"user\n")
            mass = weights[:, :, start : start + len(INSTRUCTION)].sum(-1).mean(-1)
            assert each.look is not None
            np.testing.assert_allclose(each.look.instruction, mass, atol=1e-5)
    finally:
        engine.close()


def test_without_a_template_it_is_the_first_line_of_a_text() -> None:
    engine = LocalEngine(loaded(tiny_llama(positions=1024), byte_tokenizer(None)))
    plain = tiny_llama(positions=1024)
    plain.set_attn_implementation("eager")
    try:
        found = results(engine)[-1]
        assert found.way == "start of the text"
        assert "no chat template" in " ".join(found.notes)
        for each in found.cases:
            lines = [text for turn in TURNS[: each.turns] for text in turn]
            text = "\n".join([INSTRUCTION, *lines, QUESTION]) + "\n"
            ids = list(engine.raw(text).ids)
            assert bytes(one for one in ids if one < 256).decode() == text
            logprobs, weights = rows(plain, ids)
            check_chance(each.told, logprobs, ids)
            start = len(ids) - len(text.encode())
            mass = weights[:, :, max(1, start) : start + len(INSTRUCTION)].sum(-1).mean(-1)
            assert each.look is not None
            np.testing.assert_allclose(each.look.instruction, mass, atol=1e-5)
    finally:
        engine.close()


def test_in_32_positions_the_end_is_met_and_the_rest_has_no_room() -> None:
    engine = LocalEngine(loaded(tiny_llama(positions=32), byte_tokenizer(None)))
    try:
        found = results(engine, Options(seconds=600))[-1]
        assert not found.cases
        assert "histories of 0, 1, 2, 4, 8 turns" in found.notes[0]
        assert [each.answer for each in found.limit.tries] == [None, 1, 8]
    finally:
        engine.close()


def test_attention_is_looked_at_as_far_as_a_look_reaches(case: tuple[LocalEngine, Any]) -> None:
    engine, _ = case
    found = results(engine, replace(ASKED, turns=(0, 3)))[-1]
    short, long = found.cases
    assert engine.inside is not None
    assert short.look is not None
    assert long.told.prompt > engine.inside.most
    assert long.look is None
    assert any("up to 512 tokens" in note for note in found.notes)


def test_a_model_without_attention_or_a_stated_end() -> None:
    with engine_of(tiny_mamba(), context=None) as engine:
        found = results(engine, replace(ASKED, turns=(0,)))[-1]
        assert found.limit.context is None
        assert not found.limit.tries
        assert found.cases[0].look is None
        assert any(note.startswith("Not available here: this model (mamba)") for note in found.notes)
        assert "states no end of its context" in told(report(found))


def test_a_cache_that_cannot_be_taken_up_again_is_filled_at_once() -> None:
    with engine_of(tiny_mamba(layers=1), context=2200) as engine:
        events = list(measure(Bench(engine), replace(ASKED, turns=(0,))))
        steps = [each.text for each in events if isinstance(each, Progress) and "Filling" in each.text]
        assert "Filling: 2,048 tokens" not in steps
        assert isinstance(events[-1], Context)
        assert [each.answer for each in events[-1].limit.tries] == [None, 1, 8]


def test_each_partial_finding_can_be_told(case: tuple[LocalEngine, Any]) -> None:
    found = results(case[0])
    assert len(found) >= 5
    assert not found[0].cases
    assert all(isinstance(report(each)[0], Say) for each in found)


def told(blocks: tuple[Block, ...]) -> str:
    return " ".join("".join(part.text for part in block.parts) for block in blocks if isinstance(block, Say))


def test_sentences_follow_the_numbers_whichever_way_they_come_out(case: tuple[LocalEngine, Any]) -> None:
    found = results(case[0])[-1]
    never = Chance(9, None, None, 259)
    sure = Chance(9, math.log(0.5), 0.0, 1)
    half = Chance(9, math.log(0.2), math.log(0.25), 2)
    look = found.cases[0].look
    assert look is not None
    flat = replace(look, first=(1 / 9,) * len(look.first), blind=0)
    sunk = replace(look, first=(0.6,) * len(look.first), blind=0)
    one = replace(found.cases[0], told=sure, untold=half, obeyed=True, look=flat)
    assert "by 4, to a chance of 50.0%. The likeliest answer obeys it." in told(
        report(replace(found, cases=(one,)))
    )
    assert "sink" not in told(report(replace(found, cases=(one,))))
    assert "60.0% of it: an attention sink." in told(report(replace(found, cases=(replace(one, look=sunk),))))
    none = replace(one, turns=1, told=half, untold=sure, obeyed=False)
    text = told(report(replace(found, cases=(one, none))))
    assert "after 1 turn by 0.25, to 20.0%. It raises them in 1 of 2 histories" in text
    assert "obeys in 1. None of the answers in the history obey it." in text
    assert "All of the answers in the history" in told(report(replace(found, cases=(none,), obeyed=True)))
    lost = replace(one, told=never)
    assert "cannot be told" in told(report(replace(found, cases=(lost,))))


def test_the_places_of_an_instruction() -> None:
    engine = LocalEngine(loaded(tiny_llama(positions=1024)))
    try:
        bench = Bench(engine)
        way = way_of(bench, "system", QUESTION)  # a word that the markers have too
        prompt = conversation(bench, way, "system", 1, QUESTION)
        assert places(prompt, "system") == tuple(range(8, 14))
        assert places(prompt, "not in it") == ()
        raw = engine.raw("abc def")
        assert 0 not in places(raw, "abc")
    finally:
        engine.close()


@pytest.mark.model
def test_the_bundled_model(bundled: Loaded) -> None:
    engine = LocalEngine(bundled)
    try:
        found = results(engine, Options(turns=(0, 1), tokens=2, seconds=0))[-1]
        first = found.cases[0]
        messages = [
            {"role": "system", "content": "Always begin your answer with the word Certainly."},
            {"role": "user", "content": "What is the capital of France?"},
        ]
        ids = bundled.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_dict=True, return_tensors="pt"
        )["input_ids"]
        word = bundled.tokenizer.encode("Certainly", add_special_tokens=False)[0]
        with torch.no_grad():
            wanted = bundled.model(ids).logits[0, -1].double().log_softmax(-1)[word]
        assert first.told.logprob == pytest.approx(float(wanted), abs=1e-3)
        assert first.told.logprob is not None
        assert first.untold.logprob is not None
        assert first.told.logprob > first.untold.logprob + 1  # it has some pull
        assert all(each.look is not None for each in found.cases)
        assert found.own
    finally:
        engine.close()
