"""Lab cost: passes, tokens and price of a question, of a long answer, and of an agent's calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playground.experiments.lab import Lab, Progress, option
from playground.experiments.timing import greedy
from playground.findings.report import Axis, Block, Chart, Column, Series, Table, say, strong
from playground.findings.written import counted, times, written
from playground.params import SamplingParams

if TYPE_CHECKING:
    from playground.experiments.bench import Bench
    from playground.trace import Trace

PER = "per million tokens"
KEPT, ANEW = "agent, prefix kept", "agent, read anew"


@dataclass(frozen=True)
class Options:
    question: str = option("What is the capital of France?", "question", high=400)
    tokens: int = option(80, "tokens of the long answer", low=2, high=500)
    calls: int = option(4, "calls of the agent", low=1, high=12)
    instructions: int = option(200, "tokens of its instructions", low=1, high=4096)
    result: int = option(40, "tokens that a tool returns", low=1, high=500)
    reply: int = option(8, "tokens that the agent writes per call", low=1, high=100)
    input: float = option(1.0, "your price of input", low=0, high=1000, hint=PER)
    cached: float = option(0.1, "your price of cached input", low=0, high=1000, hint=PER)
    output: float = option(4.0, "your price of output", low=0, high=1000, hint=PER)


@dataclass(frozen=True)
class Bill:
    name: str
    calls: int
    passes: int
    read: int  # prompt tokens that went through the model
    reused: int  # prompt tokens whose keys and values were kept
    written: int
    seconds: float  # request to last token, all calls
    price: float


@dataclass(frozen=True)
class Cost:
    bills: tuple[Bill, ...]
    shortened: int | None  # tokens of the agent's instructions where those asked for do not fit


def measure(bench: Bench, options: Options) -> Iterator[Progress | Cost]:
    question = bench.chat(options.question)
    short = SamplingParams(temperature=0, max_tokens=min(24, bench.most_new), seed=0)
    growth = (options.calls - 1) * (options.reply + options.result)
    most = min(bench.room - growth - options.reply, bench.most_prompt - growth)
    if most < 1:
        raise ValueError(f"an agent of {options.calls} calls does not fit here: choose fewer or shorter ones")
    instructions = min(options.instructions, most)
    shortened = instructions if instructions < options.instructions else None
    yield from bench.run(question, greedy(2), 0, 0, "Warming up", owner=f"{bench.owner} warm", reuse=False)
    bills: list[Bill] = []
    for number, (name, params) in enumerate((("question", short), ("long answer", greedy(options.tokens)))):
        at = 0.2 * number
        trace = yield from bench.run(question, params, at, at + 0.2, f"A {name}", reuse=False)
        bills.append(_bill(name, [trace], options))
        yield Cost(tuple(bills), shortened)
    text = bench.filled(instructions + growth).ids
    ids, rest = text[:instructions], text[instructions:]
    kept: list[Trace] = []
    anew: list[Trace] = []
    for call in range(options.calls):
        at, width = 0.4 + 0.6 * call / options.calls, 0.3 / options.calls
        prompt, told = bench.of_ids(ids), f"Call {call + 1} of the agent"
        for number, (traces, owner) in enumerate(((kept, "agent"), (anew, f"call {call}"))):
            start = at + width * number
            trace = yield from bench.run(
                prompt, greedy(options.reply), start, start + width, told, owner=f"{bench.owner} {owner}"
            )
            traces.append(trace)
        ids = (*ids, *kept[-1].answer_ids, *rest[: options.result])
        rest = rest[options.result :]
        yield Cost((*bills, _bill(KEPT, kept, options), _bill(ANEW, anew, options)), shortened)


def _bill(name: str, traces: list[Trace], options: Options) -> Bill:
    ends = [trace.finished for trace in traces]
    reused = sum(end.reused_tokens for end in ends)
    read = sum(end.prompt_tokens for end in ends) - reused
    made = sum(end.answer_tokens for end in ends)
    price = (read * options.input + reused * options.cached + made * options.output) / 1e6
    seconds = sum((end.ttft_s or 0) + (end.tpot_s or 0) * (end.answer_tokens - 1) for end in ends)
    return Bill(name, len(ends), sum(end.passes for end in ends), read, reused, made, seconds, price)


def report(found: Cost) -> tuple[Block, ...]:
    blocks: list[Block] = []
    bills = {bill.name: bill for bill in found.bills}
    if kept := bills.get(KEPT):
        anew = bills[ANEW]
        blocks.append(
            say(
                f"{counted(kept.calls, 'call')} of an agent read ",
                strong(f"{counted(kept.read, 'token')} with the prefix kept and {anew.read:,} without"),
                f", in {written(kept.seconds, 'seconds')} and {written(anew.seconds, 'seconds')}. "
                f"At your prices that is {written(kept.price, 'price')} and {written(anew.price, 'price')}.",
            )
        )
    first = found.bills[0]
    blocks.append(say(f"The question took {first.passes:,} passes, {first.read:,} tokens read and "
                      f"{first.written:,} written."))  # fmt: skip
    if long := bills.get("long answer"):
        ratio = times(long.passes / first.passes)
        blocks.append(say(f"The long answer to it took {long.passes:,} passes, ", strong(ratio), " as many."))
    names = tuple(bill.name for bill in found.bills)
    bars = (Series("price", names, tuple(bill.price for bill in found.bills), "choice"),)
    blocks.append(Chart("At your prices", "bars", Axis("what was asked"), Axis("price", "price"), bars))
    columns = (
        Column("what"), Column("calls", "count"), Column("passes", "count"), Column("read", "count"),
        Column("reused", "count"), Column("written", "count"), Column("time", "seconds"),
        Column("your price", "price"),
    )  # fmt: skip
    rows = tuple(
        (each.name, each.calls, each.passes, each.read, each.reused, each.written, each.seconds, each.price)
        for each in found.bills
    )
    note = (
        "Read: tokens of prompts that went through the model. Reused: their keys and values were kept. Your "
        "price: these, by the numbers you gave per million tokens; it is nobody's tariff."
    )
    if found.shortened is not None:
        note += (
            f" The agent's instructions were shortened to {counted(found.shortened, 'token')} to fit here."
        )
    return (*blocks, Table("The bill", columns, rows, note))


COST = Lab(
    "cost",
    "Cost",
    "What do a question, a long answer and an agent cost in passes, tokens and price?",
    (
        "All are run: a question, the same with a longer answer, and an agent's calls, each after the last.",
        "The agent's prompts are the same twice: once with what the engine kept, once without.",
    ),
    (
        "Prices per million tokens are numbers of your own, not a tariff.",
        "The agent's instructions and tool results are plain filler of the lengths given.",
        "Times are of one run each, after one that does not count.",
    ),
    Options,
    measure,
    report,
)
