"""How the lab determinism tells what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.experiments.answers import SHADE, lane
from playground.findings.report import Block, Column, Part, Say, Strips, Table, say, strong
from playground.findings.written import counted, share

if TYPE_CHECKING:
    from playground.experiments.determinism import Closest, Determinism, Trial

_CHANGED = {
    "again": "run again, other seeds",
    "off": "without the cache",
    "batch": "in a batch",
    "same_seed": "run again, same seeds",
    "other_seed": "other seeds",
    "dtype": "in the other dtype",
}


def report(found: Determinism) -> tuple[Block, ...]:
    blocks: list[Block] = []
    greedy = [trial for trial in found.trials if trial.kind in ("again", "off", "batch")]
    for dtype in dict.fromkeys(trial.dtype for trial in greedy):
        blocks.append(_greedy(dtype, [trial for trial in greedy if trial.dtype == dtype]))
    by_kind = {trial.kind: trial for trial in found.trials}
    if "other_seed" in by_kind:
        blocks.append(_seeds(by_kind["same_seed"], by_kind["other_seed"], found.temperature))
    if "dtype" in by_kind:
        blocks.append(_rounded(by_kind["dtype"]))
    if found.not_available:
        blocks.append(say(found.not_available))
    blocks += [_table(found), *([_near(found.closest)] if found.closest else [])]
    blocks += [_strips(trial, found) for trial in found.trials if trial.other is not None]
    return tuple(blocks)


def _greedy(dtype: str, trials: list[Trial]) -> Say:
    """What changed the answer at temperature 0, and what did not."""
    copy = "" if trials[0].own else ", in a copy made for this"
    parts: list[str | Part] = [f"In {dtype}{copy}, at temperature 0: "]
    same = [_named(trial) for trial in trials if trial.parted is None]
    if same:
        parts += [_listed(same), " gave ", strong("the same tokens")]
    for trial in trials:
        if trial.parted is not None:
            parts += ["; " if len(parts) > 1 else "", f"{_named(trial)} ", strong(_where(trial)), _gap(trial)]
    parts.append(".")
    return say(*parts)


def _named(trial: Trial) -> str:
    if trial.kind == "again":
        return f"{counted(trial.runs, 'more run')} with other seeds"
    if trial.kind == "off":
        return "reading everything anew at each step"
    if trial.lanes < trial.runs:
        return f"{trial.runs} lanes, {trial.lanes} at a time,"
    return f"a batch of {trial.runs}"


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _where(trial: Trial) -> str:
    assert trial.parted is not None
    return f"parted at token {trial.parted + 1}"


def _gap(trial: Trial) -> str:
    return "" if trial.gap is None else f", where the two likeliest tokens were {share(trial.gap)} apart"


def _seeds(same: Trial, other: Trial, temperature: float) -> Say:
    parts: list[str | Part] = [
        f"At temperature {temperature:g}, {same.same} of {counted(same.runs, 'seed')} gave ",
        strong("the same answer again"),
        "; ",
    ]
    others = counted(other.runs, "other seed")
    if other.parted is None:
        parts.append(f"{others} gave it too: the dice never fell on another token.")
    else:
        parts.append(
            f"of {others}, {other.runs - other.same} gave another answer, the first from token "
            f"{other.parted + 1} on: there the dice chose."
        )
    return say(*parts)


def _rounded(trial: Trial) -> Say:
    if trial.parted is None:
        return say(
            f"Rounding the weights to {trial.dtype} changed no token, ",
            f"though logprobs moved by up to {trial.drift:.2g} nats.",
        )
    return say(
        f"The answer in {trial.dtype} ",
        strong(_where(trial)),
        f" from that in the model's own dtype{_gap(trial)}.",
    )


def _table(found: Determinism) -> Table:
    columns = (
        Column("dtype"),
        Column("temperature", "number"),
        Column("what is different"),
        Column("lanes in a pass", "count"),
        Column("runs", "count"),
        Column("the same", "count"),
        Column("parts at token", "count"),
        Column("gap there", "share"),
        Column("most a logprob moved", "number"),
    )
    rows = tuple(
        (
            trial.dtype,
            found.temperature if "seed" in trial.kind else 0.0,
            _CHANGED[trial.kind],
            trial.lanes,
            trial.runs,
            trial.same,
            None if trial.parted is None else trial.parted + 1,
            trial.gap,
            trial.drift,
        )
        for trial in found.trials
    )
    note = (
        "Logprobs are in nats and of the tokens before the runs part. 0: the same numbers, not only the same "
        "tokens."
    )
    return Table("Compared with the first run", columns, rows, note)


def _near(closest: tuple[Closest, ...]) -> Table:
    columns = (Column("dtype"), Column("token", "count"), Column("gap", "share"))
    rows = tuple((each.dtype, each.index + 1, each.gap) for each in closest)
    note = "The smaller the gap, the less rounding it takes to change the token, and all that follows it."
    return Table("The closest call of the answer at temperature 0", columns, rows, note)


def _strips(trial: Trial, found: Determinism) -> Strips:
    assert trial.other is not None
    assert trial.parted is not None
    warmth = f"temperature {found.temperature:g}" if "seed" in trial.kind else "temperature 0"
    lanes = (
        lane("first run", trial.first, {trial.parted: "parted"}),
        lane(_CHANGED[trial.kind], trial.other, {trial.parted: "parted"}),
    )
    return Strips(f"Where they part: {_CHANGED[trial.kind]}, {trial.dtype}, {warmth}", lanes, SHADE)
