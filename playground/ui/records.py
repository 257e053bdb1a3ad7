"""Columnar records: the few bytes of a run from which the board rebuilds every number it shows.

A `TokenStep` as JSON is about 6 KB; what is sent of it here is a little over 1 KB. Left out is what the
page can work out: a candidate's raw probability is exp(logit − logsumexp), its rank is its row unless
stated, the numbers of the chosen token stand in its own row, only active stages are listed. Texts and names
go once per run, as dictionaries. strip/records.js reads what this module writes; a test compares the two.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from playground.codec import to_plain
from playground.trace import Candidate, Finished, ModelInfo, Prompt, SamplingParams, Stage, TokenStep

SHORT_SHA = 16  # digits that tell one model from another
Op = dict[str, Any]  # one operation of the board; `op` names it


class Recorder:
    """Writes the operations of one run. Remembers what the page has been told already."""

    def __init__(self, *, visible: Callable[[int], str], is_special: Callable[[int], bool]) -> None:
        self._visible = visible
        self._is_special = is_special
        self._known: set[int] = set()  # ids whose text was sent
        self._names: dict[str, int] = {}  # stage names and settings -> code; 0 means "not removed"
        self._released: dict[int, str] = {}  # text of each lane so far

    def reset(
        self, info: ModelInfo, lanes: int, weights: int | None = None, params: SamplingParams | None = None
    ) -> Op:
        """A new run begins: the board forgets the one before. `weights`: bytes that a pass reads."""
        return {
            "op": "reset",
            "model": info.sha256[:SHORT_SHA],
            "lanes": lanes,
            "vocabulary": info.vocabulary,
            "context": info.context,
            "ends": list(info.end_ids),
            "weights": weights,
            "params": None if params is None else settings(params),
        }

    def branch(
        self, node: int, kind: str, known: int, text: str, given: Sequence[int], params: SamplingParams
    ) -> Op:
        """The run goes on from its branch `node`, of which the first `known` steps stay.

        `text` is what the last of them releases now that others follow, `given` the ids that come next.
        """
        return {
            "op": "branch",
            "node": node,
            "kind": kind,
            "at": known,
            "text": text,
            "given": [[token_id, self._visible(token_id)] for token_id in given],
            "params": settings(params),
        }

    def prompt(self, prompt: Prompt) -> Op:
        tokens = [
            [token.token_id, token.bytes.hex(), token.segment, int(token.is_special)]
            + ([] if token.logprob is None else [_digits(token.logprob, 6), token.rank])
            for token in prompt.tokens
        ]
        segments = [[segment.kind, int(segment.added_by_template)] for segment in prompt.segments]
        return {"op": "prompt", "segments": segments, "tokens": tokens, "notes": list(prompt.notes)}

    def tokens(self, lane: int, steps: Sequence[TokenStep]) -> Op:
        texts: dict[str, Any] = {}
        known_names = len(self._names)
        rows = [self._step(step, texts) for step in steps]
        op: Op = {"op": "tokens", "lane": lane, "steps": rows}
        if texts:
            op["texts"] = texts
        if len(self._names) > known_names:
            op["names"] = list(self._names)[known_names:]
        self._released[lane] = self._released.get(lane, "") + "".join(step.text for step in steps)
        return op

    def end(self, finished: Finished) -> Op:
        op: Op = {
            "op": "end",
            "lane": finished.lane,
            "reason": finished.reason,
            "detail": finished.detail,
            "message": finished.message,
            "trimmed": [list(pair) for pair in finished.trimmed],
            "prefill": _milliseconds(finished.prefill_s),
            "first": _milliseconds(finished.ttft_s),
            "each": _milliseconds(finished.tpot_s),
            "reused": finished.reused_tokens,
            "speed": [_digits(finished.prefill_tps, 5), _digits(finished.decode_tps, 5)],
        }
        if finished.text != self._released.get(finished.lane, ""):
            op["text"] = finished.text  # a held stop string let go, or half a character at the end
        return op

    def _step(self, step: TokenStep, texts: dict[str, Any]) -> Op:
        ordered = sorted(step.candidates, key=lambda candidate: candidate.rank)
        self._tell(ordered, texts)
        record: Op = {
            "i": step.index,
            "p": step.position,
            "k": step.token_id,
            "b": step.bytes.hex(),
            "z": _digits(_log_sum_exp(ordered), 9),
            "o": [_digits(step.others_prob, 5), _digits(step.others_final_prob, 5)],
            "h": [_digits(step.entropy, 5), _digits(step.final_entropy, 5)],
            "g": _digits(step.gap, 5),
            "e": _digits(step.end_prob, 5),
            "d": [step.draw.method[0], *_draw(step)],
            "t": [_milliseconds(part) for part in (step.queue_s, step.forward_s, step.sample_s)],
            "n": step.batch_lanes,
            "c": [step.kv_len, step.kv_bytes],
            "s": [
                [self._code(stage.name), self._code(stage.setting), *_stage(stage)]
                for stage in step.stages
                if stage.active
            ],
            "r": [
                self._row(candidate, place, digits)
                for place, (candidate, digits) in enumerate(zip(ordered, _needed(ordered), strict=True), 1)
            ],
        }
        if reasons := self._reasons(ordered):
            record["w"] = reasons
        if step.text.encode("utf-8", "surrogatepass") != step.bytes:
            record["x"] = step.text  # released text is not the token's own: half characters, stop strings
        return record

    def _row(self, candidate: Candidate, place: int, digits: int) -> list[Any]:
        """[id, logit, final, reason code, rank], shortened from the right by what the page can tell."""
        reason = self._code(candidate.removed_by) if candidate.removed_by else 0
        row = [candidate.token_id, _digits(candidate.logit, digits), _digits(candidate.final_prob, 6)]
        if candidate.rank != place:
            return [*row, reason, candidate.rank]
        return [*row, reason] if reason else row

    def _reasons(self, ordered: Sequence[Candidate]) -> list[list[Any]]:
        """Why each stage cut what it cut, word for word: [stage code, how the reasons begin, how they end,
        [what each says in between, in the order of the rows]], without the list where all say the same."""
        told: dict[str, list[str]] = {}
        for candidate in ordered:
            if candidate.removed_by:
                told.setdefault(candidate.removed_by, []).append(candidate.removed_why or "")
        packed: list[list[Any]] = []
        for name, whys in told.items():
            start = _shared_start(whys)
            if all(why == start for why in whys):
                packed.append([self._code(name), start])
                continue
            rest = [why[len(start) :] for why in whys]
            end = _shared_start([each[::-1] for each in rest])[::-1]
            packed.append([self._code(name), start, end, [each[: len(each) - len(end)] for each in rest]])
        return packed

    def _code(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names) + 1)

    def _tell(self, candidates: Iterable[Candidate], texts: dict[str, Any]) -> None:
        for candidate in candidates:
            token_id = candidate.token_id
            if token_id not in self._known:
                self._known.add(token_id)
                special = self._is_special(token_id)
                texts[str(token_id)] = [candidate.text] if special else candidate.text


def settings(params: SamplingParams) -> dict[str, Any]:
    """The settings for the board. A seed that JavaScript cannot hold goes as a string."""
    plain: dict[str, Any] = to_plain(params)
    if params.seed is not None and params.seed >= 2**53:
        plain["seed"] = str(params.seed)
    return plain


def compact(message: Any) -> str:
    """JSON in few bytes: signs such as ␣ as they are, and lone surrogates, which UTF-8 lacks, as escapes."""
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


def _needed(candidates: Sequence[Candidate]) -> list[int]:
    """Digits of each logit: so many that two of them look equal on the page only where they are."""
    short = [_digits(candidate.logit, 7) for candidate in candidates]
    alike: dict[float | None, set[float]] = {}
    for number, candidate in zip(short, candidates, strict=True):
        alike.setdefault(number, set()).add(candidate.logit)
    return [9 if len(alike[number]) > 1 else 7 for number in short]


def _shared_start(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)  # whatever these two share, all do
    length = next(
        (at for at, signs in enumerate(zip(first, last, strict=False)) if signs[0] != signs[1]), len(first)
    )
    return first[:length]


def _log_sum_exp(candidates: Sequence[Candidate]) -> float:
    """logsumexp of all logits, in nats: any listed token tells it, the likeliest most exactly."""
    best = candidates[0]
    return best.logit - best.logprob


def _stage(stage: Stage) -> tuple[float | None, int, float | None]:
    return _digits(stage.cutoff, 6), stage.kept, _digits(stage.mass, 5)


def _draw(step: TokenStep) -> list[float | None]:
    """u, low, high: finer than the rest, since a roll may lie close to its interval's edge."""
    return [_digits(part, 10) for part in (step.draw.u, step.draw.low, step.draw.high)]


def _digits(value: float | None, digits: int) -> float | int | None:
    """`value` with so many significant digits; whole numbers without a point; None if not finite."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def _milliseconds(seconds: float | None) -> float | int | None:
    return None if seconds is None else _digits(round(seconds * 1000, 2), 7)
