"""How the lab context tells what it found."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Literal

from playground.findings.report import (
    Axis,
    Block,
    Chart,
    Column,
    Part,
    Quote,
    Say,
    Series,
    Table,
    say,
    strong,
    token,
)
from playground.findings.written import counted, plain, share

SINK = 4  # times an even spread's part

if TYPE_CHECKING:
    from playground.experiments.context import Case, Chance, Context, Look
    from playground.experiments.filling import Limit, Try


def report(found: Context) -> tuple[Block, ...]:
    blocks: list[Block] = [_end(found.limit)]
    seen = _seen(found)
    if seen:
        blocks += [_attention_sentence(seen), _first_sentence(found, seen)]
    if found.cases:
        blocks.append(_obeyed_sentence(found))
    blocks += [say(note) for note in found.notes]
    if found.cases:
        blocks += [_chances_chart(found), _chances(found)]
    if seen:
        blocks += [_attention_chart(seen), _layers_chart(seen), _attention(seen)]
    if found.cases:
        texts = tuple((_after(case), case.text or "(nothing)") for case in found.cases)
        blocks.append(Quote(f"The first words, after: {found.instruction}", texts))
    if found.limit.tries:
        blocks += [_tries(found.limit), _words(found.limit)]
    return tuple(blocks)


# -- the end of the context -------------------------------------------------------------------------------


def _end(limit: Limit) -> Say:
    if limit.context is None:
        return say("Not available here: this model states no end of its context.")
    first = limit.tries[0]
    parts: list[str | Part] = [
        "The model reads ", strong(counted(limit.context, "token")), ", its answer included. ",
    ]  # fmt: skip
    if first.answer is not None:
        parts.append(f"A prompt of that length was answered with {counted(first.answer, 'token')}.")
    elif limit.most_prompt is not None and first.prompt > limit.most_prompt:
        parts.append(f"This server takes prompts of {limit.most_prompt:,}, so its own limit comes first.")
    else:
        parts.append("A prompt of that length was refused before anything ran; nothing of it was dropped.")
    if len(limit.tries) > 1:
        last, cut = limit.tries[1:]
        parts += [f" One of {last.prompt:,} ", _room(last), f"; one of {cut.prompt:,} ", _room(cut), "."]
    return say(*parts)


def _room(tried: Try) -> str:
    if tried.answer is None:
        return "was refused"
    got = f"{counted(tried.answer, 'token')} of the {tried.asked:,} asked for"
    return f"was cut after {got}" if tried.reason == "context_full" else f"got {got}"


def _tries(limit: Limit) -> Table:
    columns = (
        Column("prompt", "count"),
        Column("asked for", "count"),
        Column("answer", "count"),
        Column("ended by"),
    )
    rows = tuple((each.prompt, each.asked, each.answer, each.reason) for each in limit.tries)
    bounds = [
        f"{what} of {bound:,}"
        for what, bound in (("prompts", limit.most_prompt), ("answers", limit.most_new))
        if bound is not None
    ]
    note = f"This server takes {' and '.join(bounds)}." if bounds else "No limit but the model's holds here."
    return Table("At the end of the context, in tokens", columns, rows, f"{limit.not_filled} {note}".strip())


def _words(limit: Limit) -> Quote:
    texts = tuple((f"a prompt of {counted(each.prompt, 'token')}", each.told) for each in limit.tries)
    return Quote("What it says there", texts)


# -- attention ----------------------------------------------------------------------------------------------


def _seen(found: Context) -> list[tuple[Case, Look]]:
    """The cases whose attention was looked at, the shortest first."""
    return [(case, case.look) for case in found.cases if case.look]


def even(case: Case) -> float:
    """What the instruction would get if attention were spread evenly over the prompt."""
    return case.instruction / case.told.prompt


def _attention_sentence(seen: list[tuple[Case, Look]]) -> Say:
    (case, look), (last, late) = seen[0], seen[-1]
    start = statistics.fmean(look.instruction)
    parts: list[str | Part] = [
        "Where the answer begins, the instruction gets ", strong(share(start)),
        f" of the attention {_after(case)}",
    ]  # fmt: skip
    if last is case:
        return say(*parts, f"; an even spread would give it {share(even(case))}.")
    end = statistics.fmean(late.instruction)
    evens = f"; an even spread would give it {share(even(case))} and {share(even(last))}."
    return say(*parts, " and ", strong(share(end)), f" {_after(last)}{evens}")


def _first_sentence(found: Context, seen: list[tuple[Case, Look]]) -> Say:
    case, look = seen[-1]
    means = [statistics.fmean(each.first) for _, each in seen]
    low, high = share(min(means)), share(max(means))
    parts: list[str | Part] = [
        "The first token of the prompt, ", token(found.first), ", alone gets ",
        strong(low if low == high else f"{low} to {high}"), " of it",
    ]  # fmt: skip
    # far more than any token's even part, at every length
    sink = min(mean * each.told.prompt for mean, (each, _) in zip(means, seen, strict=True)) >= SINK
    parts.append(": an attention sink." if sink else ".")
    if look.blind:
        layers = f"{look.blind} of {counted(len(look.instruction), 'layer')}"
        parts.append(f" The windows of {layers} do not reach back to the instruction {_after(case)}.")
    return say(*parts)


def _attention_chart(seen: list[tuple[Case, Look]]) -> Chart:
    lengths = tuple(float(case.told.prompt) for case, _ in seen)
    means = tuple(statistics.fmean(look.instruction) for _, look in seen)
    return Chart(
        "Attention on the instruction as the history grows",
        "lines",
        Axis("tokens of prompt", "count"),
        Axis("share of attention", "share"),
        (
            Series("measured", lengths, means, "model"),
            Series("an even spread", lengths, tuple(even(case) for case, _ in seen), "open", dashed=True),
        ),
        "The mean over all heads of all layers, at the last token of the prompt.",
    )


def _layers_chart(seen: list[tuple[Case, Look]]) -> Chart:
    ends = seen[:1] if len(seen) == 1 else [seen[0], seen[-1]]
    roles: tuple[Literal["model", "choice"], ...] = ("model", "choice")
    return Chart(
        "Attention on the instruction, layer by layer",
        "lines",
        Axis("layer", "count"),
        Axis("share of attention", "share"),
        tuple(
            Series(
                _after(case),
                tuple(float(number + 1) for number in range(len(look.instruction))),
                look.instruction,
                role,
            )
            for (case, look), role in zip(ends, roles, strict=False)
        ),
        "The mean over the heads of a layer. Layer 1 reads the tokens first.",
    )


def _attention(seen: list[tuple[Case, Look]]) -> Table:
    columns = (
        Column("turns", "count"),
        Column("tokens", "count"),
        Column("even spread", "share"),
        Column("measured", "share"),
        Column("highest layer", "share"),
        Column("highest head", "share"),
        Column("first token", "share"),
    )
    rows = tuple(
        (
            case.turns, case.told.prompt, even(case), statistics.fmean(look.instruction),
            max(look.instruction), look.head[2], statistics.fmean(look.first),
        )
        for case, look in seen
    )  # fmt: skip
    _, look = seen[-1]
    layer, head, _ = look.head
    tokens = counted(seen[-1][0].instruction, "token")
    note = (
        f"On the {tokens} of the instruction together. The highest head of the last row is head "
        f"{head + 1} of layer {layer + 1}. The first token of the prompt is counted apart."
    )
    return Table("Attention on the instruction", columns, rows, note)


# -- the instruction ----------------------------------------------------------------------------------------


def _after(case: Case) -> str:
    return f"after {counted(case.turns, 'turn')}" if case.turns else "with no history"


def chance(of: Chance) -> float:
    return 0.0 if of.logprob is None else math.exp(of.logprob)


def times_odds(case: Case) -> float | None:
    """How many times as large the instruction makes the odds of the word; None where that is no number."""
    told, untold = case.told.log_odds, case.untold.log_odds
    return None if told is None or untold is None else math.exp(min(700.0, told - untold))


def _obeyed_sentence(found: Context) -> Say:
    first, last = found.cases[0], found.cases[-1]
    obeyed = sum(case.obeyed for case in found.cases)
    raised = sum(chance(case.told) > chance(case.untold) for case in found.cases)
    count = len(found.cases)
    parts: list[str | Part] = [
        f"{_after(first).capitalize()} the instruction multiplies the odds of an answer that begins with ",
        token(found.token), " by ", _odds(first), f", to a chance of {share(chance(first.told))}",
    ]  # fmt: skip
    if count > 1:
        parts += [f"; {_after(last)} by ", _odds(last), f", to {share(chance(last.told))}. "]
        parts.append(f"It raises them in {raised} of {count} histories, and the likeliest answer obeys in ")
        parts.append(f"{obeyed or 'none'}.")
    else:
        parts.append(f". The likeliest answer {'obeys' if obeyed else 'does not obey'} it.")
    if last.turns:
        parts.append(f" {'All' if found.obeyed else 'None'} of the answers in the history obey it.")
    return say(*parts)


def _odds(case: Case) -> Part:
    found = times_odds(case)
    if found is None:
        return strong("what cannot be told")
    return strong(f"{found:,.0f}" if found >= 100 else plain(found, 3))


def _chances_chart(found: Context) -> Chart:
    lengths = tuple(float(case.told.prompt) for case in found.cases)
    told = tuple(case.told.log_odds for case in found.cases)
    untold = tuple(case.untold.log_odds for case in found.cases)
    return Chart(
        "Log-odds that the answer begins with the word",
        "lines",
        Axis("tokens of prompt", "count"),
        Axis("log-odds", "nats"),
        (
            Series("with it", lengths, told, "choice"),
            Series("without", lengths, untold, "open", dashed=True),
        ),
        "ln(p / (1 − p)) of the word's first token, raw: at 0 it is as likely as not. Each place on the axis "
        "is the prompt with the instruction.",
    )  # fmt: skip


def _chances(found: Context) -> Table:
    columns = (
        Column("turns", "count"),
        Column("tokens", "count"),
        Column("chance with it", "share"),
        Column("without", "share"),
        Column("rank", "count"),
        Column("times the odds", "number"),
        Column("obeyed", "yes"),
    )
    rows = tuple(
        (
            case.turns, case.told.prompt, chance(case.told), chance(case.untold), case.told.rank,
            times_odds(case), case.obeyed,
        )
        for case in found.cases
    )  # fmt: skip
    note = f"The answers of the turns {'' if found.obeyed else 'do not '}begin with the word."
    if found.own:
        note += " Without the instruction, the template writes a system message of its own."
    return Table(
        "The word, with the instruction and without it", columns, rows, f"{note} Odds are p / (1 − p)."
    )
