"""How long a step's numbers take: `python -m tests.bench.sampling`.

One JSON object a line, for 49,152 logits on one thread: distribution, draw and full record with the top 20,
as milliseconds of processor time per step (median). A sort of such a row, as `generate` does for top-p, is
timed beside them.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from playground.engine.record import step_numbers
from playground.params import SamplingParams
from playground.sampling import decide, dice, distribution
from playground.text.tokens import Vocabulary
from tests.fakes import byte_tokenizer

VOCABULARY, STEPS = 49_152, 200
AIM_MS = 1.5
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "greedy": {"temperature": 0},
    "temperature 0.8, top_p 0.95": {"temperature": 0.8, "top_p": 0.95},
    "top_k 50": {"top_k": 50},
    "min_p 0.05": {"min_p": 0.05},
    "typical_p 0.9": {"typical_p": 0.9},
    "repetition_penalty 1.2": {"repetition_penalty": 1.2},
}


def milliseconds(work: Callable[[int], object]) -> float:
    """Median processor time of a call."""
    times = []
    for step in range(STEPS):
        started = time.thread_time()
        work(step)
        times.append(time.thread_time() - started)
    return 1000 * statistics.median(times)


def main() -> None:
    torch.set_num_threads(1)
    # A few likely tokens over a wide, low crowd, as a language model's rows are.
    noise = torch.randn(16, VOCABULARY, generator=torch.Generator().manual_seed(0))
    rows = noise * 2 + torch.where(noise > 3, 3 * noise, 0.0)
    vocabulary = Vocabulary(byte_tokenizer(), VOCABULARY)
    for name, chosen in SETTINGS.items():
        params = SamplingParams(**chosen)

        def work(step: int, params: SamplingParams = params) -> object:
            made = distribution(
                rows[step % len(rows)], params, prompt_ids=range(300), answer_ids=range(50), end_ids=(0, 2)
            )
            return step_numbers(made, decide(made, dice(1, step)), vocabulary, top_n=20, end_ids=(0, 2))

        value = milliseconds(work)
        ok = value <= AIM_MS
        print(
            json.dumps({"name": f"step, {name}", "value": round(value, 3), "aim": f"≤ {AIM_MS} ms", "ok": ok})
        )
    value = milliseconds(lambda step: torch.sort(rows[step % len(rows)]))
    print(json.dumps({"name": "one torch.sort", "value": round(value, 3), "aim": None, "ok": True}))


if __name__ == "__main__":
    main()
