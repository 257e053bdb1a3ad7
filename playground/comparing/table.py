"""The table under the lanes; this and the steps of one run as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import fields
from statistics import fmean, median
from typing import Any

from playground.codec import to_plain
from playground.findings import LaneNumbers
from playground.params import SamplingParams
from playground.trace import TokenStep, Trace

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")  # what a spreadsheet may run
_SURROGATES = re.compile("[\ud800-\udfff]")


def numbers(names: Sequence[str], traces: Sequence[Trace]) -> tuple[LaneNumbers, ...]:
    """A row per lane. All tokens of an answer count: forced ones and the end token too."""
    differing = _differing([trace.params for trace in traces])
    return tuple(
        _row(name, {setting: getattr(trace.params, setting) for setting in differing}, trace)
        for name, trace in zip(names, traces, strict=True)
    )


def csv_of(rows: Sequence[LaneNumbers]) -> str:
    """The table as CSV (RFC 4180), a column per differing setting; what is missing or infinite is empty.

    Text that a spreadsheet would take for a formula gets an apostrophe before it, so that nothing runs.
    """
    if not rows:
        return ""
    settings = list(rows[0].settings)
    columns = [field.name for field in fields(LaneNumbers) if field.name not in ("name", "settings")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["name", *settings, *columns])
    for row in rows:
        cells = [
            row.name,
            *(row.settings[name] for name in settings),
            *(getattr(row, name) for name in columns),
        ]
        writer.writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def csv_of_steps(steps: Sequence[TokenStep]) -> str:
    """One run as CSV, a row per token, in the units of a trace; what is missing or infinite is empty."""
    columns = (
        "index",
        "position",
        "token_id",
        "prob",
        "logprob",
        "rank",
        "final_prob",
        "entropy",
        "final_entropy",
    )
    measured = ("gap", "end_prob", "queue_s", "forward_s", "sample_s")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*columns, *measured, "text", "bytes", "trimmed", "method", "u", "low", "high", "kept"])
    for step in steps:
        draw, chosen = step.draw, next(each for each in step.candidates if each.token_id == step.token_id)
        kept = step.stages[-1].kept if step.stages else None
        cells = [chosen.text, step.bytes, step.trimmed, draw.method, draw.u, draw.low, draw.high, kept]
        numbers_of = [getattr(step, name) for name in (*columns, *measured)]
        writer.writerow([_cell(cell) for cell in (*numbers_of, *cells)])
    return out.getvalue()


def _cell(value: Any) -> str:
    plain = to_plain(value)
    if plain is None:
        return ""
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        return repr(plain)  # a negative number is no formula
    text = plain if isinstance(plain, str) else json.dumps(plain)
    text = _SURROGATES.sub("\ufffd", text)  # no file could hold them
    return "'" + text if text.startswith(_FORMULA) else text


def _differing(params: Sequence[SamplingParams]) -> list[str]:
    """Names of the settings that are not the same in all lanes, in their usual order."""
    return [
        field.name
        for field in fields(SamplingParams)
        if any(getattr(each, field.name) != getattr(params[0], field.name) for each in params)
    ]


def _row(name: str, settings: dict[str, Any], trace: Trace) -> LaneNumbers:
    steps, words, ids = trace.steps, words_of(trace.text), trace.answer_ids
    grams = [ids[start : start + 4] for start in range(len(ids) - 3)]
    mean = fmean(step.logprob for step in steps) if steps else None
    return LaneNumbers(
        name=name,
        settings=settings,
        tokens=len(steps),
        mean_logprob=mean,
        perplexity=None if mean is None else _exp(-mean),
        mean_entropy=fmean(step.entropy for step in steps) if steps else None,
        rank1_share=sum(step.rank == 1 for step in steps) / len(steps) if steps else None,
        median_kept=_median_kept(steps),
        words=len(words),
        distinct_words=len(set(words)),
        repeated_4grams=len(grams) - len(set(grams)),  # occurrences of token ids beyond the first
        ttft_s=trace.finished.ttft_s,
        tpot_s=trace.finished.tpot_s,
        reason=trace.finished.reason,
    )


def _exp(nats: float) -> float:
    try:
        return math.exp(nats)
    except OverflowError:
        return math.inf


def _median_kept(steps: Sequence[TokenStep]) -> float | None:
    kept = [step.stages[-1].kept for step in steps if step.stages]
    return float(median(kept)) if kept else None


def words_of(text: str) -> list[str]:
    """The words of `text`, case-folded: runs of letters and digits with their marks, apostrophes inside.

    A script without spaces between words (Chinese, Thai) gives one word per run.
    """
    folded = unicodedata.normalize("NFC", text.replace("’", "'")).casefold()
    spaced = "".join(sign if _in_word(sign) else " " for sign in folded)
    return [word for part in spaced.split() if any(map(str.isalnum, word := part.strip("'")))]


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "'" or unicodedata.category(sign).startswith("M")
