"""Stop strings in a text that arrives in pieces."""

from __future__ import annotations

from collections.abc import Sequence


class StopFilter:
    """Lets text through until a stop string appears, and never shows a part of one.

    Among the matches in the text at hand the one that starts earliest counts, whatever the order of `stops`;
    of two with the same start the longer one. Raises ValueError for an empty stop string.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        if not all(stops):
            raise ValueError("a stop string must not be empty")
        self._stops = sorted(set(stops), key=len, reverse=True)
        self._longest = len(self._stops[0]) if self._stops else 0
        self._released = 0  # code points
        self.held = ""  # may still become a stop string
        self.match: str | None = None
        self.match_start: int | None = None  # code points from the start of all that was pushed

    def push(self, text: str) -> str:
        """What may be shown now. After a match, nothing."""
        if self.match is not None:
            return ""
        # A match that is complete only now begins in what was held, or later: nothing older need be kept.
        text = self.held + text
        found = [(start, stop) for stop in self._stops if (start := text.find(stop)) >= 0]
        if found:
            start, self.match = min(found, key=lambda pair: (pair[0], -len(pair[1])))
            self.match_start = self._released + start
            self.held = ""
            return self._release(text[:start])
        start = self._held_from(text)
        self.held = text[start:]
        return self._release(text[:start])

    def flush(self) -> str:
        """End of the run without a match: the held text after all."""
        text, self.held = self.held, ""
        return self._release(text)

    def _held_from(self, text: str) -> int:
        """Where the longest tail begins that some stop string begins with."""
        for start in range(max(0, len(text) - self._longest + 1), len(text)):
            if any(stop.startswith(text[start:]) for stop in self._stops):
                return start
        return len(text)

    def _release(self, text: str) -> str:
        self._released += len(text)
        return text
