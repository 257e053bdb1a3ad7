"""How much each visitor of a hosted server may have in flight, so that one cannot take it from the others.

A visitor is an address. Behind a proxy that is the proxy's own, but for those named in the settings, whose
X-Forwarded-For uvicorn then reads (`trust`).
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

CALLS = ("/component_server", "/call/", "/run/", "/api/", "/queue/join", "/upload")  # what costs work


MOST_BODY = 40 * 2**20  # bytes of a request: the largest file, in base64, with room to spare
_HOUR_S = 3600
_OWNER = "[0-9a-f]{32}"


@dataclass(frozen=True)
class Visitor:
    """Who asks, as far as a server has to know."""

    owner: str = ""  # one open page; what it asked is kept for it alone
    address: str = ""


NOBODY = Visitor()


def read_owner(asked: Any) -> str:
    """The owner that a page names in its request, in 32 hex digits; a new one where it names none."""
    owner = asked.get("owner") if isinstance(asked, dict) else asked
    return owner if isinstance(owner, str) and re.fullmatch(_OWNER, owner) else secrets.token_hex(16)


# Who has counted the call that is being answered: some work begins after its request was answered and counts
# itself, and the same work may be asked for by a request that waits for it and was counted at the door.
_answering: ContextVar[Visitors | None] = ContextVar("answering", default=None)


class Busy(ValueError):
    """A visitor has too much in flight: one sentence."""


class Visitors:
    """Counts what is in flight by address. All methods run on the server's event loop.

    `most_runs` lanes and `most_calls` short calls a visitor, `most_saves` in an hour; None for no limit.
    """

    def __init__(
        self,
        most_runs: int | None = None,
        most_calls: int | None = None,
        most_saves: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most_runs, self.most_calls, self.most_saves = most_runs, most_calls, most_saves
        self._clock = clock
        self._saves: dict[str, deque[float]] = {}  # when, oldest first
        self._runs: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()

    @contextmanager
    def run(self, address: str | None, lanes: int = 1) -> Iterator[None]:
        """Hold `lanes` of the visitor's runs inside the block. Raises Busy if they have too many."""
        with _held(self._runs, address or "", lanes, self.most_runs, "runs at once"):
            yield

    @contextmanager
    def call(self, address: str | None) -> Iterator[None]:
        """Hold one short call inside the block; one within another is the same. Raises Busy if the visitor
        has too many."""
        if _answering.get() is self:
            yield
            return
        with _held(self._calls, address or "", 1, self.most_calls, "requests at once"):
            before = _answering.set(self)
            try:
                yield
            finally:
                _answering.reset(before)

    def save(self, address: str | None) -> None:
        """Count one saved run. Raises Busy if the visitor saved too many in the last hour."""
        if self.most_saves is None:
            return
        now = self._clock()
        for each, times in list(self._saves.items()):
            while times and times[0] <= now - _HOUR_S:
                times.popleft()
            if not times:
                del self._saves[each]
        own = self._saves.setdefault(address or "", deque())
        if len(own) >= self.most_saves:
            minutes = math.ceil((own[0] + _HOUR_S - now) / 60)
            raise Busy(
                f"This server keeps {self.most_saves} runs of each visitor in an hour: save this one as a "
                f"file, or come back in {minutes} minute{'s' * (minutes != 1)}."
            )
        own.append(now)


@contextmanager
def _held(counts: Counter[str], address: str, number: int, most: int | None, what: str) -> Iterator[None]:
    if most is not None and counts[address] + number > most:
        going = f"you have {counts[address]}" if counts[address] else f"this asks for {number}"
        raise Busy(
            f"This server lets each visitor have {most} {what} and {going}: please wait for some to end."
        )
    counts[address] += number
    try:
        yield
    finally:
        counts[address] -= number
        if not counts[address]:
            del counts[address]


class Door:
    """ASGI middleware: short calls to the API and to the page's own server functions, counted by visitor, and
    none larger than a file that can be opened."""

    def __init__(self, app: ASGIApp, visitors: Visitors) -> None:
        self.app, self.visitors = app, visitors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] != "http" or scope["method"] != "POST" or not any(part in path for part in CALLS):
            await self.app(scope, receive, send)
            return
        headers = dict(scope.get("headers", ()))
        length = headers.get(b"content-length", b"0")
        if b"transfer-encoding" in headers or not length.isdigit() or int(length) > MOST_BODY:
            await _refuse(send, 413, f"A request must say its length, at most {MOST_BODY:,} bytes.")
            return
        try:
            with self.visitors.call((scope.get("client") or ("",))[0]):
                await self.app(scope, receive, send)
        except Busy as error:
            await _refuse(send, 429, str(error))


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"detail": why}).encode()})


def trust(proxies: str) -> None:
    """Read X-Forwarded-For of these proxies (addresses or networks, separated by commas; * for all) and of
    nobody else. To be called before the server starts: uvicorn would trust 127.0.0.1 by itself."""
    os.environ["FORWARDED_ALLOW_IPS"] = proxies
