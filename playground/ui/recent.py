"""The latest runs of one open page, packed, so that whatever path its board shows can be saved.

The board may show a run that went on, was forked, edited, stepped: a path of ids of which each stretch was
made by another press. What was made is kept by its ids, and a path is put together from the pieces that have
the same ids before them. So nothing needs to be known of the board.
"""

from __future__ import annotations

import json
import secrets
from array import array
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, cast

from playground.checks import check_trace
from playground.codec import from_plain, to_plain
from playground.packing import GZIP, deflate, inflate
from playground.text.stops import StopFilter
from playground.text.tokens import TextStream
from playground.text.trim import trims
from playground.trace import (
    VERSION,
    Finished,
    FinishReason,
    ModelInfo,
    Prompt,
    SamplingParams,
    TokenStep,
    Trace,
)
from playground.ui.host import Words
from playground.ui.records import SHORT_SHA

MOST_PACKED = 16 * 2**20  # bytes of one page; the oldest go first
_MOST_UNPACKED = 2**30  # of one piece, which is our own
_PACKERS = ThreadPoolExecutor(1, thread_name_prefix="pack runs")  # in the order in which runs end


class Gone(ValueError):
    """Not all of a run is kept."""

    def __init__(self) -> None:
        super().__init__("The server no longer has this run: run it again, then save it.")


@dataclass(frozen=True)
class Made:
    """What one press made: `steps` that end an answer of `ids`."""

    model: ModelInfo
    prompt: Prompt  # of a run that goes on, its ids alone
    params: SamplingParams  # with a seed
    ids: tuple[int, ...]
    steps: tuple[TokenStep, ...]
    finished: Finished | None  # None where it waits, or was ended by its visitor
    control: frozenset[int]  # those of `ids` that are control tokens


@dataclass(frozen=True, eq=False)
class _Asked:
    """A prompt, which several pieces may share."""

    ids: bytes
    packed: bytes  # b"" where only the ids were told


@dataclass(frozen=True, eq=False)
class _Piece:
    """Steps of an answer, the last ones of `ids`."""

    model: ModelInfo
    asked: _Asked
    params: SamplingParams
    ids: bytes
    count: int
    packed: bytes
    finished: Finished | None
    control: frozenset[int]

    def shared(self, ids: bytes) -> int:
        """How many ids it has in common with a path."""
        own, other = memoryview(self.ids).cast("I"), memoryview(ids).cast("I")
        return next(
            (at for at, pair in enumerate(zip(own, other, strict=False)) if pair[0] != pair[1]),
            min(len(own), len(other)),
        )

    def steps(self) -> list[TokenStep]:
        plain = json.loads(inflate(self.packed, _MOST_UNPACKED, GZIP))
        return [from_plain(TokenStep, each) for each in plain]


def stored(trace: Trace) -> Made:
    """What a stored run tells."""
    control = {token.token_id for token in trace.prompt.tokens if token.is_special}
    ids = trace.answer_ids
    special = frozenset(control.union(trace.model.end_ids).intersection(ids))
    return Made(trace.model, trace.prompt, trace.params, ids, trace.steps, trace.finished, special)


def made_by(
    model: ModelInfo,
    words: Words,
    prompt: Prompt,
    params: SamplingParams,
    before: Sequence[int],
    steps: Sequence[TokenStep],
    finished: Finished | None,
) -> Made:
    """What a run made after the ids `before` of its answer."""
    ids = (*before, *(step.token_id for step in steps))
    control = frozenset(filter(words.is_special, set(ids)))
    return Made(model, prompt, params, ids, tuple(steps), finished, control)


