"""One press of Generate, from the form to the last token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from playground.settings import Settings
from playground.trace import Finished, Prompt, SamplingParams, TokenStep
from playground.ui.host import Engine, Host, Loading, NoEngine
from playground.ui.records import Op, Recorder
from playground.ui.seats import Seats
from playground.ui.stream import Outbox, events_of
from playground.ui.weights import weight_bytes

FAILURES = ("error", "nan_logits", "no_token_left")  # ends that are nobody's wish
log = logging.getLogger(__name__)
MOST_CHARACTERS = 2_000_000  # of one text from a visitor


@dataclass(frozen=True)
class Server:
    """What all visitors share: the engine, its seats, the limits. Nothing of any visitor."""

    host: Host
    seats: Seats
    settings: Settings

    async def prompt(self, engine: Engine, said: Any) -> Prompt:
        """The prompt for messages (a list) or raw text (a string). Raises ValueError in a sentence."""
        make = engine.raw if isinstance(said, str) else engine.chat
        prompt = await asyncio.to_thread(make, said)
        most = self.settings.max_prompt_tokens
        if len(prompt.ids) > most:
            raise ValueError(
                f"This prompt has {len(prompt.ids):,} tokens and this server reads at most {most:,}: "
                "please shorten it."
            )
        return prompt

    def check(self, params: SamplingParams) -> SamplingParams:
        """The settings, if this server allows them. Raises ValueError in a sentence."""
        most = self.settings.max_new_tokens
        if params.max_tokens > most:
            raise ValueError(f"max_tokens must be at most {most} on this server, got {params.max_tokens}")
        return params


@dataclass(frozen=True)
class Form:
    """What a visitor typed and set."""

    said: Any  # messages, or a string of raw text
    params: SamplingParams


def read_form(mode: str, texts: dict[str, str | None], numbers: dict[str, float | None]) -> Form:
    """Checks what came from the page. Raises ValueError in a sentence.

    Of `texts`, `seed` is one since JavaScript's numbers end at 2^53, and `stops` has one stop string a line,
    taken literally; `system` may be empty. `numbers` are fields of SamplingParams.
    """
    system, prompt, seed, stops = (texts[name] or "" for name in ("system", "prompt", "seed", "stops"))
    for name, text in (("system message", system), ("prompt", prompt), ("stop box", stops)):
        if len(text) > MOST_CHARACTERS:
            raise ValueError(f"The {name} has {len(text):,} characters; the most is {MOST_CHARACTERS:,}.")
    if not prompt:
        raise ValueError("Please type a prompt first.")
    for name, number in numbers.items():
        if number is None:
            raise ValueError(f"Please set {name.replace('_', ' ')}: it is empty.")
    seed = seed.strip()
    if seed and not (seed.isascii() and seed.isdecimal() and len(seed) <= 20):
        raise ValueError(f"seed must be a whole number from 0 to 18446744073709551615, got {seed!r:.80}")
    params = SamplingParams(
        seed=int(seed) if seed else None,
        stop=tuple(line for line in stops.split("\n") if line),
        **numbers,  # type: ignore[arg-type]
    )
    if mode == "raw":
        return Form(prompt, params)
    said = [{"role": "user", "content": prompt}]
    if system:
        said.insert(0, {"role": "system", "content": system})
    return Form(said, params)


async def generate(server: Server, outbox: Outbox, read: Callable[[], Form]) -> None:
    """Run what `read` gives and post what happens.

    Errors become one sentence; the board keeps what it showed.
    """
    try:
        await _generate(server, outbox, read())
    except asyncio.CancelledError:
        outbox.post(status("idle", "Stopped."))
        raise
    except Exception as error:
        if not isinstance(error, ValueError | NoEngine):  # not the visitor's doing: the log tells us where
            log.exception("a run failed")
        outbox.post(status("error", sentence(error)))


async def _generate(server: Server, outbox: Outbox, form: Form) -> None:
    params = server.check(form.params)
    engine = await server.host.engine(lambda loading: outbox.post(status("loading", _progress(loading))))
    prompt = await server.prompt(engine, form.said)

    def told(place: int) -> None:
        outbox.post(status("waiting", f"All {server.seats.total} lanes are busy: you are number {place}."))

    async with server.seats.seat(told):
        outbox.post(status("reading", f"Reading the prompt: {len(prompt.ids):,} tokens in one pass."))
        outbox.recorder = Recorder(visible=engine.vocabulary.visible, is_special=engine.vocabulary.is_special)
        begun = False
        ended: Finished | None = None
        try:
            async with aclosing(events_of(engine.stream(prompt, params))) as events:
                async for event in events:
                    if isinstance(event, Prompt):
                        begun = True
                        outbox.post(outbox.recorder.reset(engine.info, lanes=1, weights=weight_bytes(engine)))
                        outbox.post(outbox.recorder.prompt(event))
                        outbox.post(status("writing", "Writing."))
                    elif isinstance(event, TokenStep):
                        outbox.post(event)
                    else:
                        ended = event
                        outbox.post(outbox.recorder.end(event))
        except asyncio.CancelledError:
            if begun and not ended:
                outbox.post({"op": "end", "lane": 0, "reason": "stopped", "message": "You stopped it."})
            raise
    failed = ended if ended is not None and ended.reason in FAILURES else None
    outbox.post(status("error", failed.message) if failed else status("idle", ""))


def _progress(loading: Loading) -> str:
    share = f" ({loading.share:.0%})" if 0 < loading.share < 1 else ""
    return f"The model is loading{share}: your run starts by itself when it is there. {loading.text}"


def status(state: str, text: str) -> Op:
    return {"op": "status", "state": state, "text": text}


def sentence(error: BaseException) -> str:
    """One line for people, without a traceback and not too long."""
    text = " ".join(str(error).split())
    return (text or f"Something went wrong ({type(error).__name__}).")[:500]
