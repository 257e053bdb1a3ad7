"""What the share panel asks for: to keep a run under a link, to hand it out as a file, to show one again.

Nothing is kept unless a visitor saves it. What comes from a link or a file is checked as any stranger's, and
shown without running a model.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from playground.comparing import csv_of_steps
from playground.findings import Comparison
from playground.links import Setup
from playground.settings import Settings
from playground.trace import ModelInfo, Trace
from playground.ui.again import make_again
from playground.ui.asked import read_choice, read_ids, read_list, read_object
from playground.ui.compared import replay as replay_lanes
from playground.ui.host import Engine
from playground.ui.kept import apart, chosen, file_op, keep, read_file, saved
from playground.ui.lanes import Bench
from playground.ui.recent import Gone, stored
from playground.ui.recorded import recorded_trace
from playground.ui.recorded import replay as replay_steps
from playground.ui.records import SHORT_SHA, Op, settings
from playground.ui.run import Server, sentence, status
from playground.ui.setups import setup_of
from playground.ui.stream import Outbox, Session
from playground.ui.visitors import Visitor
from playground.ui.weights import weight_bytes

WHAT = ("run", "comparison")
FORMATS = ("json", "csv", "page")
MOST_OF_A_STRANGER = 8 * 2**20  # packed bytes of one saved run, where strangers use the server
_MOST_IDS = 1_000_000
_MOST_ID = 2**31
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Page:
    """What the server keeps for one open page."""

    session: Session  # of the Playground tab
    bench: Bench


# -- what the page asks for -------------------------------------------------------------------------


async def save(server: Server, outbox: Outbox, page: Page, asked: Any, by: Visitor) -> None:
    """Keep what the visitor points at, and post the id of its link. Errors become one sentence."""
    with _told(server, outbox, by):
        if server.store is None:
            raise ValueError("This server keeps no runs: save it as a file.")
        item = await _found(server, outbox, page, asked, by)
        most = MOST_OF_A_STRANGER if server.settings.closed else None
        with server.visitors.save(by.address):
            id = await asyncio.to_thread(server.store.save, item, most)
        outbox.post({"op": "saved", "id": id, "days": server.settings.store_days, "what": asked["what"]})


async def file(server: Server, outbox: Outbox, page: Page, asked: Any, by: Visitor) -> None:
    """Post what the visitor points at as a file. Errors become one sentence."""
    with _told(server, outbox, by):
        asked = read_object(asked, "a file")
        if asked.get("what") == "comparison" and page.bench.kept is not None:
            outbox.post(await asyncio.to_thread(saved, page.bench.kept, asked))
            return
        form = read_choice(asked.get("format"), "format", FORMATS)
        trace = await _found(server, outbox, page, asked, by)
        assert isinstance(trace, Trace)
        outbox.post(await asyncio.to_thread(_file, trace, form, server.as_page))


async def reopen(server: Server, outbox: Outbox, page: Page, asked: Any, by: Visitor) -> None:
    """Show what the page read from a file. Errors become one sentence; the boards stay."""
    with _told(server, outbox, by):
        await _show(server, outbox, page, await apart(read_file, asked, _read))


async def replay(server: Server, outbox: Outbox, page: Page, asked: Any, by: Visitor) -> None:
    """Show what a link leads to. Errors become one sentence; the boards stay."""
    with _told(server, outbox, by):
        if server.store is None:
            raise ValueError("This link leads to nothing: this server keeps no runs.")
        id = read_object(asked, "a link").get("id")
        await _show(server, outbox, page, await apart(server.store.load, id))


# -- what is pointed at -----------------------------------------------------------------------------


async def _found(server: Server, outbox: Outbox, page: Page, asked: Any, by: Visitor) -> Trace | Comparison:
    """What is on a board of the page, made again where nobody has it. Raises ValueError in a sentence."""
    asked = read_object(asked, "what to save")
    try:
        return await asyncio.to_thread(_item, page, asked)
    except Gone:
        if asked.get("again") is None:
            raise
    outbox.post({"op": "again"})
    shown = _shown(asked.get("shown"), len(asked["ids"]))
    await make_again(server, page.session.recent, asked, shown, by)
    return await asyncio.to_thread(_item, page, asked)


def _item(page: Page, asked: dict[str, Any]) -> Trace | Comparison:
    """What is on a board of the page. Raises ValueError in a sentence."""
    if read_choice(asked.get("what"), "what", WHAT) == "comparison":
        if page.bench.kept is None:
            raise ValueError("There is nothing to save: run a comparison first, one that is not too large.")
        return chosen(page.bench.kept, asked)
    prompt_ids = read_ids(asked.get("prompt_ids"), "prompt_ids", 1, _MOST_IDS, _MOST_ID)
    ids = read_ids(asked.get("ids"), "ids", 0, _MOST_IDS, _MOST_ID)
    model = asked.get("model")
    if not isinstance(model, str):
        raise ValueError("a run must name its model")
    shown = _shown(asked.get("shown"), len(ids))
    try:
        return page.session.recent.trace(prompt_ids, ids, model, shown)
    except Gone:
        trace = _shipped()  # which every page shows at first, and no session made
        if trace is None or (trace.prompt.ids, trace.answer_ids) != (tuple(prompt_ids), tuple(ids)):
            raise
        if trace.model.sha256[:SHORT_SHA] != model:
            raise
        return replace(trace, id=secrets.token_hex(16))  # a link of its own to each who saves it


def _shipped() -> Trace | None:
    with suppress(ValueError):
        return recorded_trace()
    return None


def _shown(asked: Any, count: int) -> list[tuple[float, float | None]]:
    """Final probability and dice of each step, as the board has them; empty if it does not say."""
    if asked is None:
        return []
    shown = []
    for pair in read_list(asked, "shown", count, count):
        match pair:
            case [int() | float() as final, (int() | float() | None) as u]:
                shown.append((float(final), None if u is None else float(u)))
            case _:
                raise ValueError("shown must hold a final probability and the dice of each step")
    return shown


def _file(trace: Trace, form: str, as_page: Callable[[Trace], str] | None) -> Op:
    """A run as the file that the page asks for. Raises ValueError in a sentence."""
    if form == "json":
        return file_op("run.trace.json", "application/json", trace.to_json(), "run")
    if form == "csv":
        return file_op("run.csv", "text/csv", csv_of_steps(trace.steps), "run")
    if as_page is None:
        raise ValueError("Not available here: this server makes no pages of runs.")
    return file_op("run.html", "text/html", as_page(trace), "run")


def _read(text: bytes) -> Trace | Comparison | Setup:
    """What a file holds, by the fields that it has. Raises ValueError in a clause."""
    try:
        held = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("it is not JSON") from None
    names = set(held) if isinstance(held, dict) else set()
    del held  # it may be large, and is read again
    if "traces" in names:
        return Comparison.from_json(text)
    if "steps" in names:
        return Trace.from_json(text)
    if "v" in names:
        return Setup.from_json(text.decode())
    raise ValueError("it holds no run, comparison or settings of this program")


# -- showing it -------------------------------------------------------------------------------------


async def _show(server: Server, outbox: Outbox, page: Page, item: Trace | Comparison | Setup) -> None:
    engine = server.host.ready
    if isinstance(item, Setup):
        outbox.post(_opened("settings", "", item))
        return
    if isinstance(item, Trace):
        ops = await asyncio.to_thread(replay_run, item, engine)
        page.session.stop()
        page.session.recent.note(stored(item))
        words = engine.vocabulary if engine is not None and not ops[0]["why"] else None
        outbox.post({"op": "show", "what": "run", "ops": ops})
        outbox.post(_opened("run", ops[0]["why"], setup_of(item, words)))
        return
    ops = await asyncio.to_thread(replay_lanes, item, engine)
    kept = await asyncio.to_thread(keep, item, item.traces)
    async with page.bench.turn(instead=True) as wanted:
        if not wanted:
            raise ValueError("Another comparison was begun in the meantime: open this one again.")
        page.bench.kept = kept
        outbox.post({"op": "show", "what": "comparison", "ops": [*ops, status("idle", "")]})
        outbox.post(_opened("comparison", ops[0]["why"], None))


def _opened(what: str, why: str, setup: Setup | None) -> Op:
    form = None if setup is None else json.loads(setup.to_json())
    return {"op": "opened", "what": what, "live": not why, "why": why or None, "setup": form}


def replay_run(trace: Trace, engine: Engine | None) -> list[Op]:
    """The operations that show a stored run on the Playground's board.

    It can go on where `engine`, the one at work, runs the very model that made it; else it says why not.
    """
    why = why_not(trace.model, engine)
    reset, *rest = replay_steps(trace)
    reset |= {
        "params": settings(trace.params),
        "weights": None if why else weight_bytes(engine),
        "live": not why,
        "why": why,
    }
    return [reset, *rest, status("idle", "")]


def why_not(info: ModelInfo, engine: Engine | None) -> str:
    """Why a run of this model can only be looked at; empty where it can go on."""
    if engine is None:
        return f"Recorded with {info.name}, read-only: to go on needs that model, which is not there yet."
    if engine.info.sha256 != info.sha256:
        return f"Recorded with {info.name}, read-only: {engine.info.name} runs now."
    return ""


# -- how the page is served -------------------------------------------------------------------------


def page_op(server: Server, environment: Mapping[str, str] = os.environ) -> Op:
    """What the panel has to know: where links lead, and how long what is saved is kept."""
    return {
        "op": "page",
        "address": address_of(server.settings, environment),
        "days": server.settings.store_days if server.store is not None else None,
        "hosted": server.settings.closed,
    }


def address_of(settings: Settings, environment: Mapping[str, str]) -> str:
    """What links begin with: the address from the settings, else a Space's own; empty for the page's own."""
    host = environment.get("SPACE_HOST", "").strip()
    return settings.public_url or (f"https://{host}/" if host else "")


@contextmanager
def _told(server: Server, outbox: Outbox, by: Visitor) -> Iterator[None]:
    """Whatever goes wrong inside is told in a sentence. It counts as one short request of the visitor."""
    try:
        with server.visitors.call(by.address):
            yield
    except Exception as error:
        if not isinstance(error, ValueError):  # not the visitor's doing: the log tells us where
            log.exception("sharing failed")
        outbox.post({"op": "refused", "why": sentence(error)})
