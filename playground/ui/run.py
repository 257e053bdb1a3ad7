"""One press of Generate, from the form to the last token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from playground.engine.request import check_ids
from playground.settings import Settings
from playground.store import Store
from playground.trace import Finished, Prompt, SamplingParams, TokenStep, Trace
from playground.ui.branch import (
    NEW_RUN,
    Order,
    changed_prompt,
    check_model,
    read_order,
    room,
    typed_ids,
)
from playground.ui.conversation import banned_ids, bias_by_id, has_thinking_switch, watched_tokens
from playground.ui.form import Form
from playground.ui.host import Engine, Host, NoEngine
from playground.ui.pace import Paused, Plan, last_text, paced
from playground.ui.recent import Recent, made_by
from playground.ui.records import Op, Recorder
from playground.ui.seats import Seats
from playground.ui.stream import Outbox, Transport
from playground.ui.visitors import NOBODY, Visitor, Visitors, read_owner
from playground.ui.weights import weight_bytes

FAILURES = ("error", "nan_logits", "no_token_left")  # ends that are nobody's wish
MOST_STOPS = 64  # stop strings of a stranger's run
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Server:
    """What all visitors share: the engine, its seats, the limits, the store. Nothing of any visitor."""

    host: Host
    seats: Seats
    settings: Settings
    visitors: Visitors = field(default_factory=Visitors)
    store: Store | None = None  # of saved runs
    as_page: Callable[[Trace], str] | None = None  # a run as an HTML file that needs no server

    def owner(self, asked: Any) -> str:
        """Whose a request is: of the page that sent it, where strangers use this server; else nobody's."""
        return read_owner(asked) if self.settings.closed else ""

    def visitor(self, asked: Any, request: Any = None) -> Visitor:
        """Who asks. `request`: Gradio's or Starlette's."""
        client = getattr(request, "client", None)
        return Visitor(self.owner(asked), client.host if client is not None else "")

    @asynccontextmanager
    async def seat(
        self, by: Visitor, told: Callable[[int], None] = lambda place: None, count: int = 1
    ) -> AsyncIterator[None]:
        """Hold seats, see Seats.seat, if this visitor may have so many more. Raises Busy if not."""
        with self.visitors.run(by.address, count):
            async with self.seats.seat(told, count):
                yield

    async def prompt(self, engine: Engine, said: Any, thinking: bool | None = None) -> Prompt:
        """The prompt for messages (a list) or raw text (a string). Raises ValueError in a sentence."""
        if isinstance(said, str):
            return self.check_prompt(await asyncio.to_thread(engine.raw, said))
        switch: dict[str, Any] = (
            {"thinking": thinking} if thinking is not None and has_thinking_switch(engine) else {}
        )
        return self.check_prompt(await asyncio.to_thread(engine.chat, said, **switch))

    def check_prompt(self, prompt: Prompt) -> Prompt:
        """The prompt, if this server reads one so long. Raises ValueError in a sentence."""
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
        if self.settings.closed and len(params.stop) > MOST_STOPS:  # all wait while one lane looks for them
            raise ValueError(
                f"There may be at most {MOST_STOPS} stop strings on this server, got {len(params.stop):,}."
            )
        return params


async def generate(
    server: Server,
    outbox: Outbox,
    read: Callable[[], Form],
    order: Order = NEW_RUN,
    transport: Transport | None = None,
    by: Visitor = NOBODY,
    recent: Recent | None = None,
) -> None:
    """Run what `read` gives, or go on with a run as `order` says, and post what happens.

    Errors become one sentence; the board keeps what it showed. `recent` keeps what was made.
    """
    transport = transport or Transport()
    try:
        with server.visitors.run(by.address):
            await _generate(server, outbox, read(), order, transport, by, recent)
    except asyncio.CancelledError:
        paused = transport.pausing
        outbox.post(status("paused", "Paused.") if paused else status("idle", "Stopped."))
        raise
    except Exception as error:
        if not isinstance(error, ValueError | NoEngine):  # not the visitor's doing: the log tells us where
            log.exception("a run failed")
        outbox.post(status("error", sentence(error)))


async def go_on(
    server: Server,
    outbox: Outbox,
    said: Any,
    read: Callable[[bool], Form],
    transport: Transport,
    by: Visitor = NOBODY,
    recent: Recent | None = None,
) -> None:
    """What the board orders (see branch.py) under the settings of the form.

    `read` gives the form, and is told whether its prompt counts.
    """
    try:
        order = read_order(said)
    except ValueError as error:
        outbox.post(status("error", sentence(error)))
        return
    await generate(server, outbox, lambda: read(order.prompt_ids is None), order, transport, by, recent)


