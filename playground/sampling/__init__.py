"""From a row of logits to a token: first the probabilities, then the draw. Pure functions.

    row = distribution(logits, params, prompt_ids=…, answer_ids=…, end_ids=…)
    decision = decide(row, dice(seed, step))

The stages and their order are in `stages.STAGES`. The arithmetic is float64 on the CPU wherever the logits
lie: in float32 the small intervals of a large vocabulary's bar come out empty, not every device has float64,
and so the same logits give the same token everywhere.
"""

from playground.sampling.dice import dice
from playground.sampling.distributions import Decision, Distribution, decide, distribution, forced, row_scores
from playground.sampling.divergence import kl, lost
from playground.sampling.row import NanLogits, NoTokenLeft, SamplingError
from playground.sampling.stages import STAGES

__all__ = [
    "STAGES",
    "Decision",
    "Distribution",
    "NanLogits",
    "NoTokenLeft",
    "SamplingError",
    "decide",
    "dice",
    "distribution",
    "forced",
    "kl",
    "lost",
    "row_scores",
]
