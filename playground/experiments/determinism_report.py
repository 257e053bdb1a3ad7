"""How the lab determinism tells what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.experiments.answers import SHADE, lane
from playground.findings.report import Block, Column, Part, Say, Strips, Table, say, strong
from playground.findings.written import counted, plain, share

if TYPE_CHECKING:
    from playground.experiments.determinism import Closest, Determinism, Trial

_CHANGED = {
    "again": "alone again",
    "off": "without the cache",
    "batch": "in a batch",
    "same_seed": "same seed again",
    "other_seed": "another seed",
    "dtype": "against the model's own dtype",
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
    closest = {each.dtype: each for each in found.closest}
    for dtype in dict.fromkeys(trial.dtype for trial in found.trials):
        blocks.append(_table(dtype, found, closest.get(dtype)))
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
        return "a run of another seed" if trial.runs == 1 else f"{trial.runs} runs of other seeds"
    if trial.kind == "off":
        return "a run without the cache"
    return f"a batch of {trial.runs}" + (f" ({trial.lanes} in a pass)" if trial.lanes < trial.runs else "")


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _where(trial: Trial) -> str:
    assert trial.parted is not None
    return f"parted at token {trial.parted + 1}"


def _gap(trial: Trial) -> str:
    return "" if trial.gap is None else f", where the two likeliest tokens were {share(trial.gap)} apart"


def _seeds(same: Trial, other: Trial, temperature: float) -> Say:
    seeds = {2: "both seeds"}.get(same.runs, f"all {same.runs} seeds")
    if same.same < same.runs:
        seeds = f"{same.same} of {counted(same.runs, 'seed')}"
    told: list[str | Part] = [
        f"At temperature {temperature:g}, run twice, {seeds} gave ", strong("their own answer again"),
    ]  # fmt: skip
    changed = other.runs - other.same
    if other.parted is None:
        others = "the second seed" if other.runs == 1 else f"the {other.runs} other seeds"
        return say(*told, f"; {others} gave the first one's too: the dice never fell on another token.")
    place = other.parted + 1
    if other.runs == 1:
        leave = f"the second seed's answer leaves the first's at token {place}"
    else:
        leave = f"{changed} of {other.runs} others left the first one's answer, the earliest at token {place}"
    return say(*told, f"; {leave}, where the dice fell otherwise.")


def _rounded(trial: Trial) -> Say:
    if trial.parted is None:
        return say(
            f"Rounding the weights to {trial.dtype} changed no token, ",
            f"though logprobs moved by up to {plain(trial.drift, 2)} nats.",
        )
    return say(
        f"The answer in {trial.dtype} ",
        strong(_where(trial)),
        f" from that in the model's own dtype{_gap(trial)}.",
    )


def _table(dtype: str, found: Determinism, closest: Closest | None) -> Table:
    columns = (
        Column("run"), Column("same tokens"), Column("parts at token"),
        Column("largest change", "number"),
    )  # fmt: skip
    trials = [trial for trial in found.trials if trial.dtype == dtype]
    rows = tuple(
        (
            _run(trial, found.temperature), f"{trial.same} of {trial.runs}",
            _place(trial), trial.drift,
        )
        for trial in trials
    )  # fmt: skip
    note = ""
    if closest is not None:
        note = (
            f"The closest call at temperature 0 is token {closest.index + 1}: its two likeliest are "
            f"{share(closest.gap)} apart."
        )
    if trials[0].own:
        note += (
            " The smaller such a gap, the less rounding it takes to part there. Change: of a token's raw "
            "logprob, in nats, until the runs part; 0 where all numbers are the same."
        )
    copy = "" if trials[0].own else ", a copy"
    return Table(f"In {dtype}{copy}: compared with the first run", columns, rows, note)


def _place(trial: Trial) -> str | None:
    if trial.parted is None:
        return None
    return f"{trial.parted + 1}" + ("" if trial.gap is None else f", gap {share(trial.gap)}")


def _run(trial: Trial, temperature: float) -> str:
    if "seed" in trial.kind:
        return f"{_CHANGED[trial.kind]}, temperature {temperature:g}"
    if trial.kind == "batch":
        return f"{_CHANGED['batch']} of {trial.runs}" + (
            f", {trial.lanes} in a pass" if trial.lanes < trial.runs else ""
        )
    return _CHANGED[trial.kind]


def _strips(trial: Trial, found: Determinism) -> Strips:
    assert trial.other is not None
    assert trial.parted is not None
    warmth = f"temperature {found.temperature:g}" if "seed" in trial.kind else "temperature 0"
    lanes = (
        lane("first run", trial.first, {trial.parted: "parted"}),
        lane(_CHANGED[trial.kind], trial.other, {trial.parted: "parted"}),
    )
    return Strips(f"Where they part: {_CHANGED[trial.kind]}, {trial.dtype}, {warmth}", lanes, SHADE)
