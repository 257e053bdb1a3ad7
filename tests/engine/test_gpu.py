"""The engine on an accelerator. Skipped where there is none; random weights, since no file can be carried."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from playground.trace import SamplingParams, TokenStep
from tests import fakes
from tests.engines import check_trace, engine_of, prompt_of

pytestmark = pytest.mark.gpu

PROMPT = prompt_of([72, 101, 108, 108, 111])
FREE = SamplingParams(max_tokens=40, ignore_eos=True, seed=1)


@pytest.mark.parametrize("make", [fakes.tiny_llama, fakes.tiny_gemma3, fakes.tiny_gpt2, fakes.tiny_mistral])
def test_the_same_as_on_the_cpu(make: object) -> None:
    """In float32 the accelerator gives the CPU's ids, with the cache and without."""
    runs = []
    for device in ("cpu", "cuda"):
        with engine_of(make().to(device)) as engine:
            runs.append(check_trace(engine.run(PROMPT, FREE)))
            runs.append(check_trace(engine.run(PROMPT, FREE, cache=False)))
    assert len({run.answer_ids for run in runs}) == 1
    for one, other in zip(runs[0].steps, runs[2].steps, strict=True):
        assert one.prob == pytest.approx(other.prob, abs=1e-4)


def test_lanes_equal_their_solo_runs() -> None:
    with engine_of(fakes.tiny_llama().cuda()) as engine:
        settings = [replace(FREE, seed=seed, max_tokens=10 + 7 * seed) for seed in range(5)]
        solo = [engine.run(PROMPT, lane, reuse=False).answer_ids for lane in settings]
        made: dict[int, tuple[int, ...]] = {}
        for event in engine.stream(PROMPT, settings):
            if isinstance(event, TokenStep):
                made[event.lane] = (*made.get(event.lane, ()), event.token_id)
        assert [made[lane] for lane in range(5)] == solo


def test_b51_out_of_memory_gives_the_memory_back() -> None:
    model = fakes.scripted([5, 6, 7, 8], prompt_length=5).cuda()
    with engine_of(model) as engine:
        engine.run(PROMPT, FREE)
        torch.cuda.synchronize()
        level = torch.cuda.memory_allocated()
        forward, calls = model.forward, []

        def greedy_for_memory(*args: object, **options: object) -> object:
            calls.append(1)
            if len(calls) == 4:
                torch.empty(2**50, dtype=torch.uint8, device="cuda")  # a petabyte: really too much
            return forward(*args, **options)

        model.forward = greedy_for_memory
        failed = engine.run(PROMPT, FREE, reuse=False)
        model.forward = forward
        assert failed.finished.reason == "error"
        assert len(failed.steps) == 3
        again = engine.run(PROMPT, FREE)
        assert again.finished.reason == "max_tokens"
        assert torch.cuda.memory_allocated() <= level + 2**20