class Recent:
    """What one open page made, up to `most` bytes. `note` is for the event loop, `trace` for a thread."""

    def __init__(self, most: int = MOST_PACKED) -> None:
        self._most = most
        self._pieces: tuple[_Piece, ...] = ()  # oldest first; replaced as a whole, by one thread alone
        self._packing: list[Future[None]] = []

    def note(self, made: Made) -> None:
        """Keep what a run made. Packs it elsewhere, later."""
        self._packing = [each for each in self._packing if not each.done()]
        if made.steps:
            self._packing.append(_PACKERS.submit(self._keep, made))

    def trace(
        self,
        prompt_ids: Sequence[int],
        answer_ids: Sequence[int],
        model: str,
        shown: Sequence[tuple[float, float | None]] = (),
    ) -> Trace:
        """The run with these ids, by the model whose sha256 begins with `model`. May block.

        A token that was made twice after the same ones, under different settings, is told apart by `shown`:
        the final probability of each step and its dice, as the board has them. Without it the latest counts.
        Raises Gone where not all of it is kept, ValueError where there is nothing to keep.
        """
        for each in list(self._packing):
            each.result()
        if not answer_ids:
            raise ValueError("There is nothing to save yet: this answer has no token.")
        asked, path = _packed_ids(prompt_ids), _packed_ids(answer_ids)
        pieces = [
            piece
            for piece in reversed(self._pieces)
            if piece.asked.ids == asked and piece.model.sha256[:SHORT_SHA] == model
        ]
        prompt = next((piece.asked.packed for piece in pieces if piece.asked.packed), b"")
        if not prompt:
            raise Gone
        steps, last = _path(pieces, path, shown)
        return _joined(last, from_plain(Prompt, json.loads(inflate(prompt, _MOST_UNPACKED, GZIP))), steps)

    def _keep(self, made: Made) -> None:
        ids = _packed_ids(made.prompt.ids)
        known = (piece.asked for piece in self._pieces if piece.asked.ids == ids)
        asked = next((each for each in known if each.packed or not made.prompt.tokens), None)
        if asked is None:
            asked = _Asked(ids, _packed(made.prompt) if made.prompt.tokens else b"")
        piece = _Piece(
            made.model, asked, made.params, _packed_ids(made.ids), len(made.steps), _packed(made.steps),
            made.finished and replace(made.finished, text="", trimmed=()), made.control,
        )  # fmt: skip
        pieces = (*self._pieces, piece)
        while pieces and _size(pieces) > self._most:
            pieces = pieces[1:]
        self._pieces = pieces


_WIDTH = array("I").itemsize


def _packed_ids(ids: Sequence[int]) -> bytes:
    return array("I", ids).tobytes()


def _packed(value: Any) -> bytes:
    return deflate(json.dumps(to_plain(value)).encode(), GZIP)


def _size(pieces: Sequence[_Piece]) -> int:
    prompts = {id(piece.asked): len(piece.asked.ids) + len(piece.asked.packed) for piece in pieces}
    return sum(prompts.values()) + sum(len(piece.ids) + len(piece.packed) for piece in pieces)


