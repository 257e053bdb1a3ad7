"""Lab frozen: inference is not training. The weights before and after a run, and a fact told in one chat."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from playground.experiments.answers import Answer, answer_of, finite
from playground.experiments.lab import Lab, Progress, option
from playground.findings.report import Block, Cell, Column, Quote, Say, Table, say, strong
from playground.findings.written import counted, share
from playground.params import SamplingParams

if TYPE_CHECKING:
    from playground.experiments.bench import Bench
    from playground.trace import Prompt


@dataclass(frozen=True)
class Options:
    fact: str = option("My dog is called Biscuit.", "fact", high=400, hint="told in the first chat")
    question: str = option("What is my dog called?", "question", high=400)
    opening: str = option("Your dog is called", "opening of the answer", high=200)
    answer: str = option("Biscuit", "the fact's own words", high=100, hint="what only the fact tells")
    tokens: int = option(16, "tokens of each written answer", low=2, high=100)


@dataclass(frozen=True)
class Asked:
    """The question, asked once."""

    name: str
    told: bool  # the fact stands in the prompt
    prompt_tokens: int
    logprobs: tuple[float | None, ...]  # raw, of each token of the fact's words after the opening; None is −∞
    written: Answer | None  # what the model writes by itself; None until it has


@dataclass(frozen=True)
class Weights:
    """All parameters and buffers, at one moment."""

    tensors: int
    numbers: int
    bytes: int
    checksum: str  # SHA-256 over the checksums of all tensors


@dataclass(frozen=True)
class Frozen:
    before: Weights
    after: Weights | None  # None until they were read again
    changed: tuple[str, ...]  # names of tensors whose checksum is another one
    words: tuple[str, ...]  # visible forms of the fact's tokens
    asked: tuple[Asked, ...]
    made: int  # tokens that the model wrote or was given, between the checksums


def measure(bench: Bench, options: Options) -> Iterator[Progress | Frozen]:
    encode = bench.engine.vocabulary.encode
    opening, fact = encode(options.opening.strip()), encode(f" {options.answer.strip()}")
    chats = (
        ("before it was told", False, bench.chat(options.question)),
        ("in the chat that tells it", True, bench.chat(f"{options.fact} {options.question}")),
        ("in the next chat", False, bench.chat(options.question)),
    )
    sums, before = yield from _read(bench, 0.0, 0.2, "The weights before")
    found = Frozen(before, None, (), tuple(bench.visible(each) for each in fact), (), 0)
    for number, (name, told, prompt) in enumerate(chats):
        at = 0.2 + 0.2 * number
        logprobs = yield from _chance(bench, prompt, opening, fact, at, at + 0.1, f"The question {name}")
        asked = Asked(name, told, len(prompt.ids), logprobs, None)
        found = _with(found, asked, len(opening) + len(fact))
        yield found
        params = SamplingParams(temperature=0, max_tokens=options.tokens, seed=0)
        trace = yield from bench.run(prompt, params, at + 0.1, at + 0.2, f"An answer {name}", reuse=False)
        asked = replace(asked, written=answer_of(bench, trace))
        found = _with(replace(found, asked=found.asked[:-1]), asked, len(trace.steps))
        yield found
    again, after = yield from _read(bench, 0.8, 1.0, "The weights after")
    changed = tuple(sorted(name for name in {*sums, *again} if sums.get(name) != again.get(name)))
    yield replace(found, after=after, changed=changed)


def _with(found: Frozen, asked: Asked, made: int) -> Frozen:
    return replace(found, asked=(*found.asked, asked), made=found.made + made)


def _chance(
    bench: Bench, prompt: Prompt, opening: list[int], fact: list[int], at: float, to: float, text: str
) -> Generator[Progress, None, tuple[float | None, ...]]:
    """Raw logprobs of the fact's tokens, each after the prompt, the opening and the tokens before it."""
    given = [*opening, *fact]
    params = SamplingParams(temperature=0, max_tokens=len(given), seed=0)
    trace = yield from bench.run(prompt, params, at, to, text, forced=given, reuse=False)
    if len(trace.steps) < len(given):
        raise ValueError("the opening and the fact's words leave no room here: choose shorter ones")
    return tuple(finite(step.logprob) for step in trace.steps[len(opening) :])


def _read(
    bench: Bench, at: float, to: float, text: str
) -> Generator[Progress, None, tuple[dict[str, str], Weights]]:
    """The checksum of each tensor, and all together. A tensor at a time, so that runs go on between them."""
    model, between = bench.engine.model, bench.engine.between_passes
    yield Progress(at, text)
    tensors: dict[str, Any] = between(
        lambda: {**dict(model.named_parameters()), **dict(model.named_buffers())}
    )
    sums: dict[str, str] = {}
    numbers = size = 0
    for count, name in enumerate(sorted(tensors)):
        tensor = tensors[name]
        sums[name] = between(partial(_checksum, tensor))
        numbers += tensor.numel()
        size += tensor.numel() * tensor.element_size()
        yield Progress(at + (to - at) * (count + 1) / len(tensors), text)
    whole = hashlib.sha256("".join(f"{name} {found}\n" for name, found in sums.items()).encode())
    return sums, Weights(len(sums), numbers, size, whole.hexdigest())


