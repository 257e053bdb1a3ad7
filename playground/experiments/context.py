"""Lab context: its end, and what becomes of an instruction at its start as a conversation grows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from playground.experiments.answers import finite
from playground.experiments.context_report import report
from playground.experiments.filling import Limit, filled, refused
from playground.experiments.history import Way, conversation, places, way_of
from playground.experiments.lab import Lab, Progress, option
from playground.findings.written import counted
from playground.params import SamplingParams

if TYPE_CHECKING:
    from playground.experiments.bench import Bench
    from playground.trace import Prompt, Trace


@dataclass(frozen=True)
class Options:
    instruction: str = option(
        "Always begin your answer with the word {word}.",
        "instruction",
        high=400,
        hint="{word} is the word below",
    )
    word: str = option("Certainly", "word", high=40, hint="what an answer that obeys begins with")
    question: str = option("What is the capital of France?", "question", high=400)
    turns: tuple[int, ...] = option((0, 1, 2, 4, 8), "turns of history", low=0, high=500, most=8)
    obeyed: bool = option(False, "answers of the turns begin with the word too")
    tokens: int = option(8, "tokens of each answer", low=1, high=100)
    seconds: float = option(5.0, "most seconds to fill the context", low=0, high=3600)


@dataclass(frozen=True)
class Chance:
    """The word's first token as the first of the answer. Raw."""

    prompt: int  # tokens
    logprob: float | None  # nats; None is minus infinity
    log_odds: float | None  # nats: ln(p / (1 − p)); None if it is infinite
    rank: int


@dataclass(frozen=True)
class Look:
    """Attention at the last token of the prompt, where the answer's first token is chosen; per layer, the
    mean over its heads."""

    instruction: tuple[float, ...]  # all its tokens together, without position 0
    first: tuple[float, ...]  # position 0
    head: tuple[
        int, int, float
    ]  # the layer and head with most of it on the instruction, from 0, and how much
    blind: int  # layers whose window does not reach back to the instruction


@dataclass(frozen=True)
class Case:
    """The question after so many turns."""

    turns: int
    told: Chance  # with the instruction
    untold: Chance  # without it
    instruction: int  # its tokens, without position 0
    text: str  # the answer's first words, with it
    obeyed: bool  # whether they begin with the word
    look: Look | None  # None where `unseen` says why


@dataclass(frozen=True)
class Context:
    limit: Limit
    way: Way = "system message"
    instruction: str = ""
    token: str = ""  # visible form of the word's first token
    first: str = ""  # and of the prompt's
    obeyed: bool = False  # the answers of the turns begin with the word
    own: bool = False  # the template puts a system message of its own where ours is left out
    cases: tuple[Case, ...] = ()
    notes: tuple[str, ...] = ()  # sentences: what could not be had, and what to know


def measure(bench: Bench, options: Options) -> Iterator[Progress | Context]:
    instruction = options.instruction.replace("{word}", options.word).strip()
    if not (ids := bench.engine.vocabulary.encode(options.word.strip())):
        raise ValueError(f"the model has no token for {options.word!r}: choose another word")
    word = ids[0]
    found = Context(
        (yield from refused(bench)), way_of(bench, instruction, options.question), instruction,
        bench.visible(word), obeyed=options.obeyed,
    )  # fmt: skip
    yield found
    pairs, left_out = _prompts(bench, found, options)
    if pairs:
        _, told, untold = pairs[0]
        own = any(each.kind == "system" and each.added_by_template for each in untold.segments)
        found = replace(found, first=bench.visible(told.ids[0]), own=own, notes=_notes(found))
    if left_out:
        found = replace(found, notes=(*found.notes, left_out))
    done, whole = 0, sum(len(told.ids) for _, told, _ in pairs)
    for turns, told, untold in pairs:
        at, to = (0.9 * read / whole for read in (done, done + len(told.ids)))
        done += len(told.ids)
        case, why = yield from _case(bench, (told, untold), word, turns, instruction, options, at, to)
        notes = found.notes if not why or why in found.notes else (*found.notes, why)
        found = replace(found, cases=(*found.cases, case), notes=notes)
        yield found
    limit = yield from filled(bench, found.limit, options.seconds, 0.9, 1.0)
    yield Progress(1.0, "Done")
    yield replace(found, limit=limit)


def _prompts(bench: Bench, found: Context, options: Options) -> tuple[list[tuple[int, Prompt, Prompt]], str]:
    """(turns, the prompt with the instruction, the one without it), and a sentence on what has no room."""
    opening = options.word.strip() if options.obeyed else ""
    pairs, left_out = [], []
    for turns in options.turns:
        told, untold = (
            conversation(bench, found.way, each, turns, options.question, opening)
            for each in (found.instruction, None)
        )
        longest = max(len(told.ids), len(untold.ids))
        if longest < bench.room and longest <= bench.most_prompt:
            pairs.append((turns, told, untold))
        else:
            left_out.append(f"{turns:,}")
    if not left_out:
        return pairs, ""
    return pairs, f"Left out, since there is no room for them here: histories of {', '.join(left_out)} turns."