async def _generate(
    server: Server,
    outbox: Outbox,
    form: Form,
    order: Order,
    transport: Transport,
    by: Visitor,
    recent: Recent | None,
) -> None:
    params = server.check(form.params)
    engine = await server.host.engine(lambda loading: outbox.post(status("loading", loading.told)))
    recorder = outbox.recorder = Recorder(
        visible=engine.vocabulary.visible, is_special=engine.vocabulary.is_special
    )
    banned, bias = banned_ids(engine, form.banned), bias_by_id(engine, form.biases)
    params = replace(params, banned=banned, logit_bias=bias)
    watched = watched_tokens(engine, form.watched)
    plan, opening = await _plan(server, engine, recorder, form, params, order)
    plan = replace(plan, watched=tuple(each["id"] for each in watched), owner=by.owner)

    begun = waited = False
    read: Prompt | None = None
    made: list[TokenStep] = []

    def told(place: int) -> None:
        nonlocal waited
        waited = True
        outbox.post(status("waiting", f"All {server.seats.total} lanes are busy: you are number {place}."))

    def seated() -> None:
        nonlocal waited
        if begun and waited:
            outbox.post(status("writing", "Writing."))
        elif not begun:
            reads = f"Reading the prompt: {len(plan.prompt.ids):,} tokens in one pass."
            outbox.post(status("going", "Going on.") if order.goes_on else status("reading", reads))
        waited = False

    ended: Finished | None = None
    waits = False
    try:
        async with aclosing(paced(engine, server.seats, plan, transport, told=told, seated=seated)) as events:
            async for event in events:
                if isinstance(event, Prompt):
                    begun, read = True, event
                    if not order.goes_on:
                        new = order.prompt_ids is None and not isinstance(form.said, str)
                        outbox.post({"op": "turn", "messages": form.said if new else None})
                    outbox.post(opening)
                    if watched:
                        outbox.post({"op": "watch", "tokens": watched})
                    if not order.goes_on:
                        outbox.post(recorder.prompt(event))
                    outbox.post(status("writing", "Writing."))
                elif isinstance(event, TokenStep):
                    made.append(event)
                    outbox.post(event)
                elif isinstance(event, Paused):
                    waits = True
                    outbox.post({"op": "pause", "lane": 0})
                else:
                    ended = event
                    server.host.note_speed(engine, event.decode_tps)
                    outbox.post(recorder.end(event))
    except asyncio.CancelledError:
        if begun and not ended:
            if transport.pausing:
                outbox.post({"op": "pause", "lane": 0})
            else:
                outbox.post({"op": "end", "lane": 0, "reason": "stopped", "message": "You stopped it."})
        elif not begun:
            transport.pausing = False  # nothing is there to go on with
        raise
    finally:
        if recent is not None and read is not None:
            before = plan.forced[: plan.known]
            recent.note(made_by(engine.info, engine.vocabulary, read, plan.params, before, made, ended))
    failed = ended if ended is not None and ended.reason in FAILURES else None
    if waits:
        done = "One step" if order.kind == "step" else "What you wrote is there"
        outbox.post(status("paused", f"{done}. The run waits."))
    else:
        outbox.post(status("error", failed.message) if failed else status("idle", ""))


async def _plan(
    server: Server, engine: Engine, recorder: Recorder, form: Form, params: SamplingParams, order: Order
) -> tuple[Plan, Op]:
    """What to run, and the operation that opens it on the board. Raises ValueError in a sentence."""
    if params.seed is None and order.seed is not None:  # a fork rolls what its parent rolled
        params = replace(params, seed=order.seed)
    params = params.seeded()
    if order.prompt_ids is None:
        prompt = await server.prompt(engine, form.said, form.thinking)
        plan = Plan(prompt, params, pause_at=1 if order.kind == "step" else None)
        return plan, _opening(engine, recorder, params, order)
    if order.model is not None:
        check_model(engine.info, order.model)
    for ids in (order.prompt_ids, order.forced):
        check_ids("this run", ids, engine.info)
    typed = await asyncio.to_thread(typed_ids, engine, order)
    if not order.goes_on:
        changed = await asyncio.to_thread(changed_prompt, engine, order, typed)
        return Plan(server.check_prompt(changed), params), _opening(engine, recorder, params, order)
    prompt = server.check_prompt(Prompt("", (), (), order.prompt_ids, None))
    forced = (*order.forced, *typed)
    params = replace(params, max_tokens=room(params.max_tokens, len(forced), server.settings.max_new_tokens))
    text = last_text(engine.vocabulary, params.stop, order.forced[: order.known])
    given = forced[order.known :]
    opening = recorder.branch(order.node, order.kind, order.known, text, given, params)
    pause_at = None
    if order.kind == "step":
        pause_at = max(order.known + 1, len(forced))
    elif order.wait:
        pause_at = len(forced)
    return Plan(prompt, params, forced, order.known, pause_at), opening


def _opening(engine: Engine, recorder: Recorder, params: SamplingParams, order: Order) -> Op:
    opening = recorder.reset(engine.info, lanes=1, weights=weight_bytes(engine), params=params)
    return {**opening, "beside": True} if order.beside else opening


def status(state: str, text: str) -> Op:
    return {"op": "status", "state": state, "text": text}


def sentence(error: BaseException) -> str:
    """One line for people, without a traceback and not too long."""
    text = " ".join(str(error).split())
    return (text or f"Something went wrong ({type(error).__name__}).")[:500]