def _checksum(tensor: Any) -> str:
    """SHA-256 of a tensor's shape, dtype and bytes."""
    import torch

    data = tensor.detach().contiguous().cpu().reshape(-1).view(torch.uint8).numpy()
    found = hashlib.sha256(f"{tuple(tensor.shape)} {tensor.dtype} ".encode())
    found.update(data)
    return found.hexdigest()


# -- report ---------------------------------------------------------------------------------------------


def report(found: Frozen) -> tuple[Block, ...]:
    blocks: list[Block] = [_weights_sentence(found)]
    if len(found.asked) == 3:
        blocks += _fact_sentences(found)
    blocks.append(_weights(found))
    if found.asked:
        blocks.append(_chances(found))
        written = [(each.name, each.written.text) for each in found.asked if each.written]
        if written:
            blocks.append(Quote("What the model writes by itself, at temperature 0", tuple(written)))
    return tuple(blocks)


def _weights(found: Frozen) -> Table:
    moments = [("before", found.before), *([("after", found.after)] if found.after else [])]
    columns = (
        Column(""),
        Column("tensors", "count"),
        Column("numbers", "count"),
        Column("size", "bytes"),
        Column("SHA-256"),
    )
    rows = tuple((name, each.tensors, each.numbers, each.bytes, each.checksum[:16]) for name, each in moments)
    note = "The first 16 digits of a checksum over the checksums of all tensors."
    return Table("The weights", columns, rows, note)


def _weights_sentence(found: Frozen) -> Say:
    all_of_it = f"{found.before.numbers:,} numbers in {counted(found.before.tensors, 'tensor')}"
    if found.after is None:
        return say(f"The model is made of {all_of_it}; they have not been read again yet.")
    if found.changed:
        some = ", ".join(found.changed[:3]) + (" and more" if len(found.changed) > 3 else "")
        return say(
            strong(counted(len(found.changed), "tensor")), f" of the weights changed meanwhile: {some}. "
            "No run here writes to them, so something else did.",
        )  # fmt: skip
    return say(
        strong("No weight changed"), f": after {counted(found.made, 'token')}, all {all_of_it} are the same "
        "to the last bit.",
    )  # fmt: skip


def _fact_sentences(found: Frozen) -> list[Block]:
    before, told, after = (chance(each) for each in found.asked)
    known = say(
        "With the fact in the prompt, the model gives its words a probability of ", strong(share(told)),
        ". Without it, ", strong(share(before)), " before and ", strong(share(after)), " in the next chat.",
    )  # fmt: skip
    same = found.asked[0].logprobs == found.asked[2].logprobs
    if same and told > before:
        why = (
            "The next chat gives exactly the number of before: the fact was in that prompt and nowhere else."
        )
    elif same:
        why = "The next chat gives exactly the number of before. In its own chat the fact made no difference."
    else:
        why = (
            "The two without it differ: weights that are the same can still round differently, where other "
            "runs share a pass."
        )
    return [known, say(why)]


def chance(asked: Asked) -> float:
    """The probability of all the fact's tokens in a row."""
    known = [each for each in asked.logprobs if each is not None]
    return math.exp(sum(known)) if len(known) == len(asked.logprobs) else 0.0


def _chances(found: Frozen) -> Table:
    columns = (Column("asked"), Column("fact in the prompt", "yes"), Column("prompt tokens", "count"),
               *(Column(name, "share") for name in found.words), Column("all of them", "share"))  # fmt: skip
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            each.name, each.told, each.prompt_tokens,
            *(0.0 if logprob is None else math.exp(logprob) for logprob in each.logprobs), chance(each),
        )
        for each in found.asked
    )  # fmt: skip
    return Table(
        "Probability of the fact's words", columns, rows,
        "Raw, after the same opening of the answer; each token after the ones before it.",
    )  # fmt: skip


FROZEN = Lab(
    "frozen",
    "Weights are frozen",
    "Does a model learn from what it is told in a chat?",
    (
        "The SHA-256 of every parameter and buffer is taken before and after three chats.",
        "A question is asked without a fact, with it, and in a new chat without it again; each prompt is "
        "read anew, with nothing kept from the one before.",
        "After the same opening of the answer, the probability of the fact's words is read token by token.",
    ),
    (
        "Equal checksums tell that nothing changed during this run, not that nothing ever could.",
        "A product may seem to remember, where a program around the model puts notes into the next prompt.",
    ),
    Options,
    measure,
    report,
)
