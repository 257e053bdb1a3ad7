"""One worker thread that owns the model: it admits lanes, decodes all of them together, hands out steps."""

from __future__ import annotations

import gc
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import torch
from torch import Tensor

from playground.engine.decode import decode_one, prefill
from playground.engine.lane import Lane, PassTimes
from playground.engine.pool import LogitsPool
from playground.engine.request import Request
from playground.engine.seating import Seating
from playground.engine.slots import Slot, SlotBatch
from playground.engine.stream import Run, Stream
from playground.sampling import NanLogits, row_scores
from playground.text.tokens import Vocabulary
from playground.trace import ModelInfo

CHUNK_ALONE = 256  # tokens read in one pass while nobody else waits for the next token
CHUNK_SHARED = 64

Result = TypeVar("Result")


class Scheduler:
    """Runs lanes of many requests side by side on one model.

    Everything that touches the model, the seats or the pools happens on the worker thread; other threads
    only hand in work and read events. The thread starts with the first work, so that a process which never
    runs anything itself can be forked.
    """

    def __init__(
        self,
        model: Any,
        info: ModelInfo,
        vocabulary: Vocabulary,
        *,
        max_lanes: int,
        kv_bytes: int,
        pool: LogitsPool,
    ) -> None:
        self.model = model
        self.info = info
        self.vocabulary = vocabulary
        self.max_lanes = max_lanes
        self.pool = pool
        self.seating = Seating(model, kv_bytes)
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._runs: dict[Lane, Run] = {}
        self._ready: dict[Lane, float] = {}  # since when the lane waits for its next pass
        self._pieces: deque[Callable[[], None]] = deque()  # one between two passes of the runs
        self._waiting: deque[Lane] = deque()
        self._reading: deque[Lane] = deque()
        self._lone: list[Lane] = []
        self._door = threading.Lock()
        self._closing = False
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="playground-engine", daemon=True)

    # -- for other threads ------------------------------------------------------------------------

    def submit(self, requests: Sequence[Request]) -> Stream:
        """Queue one lane per request; the lanes of a run stream together."""
        run = Run()
        run.lanes = [
            Lane(number, request, self.info, self.vocabulary, self.pool, run.emit)
            for number, request in enumerate(requests)
        ]
        self._hand_in(lambda: self._enter(run))
        return Stream(run)

    def call(self, function: Callable[[], Result]) -> Future[Result]:
        """Run `function` on the worker between two passes of the runs; there is one call between the two."""
        future: Future[Result] = Future()

        def work() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        self._hand_in(lambda: self._pieces.append(work))
        return future

    def _hand_in(self, work: Callable[[], None]) -> None:
        with self._door:
            if self._closing:
                raise RuntimeError("the engine is closed")
            if self._thread.ident is None:
                self._thread.start()
            self._inbox.put(work)

    def status(self) -> dict[str, int]:
        """Lanes running and waiting, and free slots, at this moment."""
        running = len(self.seating.seats)
        return {"running": running, "waiting": len(self._waiting), "free": max(0, self.max_lanes - running)}

    def close(self) -> None:
        """Stop all lanes and the worker thread."""

        def shut() -> None:
            self._closed = True
            for lane in list(self._runs):
                self._end(lane, "stopped")

        with self._door:
            if not self._closing:
                self._closing = True
                self._inbox.put(shut)
        if self._thread.ident is not None:
            self._thread.join(timeout=30)

    # -- the worker -------------------------------------------------------------------------------

    def _work(self) -> None:
        with torch.inference_mode():
            while not self._closed:
                self._receive()
                try:
                    self._turn()
                except Exception as error:  # a fault of ours: nobody may wait for ever because of it
                    for lane in list(self._runs):
                        self._fail(lane, error)
            for piece in self._pieces:  # nobody may wait for ever
                piece()

    def _receive(self) -> None:
        """Take in what others asked for; sleep while there is nothing to do."""
        if not self._runs and not self._pieces:
            self._inbox.get()()
        while not self._inbox.empty():
            self._inbox.get()()

    def _turn(self) -> None:
        for lane in [lane for lane, run in self._runs.items() if run.cancelled]:
            self._end(lane, "stopped")
        if self._pieces:
            self._pieces.popleft()()
        self._admit()
        self._read_chunk()
        self._admit()  # lanes that waited for the prefix just read start in step with its reader
        for batch in list(self.seating.batches):
            self._decode(batch)
        for lane in list(self._lone):
            self._decode_alone(lane)
        self.seating.settle()

    def _enter(self, run: Run) -> None:
        for lane in run.lanes:
            self._runs[lane] = run
            self._ready[lane] = lane.submitted
            self._waiting.append(lane)

    def _admit(self) -> None:
        for lane in list(self._waiting):
            if len(self.seating.seats) >= self.max_lanes or not self.seating.has_room(lane):
                return  # first come, first served: nobody overtakes
            if self.seating.shares_more_with(lane, list(self._reading)):
                continue
            self._waiting.remove(lane)
            try:
                self.seating.sit(lane)
            except Exception as error:
                self._fail(lane, error)
                continue
            self._reading.append(lane)
            self._advance(lane, None, 0)  # with all at hand there is nothing to read

    # -- prefill ----------------------------------------------------------------------------------

    def _read_chunk(self) -> None:
        """One chunk of the prompt (and given answer) of one lane that is not read yet."""
        if not self._reading:
            return
        lane = self._reading.popleft()
        self._reading.append(lane)
        seat = self.seating.seats[lane]
        begin = seat.length
        alone = len(self.seating.seats) == 1 or lane.request.exact  # whose passes never depend on others
        width = (CHUNK_ALONE if alone else CHUNK_SHARED) if isinstance(seat, Slot) else len(lane.ids)
        chunk = lane.ids[begin : begin + width]
        started = time.perf_counter()
        try:
            logits = prefill(self.model, seat, chunk) if isinstance(seat, Slot) else seat.read(chunk)
            self._score(lane, logits, begin)
        except NanLogits as error:
            self._end(lane, "nan_logits", str(error))
            return
        except Exception as error:
            self._fail(lane, error)
            return
        lane.charge_prefill(time.perf_counter() - started)
        lane.prefill_tokens += len(chunk)
        lane.passes += 1
        self._advance(lane, logits, begin)

    def _score(self, lane: Lane, logits: Tensor, begin: int) -> None:
        """Raw logprob and rank of the tokens without a step that the rows of this chunk predict."""
        last = min(begin + len(logits), len(lane.prompt_ids) + lane.request.known - 1)
        wanted = [position for position in range(begin + 1, last + 1) if lane.scores[position] is None]
        if not wanted:
            return
        rows = logits[wanted[0] - 1 - begin : wanted[-1] - begin]
        ids = torch.tensor(lane.ids[wanted[0] : wanted[-1] + 1], device=logits.device)
        logprobs, ranks = row_scores(rows, ids)
        for position, logprob, rank in zip(
            range(wanted[0], wanted[-1] + 1), logprobs.tolist(), ranks.tolist(), strict=True
        ):
            lane.scores[position] = (logprob, rank)

    def _advance(self, lane: Lane, logits: Tensor | None, begin: int) -> None:
        """Make the steps whose rows are there: of this chunk, of the pool, or of a recorded run."""
        seat = self.seating.seats[lane]
        while lane.finished is None and lane.next_row < seat.length:
            position = lane.next_row
            complete = seat.length == len(lane.ids)
            if not lane.next_known and not complete:
                return
            covered = logits is not None and begin <= position < begin + len(logits)
            row = logits[position - begin] if covered and logits is not None else lane.pooled_row()
            cached = position + 1 if lane.request.cache else 0
            times = PassTimes(0.0, lane.uncharged_s, 1, cached, cached * seat.kv_bytes // seat.length)
            if not lane.answer:
                times.queue_s = max(0.0, time.perf_counter() - lane.submitted - lane.prefill_s)
            lane.uncharged_s = 0.0
            was_known = lane.next_known
            self._take(lane, row, times)
            if not was_known and lane.finished is None:
                self._reading.remove(lane)
                self.seating.join(lane)
                if not isinstance(seat, Slot):
                    self._lone.append(lane)
                self._ready[lane] = time.perf_counter()
                return

    # -- decode -----------------------------------------------------------------------------------

    def _decode(self, batch: SlotBatch) -> None:
        lanes = [self.seating.by_slot[slot] for slot in batch.slots]
        started = time.perf_counter()
        try:
            rows = list(decode_one(self.model, batch, [lane.ids[-1] for lane in lanes]))
        except Exception as error:
            if len(lanes) == 1:
                self._fail(lanes[0], error)
                return
            del error
            self._decode_apart(lanes)
            return
        self._hand_out(lanes, rows, started)

    def _decode_apart(self, lanes: list[Lane]) -> None:
        """The common pass failed: find out for whom, and let the others go on."""
        for lane in lanes:
            slot = self.seating.seats[lane]
            assert isinstance(slot, Slot)
            started = time.perf_counter()
            try:
                row = prefill(self.model, slot, [lane.ids[-1]])[0]
            except Exception as error:
                self._fail(lane, error)
                continue
            self._hand_out([lane], [row], started)

    def _decode_alone(self, lane: Lane) -> None:
        seat = self.seating.seats[lane]
        assert not isinstance(seat, Slot)
        started = time.perf_counter()
        try:
            row = seat.read([lane.ids[-1]])[0]
        except Exception as error:
            self._fail(lane, error)
            return
        self._hand_out([lane], [row], started)

    def _hand_out(self, lanes: list[Lane], rows: list[Tensor], started: float) -> None:
        forward_s = time.perf_counter() - started
        for lane, row in zip(lanes, rows, strict=True):
            lane.passes += 1
            seat = self.seating.seats[lane]
            kv_len = seat.length if lane.request.cache else 0
            times = PassTimes(started - self._ready[lane], forward_s, len(lanes), kv_len, seat.kv_bytes)
            self._take(lane, row, times)
            self._ready[lane] = time.perf_counter()

    # -- ending -----------------------------------------------------------------------------------

    def _take(self, lane: Lane, row: Tensor | None, times: PassTimes) -> None:
        try:
            lane.take(row, times)
        except Exception as error:
            self._fail(lane, error)
            return
        if lane.finished is not None:
            self._release(lane, broken=lane.finished.reason == "nan_logits")

    def _end(self, lane: Lane, reason: Any, message: str = "") -> None:
        lane.finish(reason, message=message)
        self._release(lane, broken=reason in ("error", "nan_logits"))

    def _fail(self, lane: Lane, error: Exception) -> None:
        """End the lane in one sentence. The traceback goes at once: its frames hold tensors."""
        message = describe(error)
        error.__traceback__ = None
        memory = isinstance(error, torch.OutOfMemoryError | MemoryError)
        del error
        self._end(lane, "error", message)
        if memory:
            self.seating.prefixes.shrink(0)
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _release(self, lane: Lane, *, broken: bool) -> None:
        """The lane is over: its seat goes to the next, and then its reader is told."""
        run = self._runs.pop(lane, None)
        self._ready.pop(lane, None)
        for place in (self._waiting, self._reading, self._lone):
            if lane in place:
                place.remove(lane)
        try:
            if lane in self.seating.seats:
                self.seating.leave(lane, broken=broken)
        finally:
            if run is not None and lane.finished is not None:
                run.emit(lane.finished)


def describe(error: BaseException, what: str = "run") -> str:
    """One sentence about a failure of the model, for people."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        less = "shorter prompt, fewer lanes or tokens" if what == "run" else "shorter text"
        return f"The machine ran out of memory during this {what}: try a {less}."
    detail = " ".join(str(error).split())[:200]
    return f"The model failed during this {what} ({type(error).__name__}{': ' if detail else ''}{detail})."
