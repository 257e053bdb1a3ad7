"""InlineEngine: each run in a process of its own that is forked for it, as ZeroGPU wants it.

There the accelerator is lent to a forked process for the time of one generator: its arguments and all it
yields are pickled, and what it keeps is lost with it. So this process never runs the model. It holds the
weights, checks what is asked, and makes prompts; the forked one finds the engine by its number, runs the
lanes of one request to their end, and reads every prefix anew.
"""

from __future__ import annotations

import itertools
import mmap
import random
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.engine.request import Request
from playground.engine.stream import Stream
from playground.findings import Divergence
from playground.text.tokens import TextStream, Vocabulary
from playground.trace import Event, Finished, TokenStep

MOST_AT_ONCE = mmap.PAGESIZE
_FORKING_S = 10.0  # how long a run tries to get its process

Apart = Callable[[int, Sequence[Request], int], Iterator[Event]]

_engines: weakref.WeakValueDictionary[int, InlineEngine] = weakref.WeakValueDictionary()
_numbers = itertools.count()
# One byte a run, in memory that a process and those forked from it share: 1 asks the run to stop.
_stops = mmap.mmap(-1, MOST_AT_ONCE)
_free = set(range(MOST_AT_ONCE))


def run_apart(number: int, requests: Sequence[Request], place: int) -> Iterator[Event]:
    """The events of one request to engine `number`. To be decorated with what runs a generator in a fork."""
    engine = _engines.get(number)
    if engine is None:
        raise RuntimeError("the model was changed meanwhile")
    yield from engine.run_here(requests, place)


class InlineEngine(LocalEngine):
    """LocalEngine whose model runs in forked processes only.

    `apart` is `run_apart`, decorated. `device`: where a forked process moves the model before it runs; None
    where it stays. What needs logits of a run that is over, or a look inside the model, is not available.
    """

    def __init__(self, loaded: Loaded, apart: Apart, *, device: str | None = None, **limits: Any) -> None:
        if device is not None:
            loaded = replace(loaded, info=replace(loaded.info, device=device))
        super().__init__(loaded, **limits)
        self.capabilities = replace(self.capabilities, full_logits=False, attention=False)
        self.inside = None
        self._device = device
        self._start_here = self._start
        self._start = self._start_apart
        self._apart = apart
        self._number = next(_numbers)
        _engines[self._number] = self

    def run_here(self, requests: Sequence[Request], place: int) -> Iterator[Event]:
        """What the forked process does: run, and look after each event whether it shall stop."""
        if self._device is not None:
            self.model.to(self._device)
        with self._start_here(requests) as stream:
            for event in stream:
                if _stops[place]:
                    stream.stop()
                yield event

    def redistribute_ids(self, *asked: Any, **more: Any) -> NoReturn:
        """Raises ValueError: no logits are kept."""
        _refuse()

    def picks(self, *asked: Any, **more: Any) -> NoReturn:
        """Raises ValueError: no logits are kept."""
        _refuse()

    def divergences(self, *asked: Any, **more: Any) -> tuple[Divergence, ...]:
        """Raises ValueError: no logits are kept."""
        _refuse()

    def _start_apart(self, requests: Sequence[Request]) -> InlineStream:
        self._check(requests)
        return InlineStream(self, requests)

    def apart(self, requests: Sequence[Request], place: int) -> Iterator[Event]:
        """The events of `requests`, as they come from the forked process.

        Tries again where another process was being forked at that very moment: filelock, which comes with the
        hub's library, refuses the second one from Python 3.12 on.
        """
        latest = time.monotonic() + _FORKING_S
        while True:
            begun = False
            try:
                for event in self._apart(self._number, requests, place):
                    begun = True
                    yield event
                return
            except RuntimeError as error:
                if begun or "os.fork is unsafe" not in str(error) or time.monotonic() > latest:
                    raise
            time.sleep(random.uniform(0.002, 0.05))


class InlineStream(Stream):
    """The events of a run in another process, which begins when the first is asked for.

    `stop()` and `close()`, from any thread, end it within a step, as with other streams.
    """

    def __init__(self, engine: InlineEngine, requests: Sequence[Request]) -> None:
        self._asked = False
        self._ended = False
        self._place: int | None = None  # of its byte in `_stops`, while it goes
        self._door = threading.Lock()
        self._events = self._read(engine, requests)

    def __next__(self) -> Event:
        if not self._ended:
            event = next(self._events)
        if self._ended:
            self._events.close()  # by its reader alone: a generator cannot be closed while it runs
            raise StopIteration
        return event

    def stop(self) -> None:
        with self._door:
            self._asked = True
            if self._place is not None:
                _stops[self._place] = 1

    def close(self) -> None:
        self._ended = True
        self.stop()

    def _read(self, engine: InlineEngine, requests: Sequence[Request]) -> Generator[Event]:
        """The events. A process that fails is told in one sentence: before any came by ValueError, later by
        the end of each lane."""
        made: list[list[int]] = [list(request.forced[: request.known]) for request in requests]
        going = dict(enumerate(requests))
        begun = False
        place = self._sit()
        try:
            for event in engine.apart(requests, place):
                begun = True
                if isinstance(event, TokenStep):
                    made[event.lane].append(event.token_id)
                elif isinstance(event, Finished):
                    del going[event.lane]
                yield event
        except Exception as error:
            words = " ".join(str(getattr(error, "message", error)).split())[:300] or type(error).__name__
            sentence = f"The run could not go on ({words})."
            if not begun:
                raise ValueError(sentence) from None
        else:
            sentence = "The run could not go on: its process ended."
        finally:
            self._leave(place)
        for lane, request in going.items():
            yield _broken(lane, request, made[lane], engine.vocabulary, sentence)

    def _sit(self) -> int:
        with self._door:
            if not _free:
                raise ValueError("Too many runs at once: please wait for some to end.")
            self._place = place = _free.pop()
            _stops[place] = self._asked
        return place

    def _leave(self, place: int) -> None:
        with self._door:
            self._place = None
            _free.add(place)


def _broken(
    lane: int, request: Request, ids: Sequence[int], vocabulary: Vocabulary, sentence: str
) -> Finished:
    """The end of a lane whose process failed: what had come of it stays."""
    reading = TextStream(vocabulary)
    text = "".join(map(reading.push, ids)) + reading.flush()
    return Finished(
        lane=lane,
        text=text,
        trimmed=(),
        reused_tokens=0,
        reason="error",
        detail="",
        message=sentence,
        prompt_tokens=len(request.prompt.ids),
        answer_tokens=len(ids),
        passes=0,  # it did not live to tell
        prefill_s=0.0,
        ttft_s=None,
        tpot_s=None,
        prefill_tps=None,
        decode_tps=None,
    )


def _refuse() -> NoReturn:
    raise ValueError("Not available here: this server keeps no logits once a run is over.")
