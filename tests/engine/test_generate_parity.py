"""The stages on the bundled model's own logits, against what `model.generate` made of them, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from playground.engine.models import Loaded
from playground.params import SamplingParams
from playground.sampling import distribution
from tests.sampling.processors import processed

pytestmark = [pytest.mark.model, pytest.mark.slow]

TOKENS = 12
PADDING = 0
PROMPTS = [
    "The capital of France is",
    "Say hi 👋🏽👩‍👩‍👧 and then",
    "从前有一个小村庄，",
    "كان يا ما كان في قديم الزمان",
    "def fibonacci(n):\n    if n < 2:\n",
    "The English alphabet is: A, B, C,",
    "1 + 1 = 2\n2 + 2 =",
    "<html>\n<body>\n<p>",
    "Once upon a time, in a land far, far away, once upon a time,",
    "Привет! Как дела?",
]
BIAS = {198: 3.0, 28: -2.5, 260: 1.25}
BANNED = (253, 284, 2)

# Our settings, and generate's names for them where they differ.
SETTINGS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"temperature": 0.7}, {}),
    ({"top_k": 50}, {}),
    ({"top_p": 0.9}, {}),
    ({"min_p": 0.05}, {}),
    ({"typical_p": 0.9}, {}),
    ({"temperature": 0.8, "top_p": 0.95, "repetition_penalty": 1.2}, {}),
    ({"temperature": 1.3, "top_k": 200, "top_p": 0.95, "min_p": 0.02, "typical_p": 0.95}, {}),
    (
        {"logit_bias": BIAS, "banned": BANNED, "min_tokens": 5, "temperature": 1.5},
        {"sequence_bias": {(token,): bias for token, bias in BIAS.items()}, "suppress_tokens": list(BANNED),
         "min_new_tokens": 5},
    ),
    ({"temperature": 0, "repetition_penalty": 1.3}, {"do_sample": False, "temperature": 1.0}),
]  # fmt: skip
OURS_ONLY = ("logit_bias", "banned", "min_tokens")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """On a busy machine of two cores torch's threads wait for each other ten times as long as they work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_generate_agrees_step_by_step(bundled: Loaded, number: int) -> None:
    ours, theirs = SETTINGS[number]
    params, end_ids = SamplingParams(**ours), bundled.info.end_ids
    shared = {name: value for name, value in ours.items() if name not in OURS_ONLY}
    arguments = {"do_sample": True, "top_k": 0, **shared, **theirs}
    # All prompts in one batch, to the left of which generate sees, and penalises, padding: so do we here.
    prompts = [bundled.tokenizer(text).input_ids for text in PROMPTS]
    width = max(map(len, prompts))
    padded = [[PADDING] * (width - len(ids)) + ids for ids in prompts]
    mask = [[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts]
    with torch.random.fork_rng(), torch.inference_mode():
        torch.manual_seed(number)
        made = bundled.model.generate(
            torch.tensor(padded), attention_mask=torch.tensor(mask), **arguments, max_new_tokens=TOKENS,
            eos_token_id=list(end_ids), pad_token_id=PADDING, output_logits=True, output_scores=True,
            return_dict_in_generate=True,
        )  # fmt: skip
    disputed = steps = 0
    for lane, prompt_ids in enumerate(padded):
        answer = made.sequences[lane, width:].tolist()
        length = next((index + 1 for index, token in enumerate(answer) if token in end_ids), len(answer))
        for step in range(length):
            where = {"prompt_ids": prompt_ids, "answer_ids": answer[:step], "end_ids": end_ids}
            logits, scores = made.logits[step][lane], made.scores[step][lane]
            final = distribution(logits, params, **where).final
            if params.temperature == 0:
                assert final[answer[step]] == 1
            else:
                same = compare(final, scores.double().softmax(-1).numpy())
                # Where they differ, the threshold must lie within the rounding of generate's float32 sums.
                assert same or processed(logits, params, **where)[1] < 1e-5
                disputed += not same
            steps += 1
    assert steps > 60
    assert disputed <= 0.03 * steps, (disputed, steps)


def compare(final: np.ndarray, expected: np.ndarray) -> bool:
    """Whether both kept the same tokens; the probabilities must agree but for those only one of them kept."""
    differ = np.flatnonzero((final > 0) != (expected > 0))
    assert len(differ) <= 5
    in_dispute = float((final + expected)[differ].sum())
    assert np.abs(np.delete(final - expected, differ)).max() < 1e-6 + in_dispute
    return not len(differ)
