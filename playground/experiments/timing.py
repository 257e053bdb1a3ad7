"""Timed runs: what a lab about pace takes from the traces of one lane."""

from __future__ import annotations

import statistics
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playground.experiments.lab import Progress
from playground.params import SamplingParams

if TYPE_CHECKING:
    from playground.engine.local import LocalEngine
    from playground.experiments.bench import Bench
    from playground.trace import Finished, TokenStep


@dataclass(frozen=True)
class Timing:
    """Medians over some equal runs of one lane. The first token comes from the last pass over the prompt."""

    prompt: int  # tokens
    answer: int  # tokens
    read_passes: int
    write_passes: int
    read_s: float  # all passes over the prompt
    step_s: float  # one later token, from the end of the token before
    first_s: float  # request to first token
    whole_s: float  # request to last token

    @property
    def read_tps(self) -> float:
        return self.prompt / self.read_s

    @property
    def write_tps(self) -> float:
        return 1 / self.step_s


def timed(
    bench: Bench,
    length: int,
    tokens: int,
    repeats: int,
    at: float,
    to: float,
    text: str,
    engine: LocalEngine | None = None,
) -> Generator[Progress, None, Timing]:
    """`repeats` runs of a prompt of `length` tokens, each read anew, answered with `tokens` (2 or more)."""
    prompt, params = bench.filled(length), greedy(tokens)
    ends: list[Finished] = []
    steps: list[TokenStep] = []
    for number in range(repeats):
        start, stop = (at + (to - at) * (number + part) / repeats for part in (0, 1))
        (trace,) = yield from bench.lanes(prompt, [params], start, stop, text, engine=engine, reuse=False)
        ends.append(trace.finished)
        steps.extend(trace.steps[1:])
    whole = [(end.ttft_s or 0) + (end.tpot_s or 0) * (tokens - 1) for end in ends]
    return Timing(
        length,
        tokens,
        ends[0].passes - (tokens - 1),
        tokens - 1,
        statistics.median(end.prefill_s for end in ends),
        statistics.median(step_s(step) for step in steps),
        statistics.median(end.ttft_s or 0 for end in ends),
        statistics.median(whole),
    )


def step_s(step: TokenStep) -> float:
    """From the token before to this one: waiting for other lanes, the pass, and the choice."""
    return step.queue_s + step.forward_s + step.sample_s


def greedy(tokens: int) -> SamplingParams:
    """The likeliest token each time, exactly `tokens` of them."""
    return SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True, seed=0)


def fitting(bench: Bench, lengths: Sequence[int], tokens: int) -> tuple[int, ...]:
    """The lengths of a prompt that leave room for `tokens` more; the longest that does if none of them fits.

    Raises ValueError where not even two tokens fit.
    """
    most = min(bench.room - tokens, bench.most_prompt)
    if most < 2:
        raise ValueError(f"there is room for {max(0, most)} tokens of a prompt here, and this needs 2")
    return tuple(length for length in lengths if length <= most) or (most,)


def answers_fitting(bench: Bench, answers: Sequence[int], prompt: int) -> tuple[int, ...]:
    """The lengths of an answer for which a prompt of `prompt` tokens leaves room; there may be none."""
    most = min(bench.room - prompt, bench.most_new)
    return tuple(tokens for tokens in answers if tokens <= most)


def left_out(prompts: Sequence[int], answers: Sequence[int]) -> str:
    """A note on what did not fit; empty if all did."""
    told = [
        f"{what} of {', '.join(f'{each:,}' for each in sizes)} tokens"
        for what, sizes in (("prompts", prompts), ("answers", answers))
        if sizes
    ]
    return f"Left out, since there is no room for them here: {' and '.join(told)}." if told else ""
