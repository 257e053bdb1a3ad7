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
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# What Gradio serves and this page has no use for: it would keep a stranger's files, or tell what others do.
_CLOSED = re.compile(
    r"/(upload|process_recording|deep_link|monitoring(/.*)?|proxy=.*|stream/.*|run-history/.*|.*vibe-.*)/?$"
)
_LOGIN = re.compile(r"/login/?$")
MOST_BODY = 40 * 2**20  # bytes of a request: the largest file, in base64, with room to spare
_API = re.compile(r"/(run|api|call)/[^/]+/?$")
MOST_API_BODY = 2 * 2**20  # of a request to the API, whose values Gradio keeps with the session
MOST_GUESSES, GUESSING_S = 10, 600.0  # wrong passwords of one visitor, and within how long
_HOUR_S = 3600.0
_OWNER = "[0-9a-f]{32}"


@dataclass(frozen=True)
class Visitor:
    """Who asks, as far as a server has to know."""

    owner: str = ""  # one open page; what it asked is kept for it alone
    address: str = ""


NOBODY = Visitor()


def counted_as(address: str | None) -> str:
    """What a visitor is counted by: the address; of an IPv6 one its network of 64 bits, all of which one
    visitor has."""
    try:
        found = ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or IPv6Network((found, 64), strict=False))
    return str(found)


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
        self._saves = _Lately(most_saves, _HOUR_S, clock)
        self._guesses = _Lately(MOST_GUESSES, GUESSING_S, clock)
        self._runs: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()

    @contextmanager
    def run(self, address: str | None, lanes: int = 1) -> Iterator[None]:
        """Hold `lanes` of the visitor's runs inside the block. Raises Busy if they have too many."""
        with _held(self._runs, counted_as(address), lanes, self.most_runs, "runs at once"):
            yield

    @contextmanager
    def call(self, address: str | None) -> Iterator[None]:
        """Hold one short call inside the block; one within another is the same. Raises Busy if the visitor
        has too many."""
        if _answering.get() is self:
            yield
            return
        with _held(self._calls, counted_as(address), 1, self.most_calls, "requests at once"):
            before = _answering.set(self)
            try:
                yield
            finally:
                _answering.reset(before)

    @contextmanager
    def save(self, address: str | None) -> Iterator[None]:
        """Count one run that is saved inside the block; none where that fails. Raises Busy if the visitor
        saved too many in the last hour."""
        own = counted_as(address)
        if wait := self._saves.note(own):
            raise Busy(
                f"This server keeps {self.most_saves} runs of each visitor in an hour: save this one as a "
                f"file, or come back in {_minutes(wait)}."
            )
        try:
            yield
        except BaseException:
            self._saves.forget(own)
            raise

    def guess(self, address: str | None) -> None:
        """Count one try of a password. Raises Busy if the visitor had too many wrong ones."""
        if wait := self._guesses.note(counted_as(address)):
            raise Busy(f"Too many wrong passwords: please come back in {_minutes(wait)}.")

    def guessed(self, address: str | None) -> None:
        """The latest try was right."""
        self._guesses.forget(counted_as(address))


class _Lately:
    """How often each did something in the last `within_s` seconds: at most `most` times; None, no limit."""

    def __init__(self, most: int | None, within_s: float, clock: Callable[[], float]) -> None:
        self._most, self._within_s, self._clock = most, within_s, clock
        self._times: dict[str, deque[float]] = {}  # oldest first

    def note(self, who: str) -> float:
        """Count one. Where that is too many it is not counted: the seconds until it would be."""
        if self._most is None:
            return 0.0
        now = self._clock()
        for each, times in list(self._times.items()):
            while times and times[0] <= now - self._within_s:
                times.popleft()
            if not times:
                del self._times[each]
        own = self._times.setdefault(who, deque())
        if len(own) >= self._most:
            return own[0] + self._within_s - now
        own.append(now)
        return 0.0

    def forget(self, who: str) -> None:
        """What was counted last did not happen."""
        if times := self._times.get(who):
            times.pop()


def _minutes(seconds: float) -> str:
    minutes = math.ceil(seconds / 60)
    return f"{minutes} minute{'s' * (minutes != 1)}"


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
    """ASGI middleware: what is sent to the server is counted by visitor while it is answered, and none of it
    is larger than a file that can be opened. A password may be tried so often; what the page has no use for
    is closed."""

    def __init__(self, app: ASGIApp, visitors: Visitors) -> None:
        self.app, self.visitors = app, visitors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path: str = scope["path"]
        if _CLOSED.search(path):
            await _refuse(send, 404, "Not found")
            return
        if scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        headers = dict(scope.get("headers", ()))
        length = headers.get(b"content-length", b"0")
        most = MOST_API_BODY if _API.search(path) else MOST_BODY
        if b"transfer-encoding" in headers or not length.isdigit() or int(length) > most:
            await _refuse(send, 413, f"A request must say its length, at most {most:,} bytes.")
            return
        address: str = (scope.get("client") or ("",))[0]

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                self.visitors.guessed(address)
            await send(message)

        logs_in = _LOGIN.search(path) is not None
        try:
            with self.visitors.call(address):
                if logs_in:
                    self.visitors.guess(address)
                await self.app(scope, receive, told if logs_in else send)
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
