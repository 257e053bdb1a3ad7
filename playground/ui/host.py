"""The engine of this server: loaded in a thread of its own, so that the page is served first."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from playground.findings import Divergence
from playground.settings import Settings
from playground.trace import Event, ModelInfo, Prompt, SamplingParams, TokenStep
from playground.ui.weights import weight_bytes
from playground.ui.zerogpu import gpu_runner

if TYPE_CHECKING:  # it needs torch, which is imported behind the page
    from playground.engine.inside import Inside

log = logging.getLogger(__name__)
Progress = Callable[[str, float], None]  # what is being done, and the share of it from 0 to 1


class Words(Protocol):
    """What the page needs of a vocabulary."""

    size: int

    @property
    def added(self) -> dict[int, str]: ...
    def bytes_of(self, token_id: int) -> bytes: ...
    def visible(self, token_id: int) -> str: ...
    def is_special(self, token_id: int) -> bool: ...
    def encode(self, text: str) -> list[int]: ...


class EventStream(Protocol):
    """Events of a run as they come. `close()`, from any thread, ends the run within a step; after `stop()`,
    which does the same, one goes on reading what was made and why it ended."""

    def __iter__(self) -> Iterator[Event]: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...


class Engine(Protocol):
    """What the page needs of an engine. What one `owner` asked is kept for that owner alone."""

    @property
    def info(self) -> ModelInfo: ...
    @property
    def vocabulary(self) -> Words: ...
    @property
    def inside(self) -> Inside | None:
        """What looks inside the model; None where that cannot be done."""

    def chat(self, messages: Any, *, template: str | None = None, thinking: bool | None = None) -> Prompt: ...
    def raw(self, text: str) -> Prompt: ...
    def stream(
        self,
        prompt: Prompt,
        params: SamplingParams | Sequence[SamplingParams],
        *,
        forced: Sequence[int] = (),
        known: int = 0,
        watched: Sequence[int] = (),
        exact: bool = False,
        owner: str = "",
    ) -> EventStream: ...
    def redistribute_ids(
        self,
        prompt_ids: Sequence[int],
        answer_ids: Sequence[int],
        step: int,
        params: SamplingParams,
        *,
        token_id: int | None = None,
        u: float | None = None,
        watched: Sequence[int] = (),
        owner: str = "",
    ) -> TokenStep: ...
    def picks(
        self,
        prompt_ids: Sequence[int],
        answer_ids: Sequence[int],
        step: int,
        params: Sequence[SamplingParams],
        *,
        watched: Sequence[int] = (),
        owner: str = "",
    ) -> list[list[TokenStep]]: ...
    def divergences(
        self,
        prompt_ids: Sequence[int],
        answers: tuple[Sequence[int], Sequence[int]],
        params: tuple[SamplingParams, SamplingParams],
        *,
        owner: str = "",
    ) -> tuple[Divergence, ...]: ...
    def close_when_unused(self) -> None: ...


class NoEngine(Exception):
    """The model could not be loaded: one sentence."""


@dataclass(frozen=True)
class Loading:
    """How far the load is."""

    text: str
    share: float  # from 0 to 1

    @property
    def told(self) -> str:
        """What somebody reads who waits for it to run something."""
        share = f" ({self.share:.0%})" if 0 < self.share < 1 else ""
        return f"The model is loading{share}: your run starts by itself when it is there. {self.text}"


@dataclass(frozen=True)
class Coming:
    """A model that is being loaded to take over, or why it could not be."""

    name: str
    loading: Loading
    failure: str | None = None


class Host:
    """Starts loading at once; `engine()` waits for it. Nothing of a visitor is kept here."""

    def __init__(
        self, load: Callable[[Progress], Engine], other: Callable[[str, Progress], Engine] | None = None
    ) -> None:
        self._load, self._other = load, other
        self._ready: Engine | None = None
        self._failure: str | None = None
        self._loading = Loading("Starting", 0.0)
        self.pace: float | None = None  # bytes of weights read per second in the fastest run so far
        self.coming: Coming | None = None  # the model that is to take over
        threading.Thread(target=self._work, name="load the model", daemon=True).start()

    @property
    def ready(self) -> Engine | None:
        return self._ready

    @property
    def failure(self) -> str | None:
        return self._failure

    @property
    def loading(self) -> Loading:
        return self._loading

    async def engine(self, told: Callable[[Loading], None] = lambda loading: None) -> Engine:
        """The engine, once it is there. `told` hears how far it is. Raises NoEngine if the load failed."""
        last = None
        while self._ready is None:
            if self._failure is not None:
                raise NoEngine(self._failure)
            if self._loading is not last:
                last = self._loading
                told(last)
            await asyncio.sleep(0.1)
        return self._ready

    def note_speed(self, engine: Engine, tokens_per_second: float | None) -> None:
        """A run of one lane wrote at this speed."""
        weights = weight_bytes(engine)
        if weights and tokens_per_second:
            self.pace = max(self.pace or 0.0, weights * tokens_per_second)

    def switch(self, name: str) -> None:
        """Load the model `name` behind the one at work, which goes on, and stays if that fails.

        Raises ValueError, in a sentence, while a model is being loaded already.
        """
        if self._other is None:
            raise ValueError("This server runs one model only.")
        loads = self.coming is not None and self.coming.failure is None
        if loads or (self._ready is None and self._failure is None):
            raise ValueError("A model is being loaded already: please wait until it is there.")
        self.coming = Coming(name, Loading("Starting", 0.0))
        threading.Thread(
            target=self._take_over, args=(name, self._other), name="switch models", daemon=True
        ).start()

    def _take_over(self, name: str, load: Callable[[str, Progress], Engine]) -> None:
        def note(text: str, share: float) -> None:
            self.coming = Coming(name, Loading(text, share))

        try:
            engine = load(name, note)
        except Exception as error:
            self.coming = Coming(name, Loading("", 0.0), str(error) or type(error).__name__)
            return
        old, self._ready = self._ready, engine
        self._failure = self.coming = None
        if old is not None:
            old.close_when_unused()

    def _work(self) -> None:
        try:
            self._ready = self._load(self._note)
        except Exception as error:
            self._failure = str(error) or type(error).__name__

    def _note(self, text: str, share: float) -> None:
        self._loading = Loading(text, share)


def load_other(settings: Settings, name: str, progress: Progress) -> Engine:
    """The engine of another model than the settings ask for, otherwise by them."""
    return load_engine(replace(settings, model=name), progress)


def load_engine(settings: Settings, progress: Progress) -> Engine:
    """The engine that the settings ask for. Imports torch, which takes seconds: not for the main thread.

    Raises whatever went wrong; where strangers read it, a sentence that names no place on this machine.
    """
    try:
        return _load_engine(settings, progress)
    except Exception:
        if not settings.closed:
            raise
        log.exception("loading the model")
        raise ValueError("The model could not be loaded: the server's log says why.") from None


def _load_engine(settings: Settings, progress: Progress) -> Engine:
    progress("Starting", 0.0)
    from playground.engine.local import LocalEngine
    from playground.engine.models import load_model
    from playground.text.chat import warm_up

    warm_up()
    limits = {
        "max_lanes": settings.max_lanes,
        "kv_mb": settings.kv_mb,
        "logits_pool_mb": settings.logits_pool_mb,
    }
    runner = gpu_runner()
    if runner is not None and settings.device in ("auto", "cuda"):
        from playground.engine.inline import InlineEngine

        dtype = "bfloat16" if settings.dtype == "auto" else settings.dtype
        loaded = load_model(settings.model, device="cpu", dtype=dtype, progress=progress)
        return InlineEngine(loaded, runner, device="cuda", **limits)
    loaded = load_model(settings.model, device=settings.device, dtype=settings.dtype, progress=progress)
    return LocalEngine(loaded, **limits)