def _notes(found: Context) -> tuple[str, ...]:
    notes = []
    if found.way == "start of the text":
        notes.append(
            "Not available here: a system message. This model has no chat template, so the instruction is "
            "the first line of a plain text."
        )
    elif found.way == "first user message":
        notes.append(
            "Not available here: a system message. This model's template has none, so the instruction opens "
            "the first user message."
        )
    return tuple(notes)


def _case(
    bench: Bench,
    prompts: tuple[Prompt, Prompt],
    word: int,
    turns: int,
    instruction: str,
    options: Options,
    at: float,
    to: float,
) -> Generator[Progress, None, tuple[Case, str]]:
    """The case, and a sentence if attention could not be looked at."""
    told, untold = prompts
    tokens = min(options.tokens, bench.most_new, bench.room - len(told.ids))
    text, third = f"{counted(turns, 'turn')} of history", (to - at) / 3

    def params(most: int) -> SamplingParams:
        return SamplingParams(temperature=0, max_tokens=most, seed=0)

    trace = yield from bench.run(told, params(tokens), at, at + third, text, watched=(word,))
    plain = yield from bench.run(untold, params(1), at + third, at + 2 * third, text, watched=(word,))
    yield Progress(at + 2 * third, f"{text}: attention")
    places_ = places(told, instruction)
    look, why = _look(bench, told, places_)
    answer = trace.text.strip()
    obeyed = answer.casefold().startswith(options.word.strip().casefold())
    case = Case(
        turns, _chance(told, trace, word), _chance(untold, plain, word), len(places_), answer, obeyed, look
    )
    return case, why


def _chance(prompt: Prompt, trace: Trace, word: int) -> Chance:
    found = next(each for each in trace.steps[0].candidates if each.token_id == word)
    odds = found.logprob - _log_rest(found.logprob)
    return Chance(len(prompt.ids), finite(found.logprob), finite(odds), found.rank)


def _log_rest(logprob: float) -> float:
    """ln(1 − p) of ln p."""
    rest = -math.expm1(logprob)
    return math.log(rest) if rest > 0 else -math.inf


def _look(bench: Bench, prompt: Prompt, at: tuple[int, ...]) -> tuple[Look | None, str]:
    """Attention at the end of the prompt; otherwise a sentence that says why there is none."""
    inside, last = bench.engine.inside, len(prompt.ids) - 1
    if inside is None or not at:
        return None, "Not available here: attention on the instruction."
    if last >= inside.most:
        return None, f"Attention is looked at in prompts of up to {inside.most:,} tokens."
    try:
        layers = inside.attention_heads(prompt.ids, last, owner=bench.owner)
        windows = inside.shape().windows
    except ValueError as error:
        return None, f"{str(error)[:1].upper()}{str(error)[1:].rstrip('.')}."
    heads = [[sum(head[place] for place in at) for head in layer] for layer in layers]
    best = max(
        (share, number, head) for number, layer in enumerate(heads) for head, share in enumerate(layer)
    )
    return Look(
        tuple(min(1.0, statistics.fmean(layer)) for layer in heads),
        tuple(min(1.0, statistics.fmean(head[0] for head in layer)) for layer in layers),
        (best[1], best[2], min(1.0, best[0])),
        sum(window is not None and max(at) <= last - window for window in windows),
    ), ""


CONTEXT = Lab(
    "context",
    "The context and its end",
    "What happens as the context fills?",
    (
        "A prompt as long as the whole context is sent. Where filling it takes no more than the seconds "
        "allowed, so are one that leaves room for one token, and one whose answer meets the end.",
        "An instruction stands first, then turns of a conversation written for this lab, over and over, then "
        "a question. The probability that the answer begins with the word is taken with the instruction and "
        "without it, both after the same turns, and the first words are written at temperature 0.",
        "Where the first token of the answer is chosen, all heads of all layers are looked at: the share of "
        "their attention on the instruction's tokens, beside the share that an even spread would give it.",
    ),
    (
        "One instruction, one word and one question; the word counts by its first token.",
        "The answers of the turns do not begin with the word, so a longer history is also one with more "
        "answers that disobey. An option has them obey.",
        "Attention tells where a head looks, not what it takes from there nor what comes of it: the "
        "probability is the outcome.",
        "Many programs drop or sum up old messages before the context is full; nothing here does.",
    ),
    Options,
    measure,
    report,
)
