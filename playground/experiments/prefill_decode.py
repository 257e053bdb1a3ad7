"""Lab prefill-decode: how fast a prompt is read, and how fast an answer is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playground.experiments.lab import Lab, Progress, option
from playground.experiments.timing import Timing, answers_fitting, fitting, left_out, timed
from playground.findings.report import Axis, Block, Chart, Column, Say, Series, Table, say, strong
from playground.findings.written import counted, times, written

if TYPE_CHECKING:
    from playground.experiments.bench import Bench

WRITTEN = 6  # tokens of the answers to prompts of each length; five of them are timed


@dataclass(frozen=True)
class Options:
    lengths: tuple[int, ...] = option(
        (32, 128, 512), "prompt lengths", low=2, high=8192, most=6, hint="in tokens"
    )
    answers: tuple[int, ...] = option((8, 32), "answer lengths", low=2, high=500, most=5, hint="in tokens")
    repeats: int = option(3, "runs of each", low=1, high=9, hint="their median counts")


@dataclass(frozen=True)
class PrefillDecode:
    weights: int  # bytes that a pass reads at most: all of the model's
    prompts: tuple[Timing, ...]  # by prompt length
    answers: tuple[Timing, ...]  # by answer length, after the shortest of those prompts
    prompts_left_out: tuple[int, ...]
    answers_left_out: tuple[int, ...]


def measure(bench: Bench, options: Options) -> Iterator[Progress | PrefillDecode]:
    fits = fitting(bench, options.lengths, WRITTEN)
    sizes = answers_fitting(bench, options.answers, fits[0])
    prompts: list[Timing] = []
    answers: list[Timing] = []

    def found() -> PrefillDecode:
        return PrefillDecode(
            sum(each.numel() * each.element_size() for each in bench.engine.model.parameters()),
            tuple(prompts),
            tuple(answers),
            tuple(length for length in options.lengths if length not in fits),
            tuple(tokens for tokens in options.answers if tokens not in sizes),
        )

    yield from timed(bench, fits[0], WRITTEN, 1, 0, 0, "Warming up")
    for number, length in enumerate(fits):
        at, to = 0.6 * number / len(fits), 0.6 * (number + 1) / len(fits)
        told = f"A prompt of {length:,} tokens"
        prompts.append((yield from timed(bench, length, WRITTEN, options.repeats, at, to, told)))
        yield found()
    for number, tokens in enumerate(sizes):
        at, to = 0.6 + 0.4 * number / len(sizes), 0.6 + 0.4 * (number + 1) / len(sizes)
        told = f"An answer of {tokens:,} tokens"
        answers.append((yield from timed(bench, fits[0], tokens, options.repeats, at, to, told)))
        yield found()


# -- report ---------------------------------------------------------------------------------------------


def report(found: PrefillDecode) -> tuple[Block, ...]:
    blocks: list[Block] = [_speeds(found.prompts[-1]), _why(found)]
    if len(found.answers) > 1:
        blocks.append(_whole(found.answers))
    blocks.append(_pace_chart(found))
    blocks.append(_first_chart(found.prompts))
    if found.answers:
        blocks.append(_whole_chart(found.answers))
    return (*blocks, _table(found))


def _speeds(longest: Timing) -> Say:
    return say(
        f"A prompt of {counted(longest.prompt, 'token')} is read at ",
        strong(f"{written(longest.read_tps, 'per_s')} tokens/s"),
        " and answered at ",
        strong(f"{written(longest.write_tps, 'per_s')} tokens/s"),
        f": reading is {times(longest.read_tps / longest.write_tps)} as fast as writing.",
    )


def _why(found: PrefillDecode) -> Say:
    longest = found.prompts[-1]
    wide = longest.prompt / longest.read_passes  # tokens that a pass reads, on average
    cost = longest.read_s / longest.read_passes / longest.step_s
    start = (
        f"It took {longest.read_passes:,} {'pass' if longest.read_passes == 1 else 'passes'}; one with "
        f"{wide:,.0f} tokens takes {times(cost)} as long as a step with one"
    )
    if cost < wide:
        size = written(found.weights, "bytes")
        return say(
            f"{start}: a pass needs all weights ({size}) however many tokens it holds. A prompt shares that "
            "among its tokens; an answer pays it again for each, since a token must be known before the next."
        )
    return say(
        f"{start}: here a pass costs in proportion to its tokens, and reading them together saves nothing."
    )


def _whole(answers: tuple[Timing, ...]) -> Say:
    short, long = answers[0], answers[-1]
    return say(
        f"An answer of {counted(long.answer, 'token')} took ",
        strong(written(long.whole_s, "seconds")),
        f" and one of {short.answer:,} took {written(short.whole_s, 'seconds')}: each further token added "
        f"{written((long.whole_s - short.whole_s) / (long.answer - short.answer), 'seconds')}.",
    )


def _pace_chart(found: PrefillDecode) -> Chart:
    x = tuple(float(each.prompt) for each in found.prompts)
    return Chart(
        "Reading and writing",
        "lines",
        Axis("tokens of the prompt", "count"),
        Axis("tokens/s", "per_s"),
        (
            Series("reading", x, tuple(each.read_tps for each in found.prompts)),
            Series("writing", x, tuple(each.write_tps for each in found.prompts), "choice"),
        ),
        left_out(found.prompts_left_out, found.answers_left_out),
    )


def _first_chart(prompts: tuple[Timing, ...]) -> Chart:
    return Chart(
        "Time to first token",
        "lines",
        Axis("tokens of the prompt", "count"),
        Axis("request to first token", "seconds"),
        (Series("first token", tuple(float(e.prompt) for e in prompts), tuple(e.first_s for e in prompts)),),
    )


def _whole_chart(answers: tuple[Timing, ...]) -> Chart:
    x = tuple(float(each.answer) for each in answers)
    return Chart(
        "Time of the whole",
        "lines",
        Axis("tokens of the answer", "count"),
        Axis("request to last token", "seconds"),
        (Series("whole", x, tuple(each.whole_s for each in answers), "choice"),),
        f"After a prompt of {counted(answers[0].prompt, 'token')}.",
    )


def _table(found: PrefillDecode) -> Table:
    columns = (
        Column("prompt", "count"),
        Column("answer", "count"),
        Column("passes, reading", "count"),
        Column("passes, writing", "count"),
        Column("reading, tokens/s", "per_s"),
        Column("writing, tokens/s", "per_s"),
        Column("first token", "seconds"),
        Column("whole", "seconds"),
    )
    rows = tuple(
        (
            each.prompt, each.answer, each.read_passes, each.write_passes, each.read_tps, each.write_tps,
            each.first_s, each.whole_s,
        )
        for each in (*found.prompts, *found.answers)
    )  # fmt: skip
    note = "The first token of an answer comes from the last pass over the prompt and has no pass of its own."
    return Table("All runs", columns, rows, note)


PREFILL_DECODE = Lab(
    "prefill-decode",
    "Reading and writing",
    "How fast does the model read a prompt, and how fast does it write an answer?",
    (
        "Plain English of each length is read anew and answered with the likeliest tokens, past end tokens.",
        "After a run that does not count, medians of several runs are taken.",
        "Writing speed is that of the tokens after the first.",
    ),
    (
        "Times are this machine's, with whatever else it does.",
        "Reading includes scoring each token of the prompt, and a long prompt is read in several passes.",
        "On a machine with more room to compute, reading gains more on writing.",
    ),
    Options,
    measure,
    report,
)
