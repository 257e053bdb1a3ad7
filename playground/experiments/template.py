"""Lab template: one question under the right chat template, under others, under none, and with BOS twice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playground.experiments.answers import Answer, answer_of
from playground.experiments.lab import Lab, Progress, option
from playground.experiments.template_report import report
from playground.params import SamplingParams

if TYPE_CHECKING:
    from torch import Tensor

    from playground.experiments.bench import Bench
    from playground.trace import Prompt

SHOWN = 5  # first tokens of each distribution


@dataclass(frozen=True)
class Options:
    question: str = option("What is the capital of France?", "question", high=400)
    tokens: int = option(40, "most tokens of an answer", low=1, high=200)


@dataclass(frozen=True)
class First:
    """A candidate for the first token. `prob` is raw."""

    token_id: int
    name: str
    prob: float


@dataclass(frozen=True)
class Case:
    """One way to put the question. Distances are of first tokens, raw, from the first case."""

    name: str
    text: str  # the prompt
    prompt_tokens: int
    notes: tuple[str, ...]
    top: tuple[First, ...]
    entropy: float  # nats
    variation: float | None  # total variation, in [0, 1]
    divergence: float | None  # KL(first case ‖ this one), nats
    ends: tuple[float, ...]  # raw chance of all end ids at each step
    answer: Answer


@dataclass(frozen=True)
class Template:
    cases: tuple[Case, ...]
    right: bool  # the first case is the model's own template; otherwise that is none or has no room here
    left_out: tuple[str, ...]  # sentences: what could not be tried, and why


def measure(bench: Bench, options: Options) -> Iterator[Progress | Template]:
    prompts, left_out = _prompts(bench, options.question)
    right = prompts[0][0] == "own template"
    cases: list[Case] = []
    first: Tensor | None = None
    for number, (name, prompt) in enumerate(prompts):
        room = min(bench.room - len(prompt.ids), bench.most_new)
        if room < 1 or len(prompt.ids) > bench.most_prompt:
            left_out.append(f"Not available here: {name}, whose {len(prompt.ids)} tokens leave no room.")
            continue
        params = SamplingParams(temperature=0, max_tokens=min(options.tokens, room), seed=0)
        at, to = number / len(prompts), (number + 1) / len(prompts)
        owner = f"{bench.owner} {number}"
        trace = yield from bench.run(prompt, params, at, to, f"Answer: {name}", owner=owner)
        logits = bench.engine.logits(prompt.ids, (), owner=owner)
        row = None if logits is None else logits.float().log_softmax(-1).double()
        if not cases:
            first = row
        variation, divergence = distances(first, row)
        step = trace.steps[0]
        top = sorted({c.token_id: c for c in step.candidates}.values(), key=lambda c: c.rank)[:SHOWN]
        cases.append(
            Case(
                name, prompt.text, len(prompt.ids), prompt.notes,
                tuple(First(c.token_id, bench.visible(c.token_id), c.prob) for c in top),
                step.entropy, variation, divergence,
                tuple(min(1.0, each.end_prob) for each in trace.steps), answer_of(bench, trace),
            )
        )  # fmt: skip
        yield Template(tuple(cases), right and cases[0].name == "own template", tuple(left_out))
    if not cases:
        raise ValueError("the question leaves no room for an answer in this model")
    yield Template(tuple(cases), right and cases[0].name == "own template", tuple(left_out))


def distances(first: Tensor | None, other: Tensor | None) -> tuple[float | None, float | None]:
    """Total variation and KL(first ‖ other) in nats, of two rows of log-probabilities (vocabulary,)."""
    if first is None or other is None:
        return None, None
    share = first.exp()
    variation = float((share - other.exp()).abs().sum()) / 2
    divergence = float((share * (first - other))[share > 0].sum())
    return min(1.0, variation), max(0.0, divergence) if math.isfinite(divergence) else None


def _prompts(bench: Bench, question: str) -> tuple[list[tuple[str, Prompt]], list[str]]:
    """The ways to put the question, the right one first, and what is left out."""
    from dataclasses import replace

    from playground.text.templates import KNOWN

    engine, made, left_out = bench.engine, [], []
    messages = [{"role": "user", "content": question}]
    raw = engine.raw(question)
    if engine.tokenizer.chat_template:
        made.append(("own template", engine.chat(messages)))
    else:
        left_out.append("This model has no chat template.")
        made.append(("no template", raw))
    for name in KNOWN:
        try:
            made.append((name, engine.chat(messages, template=name)))
        except ValueError as error:
            left_out.append(f"Not available here: {name}, since {error}.")
    if engine.tokenizer.chat_template:
        made.append(("no template", raw))
    bos, base = engine.vocabulary.bos_id, made[0][1]
    if bos is None:
        left_out.append("A doubled start token was not tried: this model has none.")
    elif base.ids[0] != bos:
        left_out.append("A doubled start token was not tried: this prompt does not begin with one.")
    else:
        text = bench.visible(bos) + base.text
        made.append(("start token twice", replace(bench.of_ids((bos, *base.ids)), text=text)))
    return made, left_out


TEMPLATE = Lab(
    "template",
    "The chat template",
    "What does the right chat template change?",
    (
        "One question is put under the model's own template, under those of other families, and as raw text, "
        "and with the start token twice where the prompt begins with one; each is answered at temperature 0.",
        "Distances are between whole distributions of the first token, raw.",
    ),
    (
        "One question; a model may mind a wrong template more or less with another one.",
        "A family's template may leave out or add a system message, so not all of a distance is its markers.",
    ),
    Options,
    measure,
    report,
)