def _path(
    pieces: Sequence[_Piece], path: bytes, shown: Sequence[tuple[float, float | None]]
) -> tuple[list[TokenStep], _Piece]:
    """The steps of a path, and the piece of the last of them; `pieces`, the latest first."""
    unpacked: dict[int, list[TokenStep]] = {}
    reach = [piece.shared(path) for piece in pieces]
    steps: list[TokenStep] = []
    last = None
    for index in range(len(path) // _WIDTH):
        found: list[tuple[TokenStep, _Piece]] = []
        for number, piece in enumerate(pieces):
            first = len(piece.ids) // _WIDTH - piece.count
            if first <= index < reach[number]:
                if number not in unpacked:
                    unpacked[number] = piece.steps()
                found.append((unpacked[number][index - first], piece))
                if not shown:
                    break
        if not found:
            raise Gone
        step, last = min(found, key=lambda each: _unlike(each[0], shown[index])) if shown else found[0]
        steps.append(step)
    assert last is not None
    return steps, last


def _unlike(step: TokenStep, shown: tuple[float, float | None]) -> float:
    """How far a step is from what the board has, in the sum of two shares."""
    final, u = shown
    dice = abs(step.draw.u - u) if step.draw.u is not None and u is not None else step.draw.u is not u
    return abs(step.final_prob - final) + dice


def _joined(last: _Piece, prompt: Prompt, steps: Sequence[TokenStep]) -> Trace:
    """The trace of a path. What it says, and what a stop cut, follows from the ids again."""
    ids = tuple(step.token_id for step in steps)
    whole = last.finished is not None and len(last.ids) == len(ids) * _WIDTH
    finished = last.finished if whole and last.finished else _unfinished(steps)
    texts, trimmed = _texts(steps, last, finished.reason)
    cut = dict(trimmed)
    trace = Trace(
        version=VERSION,
        id=secrets.token_hex(16),
        model=last.model,
        prompt=prompt,
        params=last.params,
        steps=tuple(
            replace(step, lane=0, text=text, trimmed=cut.get(step.index, 0))
            for step, text in zip(steps, texts, strict=True)
        ),
        finished=replace(
            finished, lane=0, text="".join(texts), trimmed=trimmed, prompt_tokens=len(prompt.ids),
            answer_tokens=len(steps),
        ),
        parent=None,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip
    check_trace(trace)
    return trace


def _unfinished(steps: Sequence[TokenStep]) -> Finished:
    """The end of an answer that waits, or that its visitor stopped: what its steps tell of it."""
    made = len(steps)
    later = [_taken(step) for step in steps[1:] if step.forward_s > 0]  # given tokens cost no pass
    each = sum(later) / len(later) if later else None
    return Finished(
        lane=0, text="", trimmed=(), reused_tokens=0, reason="stopped", detail="",
        message=f"Stopped after {made} token{'s' * (made != 1)}.", prompt_tokens=0, answer_tokens=made,
        passes=sum(step.forward_s > 0 for step in steps), prefill_s=steps[0].forward_s,
        ttft_s=_taken(steps[0]) if steps[0].forward_s > 0 else None, tpot_s=each, prefill_tps=None,
        decode_tps=1 / each if each else None,
    )  # fmt: skip


def _taken(step: TokenStep) -> float:
    return step.queue_s + step.forward_s + step.sample_s


@dataclass(frozen=True)
class _Words:
    """The tokens of an answer as a vocabulary, by their places: nothing but the steps is believed."""

    steps: Sequence[TokenStep]
    control: frozenset[int]

    def bytes_of(self, place: int) -> bytes:
        return self.steps[place].bytes

    def is_special(self, place: int) -> bool:
        return self.steps[place].token_id in self.control


def _texts(
    steps: Sequence[TokenStep], last: _Piece, reason: FinishReason
) -> tuple[list[str], tuple[tuple[int, int], ...]]:
    """What each step releases, and the bytes that the end cut, as the engine has them (engine/lane.py)."""
    words, places = cast(Any, _Words(steps, last.control)), range(len(steps))
    texts, matched = _released(places, words, last.params.stop, reason)
    if reason == "stop_string" and matched is not None:
        return texts, trims(words, places, matched)
    if matched is not None:  # given tokens may hold a stop string that ended nothing
        texts, _ = _released(places, words, (), reason)
    return texts, ((places[-1], len(steps[-1].bytes)),) if reason == "end_token" else ()


def _released(
    places: Sequence[int], words: Any, stops: Sequence[str], reason: FinishReason
) -> tuple[list[str], int | None]:
    """What each step releases, and the code point where a stop string begins, if one does."""
    stream, held = TextStream(words), StopFilter(stops)
    texts = []
    for place in places:
        ends = place == places[-1]
        text = "" if ends and reason == "end_token" else held.push(stream.push(place))
        if ends and held.match is None:
            text += held.flush() + stream.flush()
        texts.append(text)
    return texts, held.match_start
