"""What every lab has: a question, options with their limits, a way to measure, and a way to tell.

A lab measures in an iterator: it yields `Progress` between pieces of work, and its findings whenever they are
fuller than before. Closing the iterator ends it within one pass of the model; the last findings stand.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from playground.codec import to_plain
from playground.findings.report import VERSION, Block, LabResult
from playground.text.short import short

if TYPE_CHECKING:  # the labs are listed before torch is imported
    from playground.experiments.bench import Bench

LONGEST_TEXT = 4000  # characters of an option


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a lab is: a share from 0 to 1, and what it does now."""

    share: float
    text: str


@dataclass(frozen=True)
class Lab:
    """A question that is answered by measuring."""

    name: str  # in the command line and in the page's hooks
    title: str
    question: str
    method: tuple[str, ...]  # sentences: how it is measured
    bounds: tuple[str, ...]  # sentences: its limits, and what its numbers cannot tell
    options: type[Any]  # a frozen dataclass whose fields are made by `option`
    measure: Callable[[Bench, Any], Iterator[Any]]  # yields Progress and the lab's findings
    report: Callable[[Any], tuple[Block, ...]]  # from the findings alone


# -- options --------------------------------------------------------------------------------------------


def option(
    default: Any, label: str, *, low: float = -math.inf, high: float = math.inf, most: int = 1, hint: str = ""
) -> Any:
    """A field of a lab's options: `label` is what a form calls it, `low` and `high` bound each number.

    The kind is that of `default`: bool, int, float, str (at most `high` characters), or a tuple of whole
    numbers, at most `most` of them.
    """
    told = {"label": label, "low": low, "high": high, "most": most, "hint": hint}
    return field(default=default, metadata=told)


def described(lab: Lab) -> list[dict[str, Any]]:
    """The options as a form needs them: name, label, kind, default, low, high, most, hint."""
    return [
        {"name": item.name, "kind": kind_of(item), "default": to_plain(item.default),
         **{name: to_plain(value) for name, value in item.metadata.items()}}
        for item in fields(lab.options)
    ]  # fmt: skip


def kind_of(item: Field[Any]) -> str:
    kinds = {bool: "switch", int: "whole", float: "number", str: "text", tuple: "list"}
    return kinds[type(item.default)]


def read_options(lab: Lab, given: Mapping[str, Any]) -> Any:
    """The lab's options from a stranger's object. Raises ValueError that names the field and its limits."""
    known = {item.name: item for item in fields(lab.options)}
    for name in given:
        if name not in known:
            raise ValueError(f"the lab {lab.name} has no option {short(name)}; it has {', '.join(known)}")
    return lab.options(**{name: _read(known[name], value) for name, value in given.items()})


def _read(item: Field[Any], value: Any) -> Any:
    kind, name = kind_of(item), item.name
    if kind == "switch":
        if type(value) is not bool:
            raise ValueError(f"{name} must be true or false, got {short(value)}")
        return value
    if kind == "text":
        most = int(min(item.metadata["high"], LONGEST_TEXT))
        if not isinstance(value, str) or not value.strip() or len(value) > most:
            raise ValueError(f"{name} must be a text of 1 to {most:,} characters, got {short(value)}")
        return value
    if kind == "list":
        most = item.metadata["most"]
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= most:
            raise ValueError(f"{name} must be a list of 1 to {most} whole numbers, got {short(value)}")
        return tuple(sorted({int(_number(item, each, whole=True)) for each in value}))
    number = _number(item, value, whole=kind == "whole")
    return int(number) if kind == "whole" else number


def _number(item: Field[Any], value: Any, *, whole: bool) -> float:
    low, high = item.metadata["low"], item.metadata["high"]
    fits = type(value) in (int, float) and low <= value <= high and (not whole or float(value).is_integer())
    if not fits:
        what = "a whole number" if whole else "a number"
        raise ValueError(f"{item.name} must be {what} in [{low:,g}, {high:,g}], got {short(value)}")
    return float(value)


# -- a run of a lab --------------------------------------------------------------------------------------


def run_lab(lab: Lab, bench: Bench, options: Any) -> Iterator[Progress | LabResult]:
    """Progress as it comes, and a result whenever there is a fuller one; the last one is complete.

    Raises ValueError in one sentence for what cannot be measured here.
    """
    started = time.perf_counter()
    created = datetime.now(UTC).isoformat(timespec="seconds")
    latest: Any = None

    def result(complete: bool) -> LabResult:
        seconds = time.perf_counter() - started
        info, others = bench.engine.info, bench.others
        return LabResult(VERSION, lab.name, info, options, latest, complete, seconds, others, created)

    for found in lab.measure(bench, options):
        if isinstance(found, Progress):
            yield replace(found, share=min(1.0, found.share))  # sums of shares may be a rounding past it
        else:
            latest = found
            yield result(False)
    assert latest is not None
    yield result(True)


def record(lab: Lab, result: LabResult) -> dict[str, Any]:
    """A result as one JSON object, with the question, the method and the bounds beside it."""
    told = {"question": lab.question, "method": list(lab.method), "bounds": list(lab.bounds)}
    return {**to_plain(result), **told}
