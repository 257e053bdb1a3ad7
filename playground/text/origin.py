"""Strings that know who wrote each of their characters.

A chat template mixes its own text with that of the messages. `Traced` carries one origin per character
through the string operations that templates use; whatever is not covered here comes out as plain `str`,
whose origin counts as unknown, and unknown is never trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, SupportsIndex

# Origins are kept as a second string of the same length, one code point a character: slicing, joining and
# repeating it is then the same operation as on the text itself.
# SPECIAL: the names of the tokenizer's special tokens (bos_token), which a template is given.
UNKNOWN, TEMPLATE, SPECIAL = "\0", "\1", "\2"
FIRST_MESSAGE = 3  # message i has origin chr(FIRST_MESSAGE + i)

_PLAIN_FORMAT = re.compile(r"%(?:\((\w+)\))?s|%%")


def origins_of(text: str) -> str:
    """One origin per character of `text`."""
    return text._origins if isinstance(text, Traced) else UNKNOWN * len(text)


def written_by(origin: str, text: str) -> Traced:
    """`text`, all of it with one origin."""
    return Traced(text, origin * len(text))


def joined(parts: Iterable[str]) -> Traced:
    """The parts one after the other, origins kept."""
    parts = list(parts)
    return Traced("".join(parts), "".join(map(origins_of, parts)))


def tagged(value: Any, origin: str) -> Any:
    """A copy of plain data whose strings, dict keys included, all have one origin."""
    if isinstance(value, str):
        return written_by(origin, value)
    if isinstance(value, dict):
        return {tagged(key, origin): tagged(item, origin) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [tagged(item, origin) for item in value]
    return value


class Traced(str):
    """A string with one origin per character; without them, all unknown."""

    __slots__ = ("_origins",)
    _origins: str

    def __new__(cls, text: object = "", origins: str | None = None) -> Traced:
        made = super().__new__(cls, text)
        made._origins = UNKNOWN * len(made) if origins is None else origins
        return made

    def __str__(self) -> str:
        return self  # so that str(x), which compiled templates are full of, keeps origins

    def __add__(self, other: str) -> Traced:
        return joined((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> Traced:
        return joined((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> Traced:
        return Traced(str.__mul__(self, count), self._origins * count)

    __rmul__ = __mul__

    def __getitem__(self, key: SupportsIndex | slice) -> Traced:
        return Traced(str.__getitem__(self, key), self._origins[key])

    def __iter__(self) -> Iterator[str]:
        return map(Traced, str.__iter__(self), self._origins)

    def __mod__(self, values: Any) -> Traced:
        plain = str.__mod__(self, values)  # raises what str raises
        if "%" in _PLAIN_FORMAT.sub("", self):
            return Traced(plain)
        parts: list[str] = []
        queue, at = iter(values if isinstance(values, tuple) else (values,)), 0
        for match in _PLAIN_FORMAT.finditer(self):
            parts.append(self[at : match.start()])
            if match[0] == "%%":
                parts.append(self[match.start() : match.start() + 1])
            else:
                parts.append(str(next(queue) if match[1] is None else values[match[1]]))
            at = match.end()
        made = joined([*parts, self[at:]])
        return made if made == plain else Traced(plain)

    def lstrip(self, chars: str | None = None, /) -> Traced:
        return self[len(self) - len(str.lstrip(self, chars)) :]

    def rstrip(self, chars: str | None = None, /) -> Traced:
        return self[: len(str.rstrip(self, chars))]

    def strip(self, chars: str | None = None, /) -> Traced:
        return self.lstrip(chars).rstrip(chars)

    def removeprefix(self, prefix: str, /) -> Traced:
        return self[len(prefix) :] if self.startswith(prefix) else self

    def removesuffix(self, suffix: str, /) -> Traced:
        return self[: len(self) - len(suffix)] if self.endswith(suffix) else self

    # Lists are invariant to the type checker, though a list of Traced is one of str.
    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[Traced]:  # type: ignore[override]
        return self._located(str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[Traced]:  # type: ignore[override]
        return self._located(str.rsplit(self, sep, maxsplit), sep)

    def splitlines(self, keepends: bool = False) -> list[Traced]:  # type: ignore[override]
        lines, at = [], 0
        for kept, bare in zip(str.splitlines(self, True), str.splitlines(self), strict=True):
            lines.append(self[at : at + len(kept if keepends else bare)])
            at += len(kept)
        return lines

    def partition(self, sep: str, /) -> tuple[Traced, Traced, Traced]:
        return self._around(str.partition(self, sep))

    def rpartition(self, sep: str, /) -> tuple[Traced, Traced, Traced]:
        return self._around(str.rpartition(self, sep))

    def join(self, parts: Iterable[str], /) -> Traced:
        spread: list[str] = []
        for part in parts:
            if not isinstance(part, str):
                raise TypeError(f"expected a string to join, got {type(part).__name__}")
            spread += (self, part)
        return joined(spread[1:])

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> Traced:
        if not old:
            return Traced(str.replace(self, old, new, count))
        return Traced(new, origins_of(new)).join(self._located(str.split(self, old, count), old))

    def lower(self) -> Traced:
        return self._same_length(str.lower)

    def upper(self) -> Traced:
        return self._same_length(str.upper)

    def casefold(self) -> Traced:
        return self._same_length(str.casefold)

    def swapcase(self) -> Traced:
        return self._same_length(str.swapcase)

    def capitalize(self) -> Traced:
        return self._same_length(str.capitalize)

    def _same_length(self, change: Callable[[str], str]) -> Traced:
        # Case maps never drop a character, so equal length means that each stayed at its place.
        plain = change(self)
        return Traced(plain, self._origins if len(plain) == len(self) else None)

    def _located(self, pieces: list[str], sep: str | None = None) -> list[Traced]:
        """The pieces of a split, cut out of self; between them lies `sep`, or white space."""
        found, at = [], 0
        for piece in pieces:
            at = at if sep is not None else self.index(piece, at)
            found.append(self[at : at + len(piece)])
            at += len(piece) + len(sep or "")
        return found

    def _around(self, parts: tuple[str, str, str]) -> tuple[Traced, Traced, Traced]:
        first, second = len(parts[0]), len(parts[0]) + len(parts[1])
        return self[:first], self[first:second], self[second:]
