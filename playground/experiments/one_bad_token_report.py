"""How the lab one-bad-token tells what it found."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Literal

from playground.experiments.answers import SHADE, Mark, lane
from playground.findings.report import (
    Axis,
    Block,
    Chart,
    Column,
    Lane,
    Say,
    Series,
    Strips,
    Table,
    say,
    strong,
    token,
)
from playground.findings.written import counted, share

if TYPE_CHECKING:
    from playground.experiments.answers import Answer
    from playground.experiments.one_bad_token import Case, Going, OneBadToken

Role = Literal["model", "choice", "open", "end"]
BEFORE = 3  # tokens before the forced one, in the chart
AFTER = 16


def report(found: OneBadToken) -> tuple[Block, ...]:
    return (
        _back(found),
        _compared(found),
        _surprise_sentence(found),
        _counts(found),
        _chart(found),
        *(_strips(number, case) for number, case in enumerate(found.cases, 1)),
    )


def _of(found: OneBadToken, kind: str) -> list[Going]:
    return [going for case in found.cases for going in case.going if going.kind == kind]


def _back(found: OneBadToken) -> Say:
    same, fresh = _of(found, "same dice"), _of(found, "fresh dice")
    case = found.cases[0]
    return say(
        "After a token such as ", token(case.bad), f", to which the model gave {share(case.prob)}, ",
        strong(f"{_joined(same)} of {counted(len(same), 'answer')}"),
        " came back to the original word for word with the same dice, and ",
        strong(f"{_joined(fresh)} of {len(fresh)}"), " with fresh ones.",
    )  # fmt: skip


def _compared(found: OneBadToken) -> Say:
    bad = [*_of(found, "same dice"), *_of(found, "fresh dice")]
    plain = _of(found, "no bad token")
    rate, usual = _joined(bad) / len(bad), _joined(plain) / len(plain)
    start = f"Without a bad token, fresh dice alone led back to it in {_joined(plain)} of {len(plain)}"
    if rate < usual:
        return say(start, ": the bad token made it rarer.")
    if rate > usual:
        return say(start, ": here the bad token did not make it rarer.")
    return say(start, ": as often as with the bad token.")


def _surprise_sentence(found: OneBadToken) -> Say:
    first, usual = _surprises(found, 1)
    if first is None or usual is None:
        return say("No answer goes on after the forced place, so there is no surprise to compare.")
    text = (
        f"The token right after a bad one surprises the model by {first:.2f} nats on average, that of the "
        f"originals by {usual:.2f}"
    )
    later, usual = _surprises(found, 5)
    if later is None or usual is None:
        return say(f"{text}.")
    return say(f"{text}; four tokens on it is {later:.2f} and {usual:.2f}.")


def _surprises(found: OneBadToken, after: int) -> tuple[float | None, float | None]:
    """Mean surprise so many tokens after the forced one, and of the originals there."""
    going = [
        _nats(going.answer, case.step + after)
        for case in found.cases
        for going in case.going
        if going.kind != "no bad token"
    ]
    return _mean(going), _mean([_nats(case.original, case.step + after) for case in found.cases])


def _nats(answer: Answer, index: int) -> float | None:
    """Surprise in nats at an index; None if there is no token, or where it is infinite."""
    if not 0 <= index < len(answer.logprobs):
        return None
    logprob = answer.logprobs[index]
    return None if logprob is None else -logprob


def _mean(numbers: list[float | None]) -> float | None:
    known = [each for each in numbers if each is not None]
    return statistics.fmean(known) if known else None


def _joined(going: list[Going]) -> int:
    return sum(each.joined is not None for each in going)


def _counts(found: OneBadToken) -> Table:
    rows = []
    for kind in ("same dice", "fresh dice", "no bad token"):
        going = _of(found, kind)
        places = [
            each.joined[0] - case.step
            for case in found.cases
            for each in case.going
            if each.kind == kind and each.joined
        ]
        where = statistics.median(places) if places else None
        rows.append((kind, len(going), _joined(going), where, sum(each.ending for each in going)))
    return Table(
        "Back to the original",
        (
            Column("went on with"),
            Column("answers", "count"),
            Column("came back", "count"),
            Column("tokens after", "number"),
            Column("same last words", "count"),
        ),
        tuple(rows),
        "Tokens after: from the forced place to where it came back, the median. No bad token: fresh dice "
        "after the same start.",
    )


def _chart(found: OneBadToken) -> Chart:
    places = range(-BEFORE, AFTER + 1)
    lines: list[Series] = []
    roles: dict[str, Role] = {"original": "model", "same dice": "choice", "fresh dice": "open"}
    for name, role in roles.items():
        means = []
        for place in places:
            answers = [
                (case.step, case.original if name == "original" else going.answer)
                for case in found.cases
                for going in case.going
                if going.kind == ("same dice" if name == "original" else name)
            ]
            means.append(_mean([_nats(answer, step + place) for step, answer in answers]))
        lines.append(
            Series(name, tuple(float(place) for place in places), tuple(means), role, name == "original")
        )
    return Chart(
        "Surprise around the forced token",
        "lines",
        Axis("tokens after the forced one", "number"),
        Axis("mean surprise", "nats"),
        tuple(lines),
        "Minus the raw log-probability of each token. At 0 stands the forced token or the original's.",
    )


def _strips(number: int, case: Case) -> Strips:
    lanes: list[Lane] = [lane("original", case.original)]
    for going in case.going:
        marks: dict[int, Mark] = {} if going.kind == "no bad token" else {case.step: "forced"}
        note = "the same last words" if going.ending else ""
        if going.joined is not None:
            here, there = going.joined
            note = f"from token {here + 1} on it is the original from its token {there + 1} on"
        lanes.append(lane(going.kind, going.answer, marks, note))
    return Strips(f"Answer {number}, seed {case.seed}", tuple(lanes), SHADE)
