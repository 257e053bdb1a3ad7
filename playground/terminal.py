"""An answer in the terminal: token by token, coloured by how likely the model found each."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TextIO

from rich.console import Console

from playground.text.visible import visible_text
from playground.trace import Event, Finished, ModelInfo, Prompt, SamplingParams

# (raw probability from which it counts, its name, its style): plain where the model was sure, warmer the more
# it surprised itself. Foreground colours of the terminal's own theme, so that they can be read on any ground.
BANDS = (
    (0.8, "80% and up", ""),
    (0.4, "40–80%", "cyan"),
    (0.1, "10–40%", "yellow"),
    (0.01, "1–10%", "bold magenta"),
    (0.0, "under 1%", "bold red"),
)
# What could steer a terminal (all control characters but newline and tab), break a line unseen, or turn the
# reading order around.
_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def safe_text(text: str) -> str:
    """`text` with every character that could do more than be read as a visible sign: ␛ for escape."""
    return _UNSAFE.sub(lambda found: visible_text(found.group()), text)


def drop(stream: TextIO) -> None:
    """What could not be written to `stream`, and what still comes, goes nowhere: no failure at exit."""
    with contextlib.suppress(OSError):  # a stream within Python has no number, and needs none of this
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # rich would end the program here, and nothing would be saved


class Terminal:
    """Writes the text of an answer to `out` as it comes, and everything about it to `notes`.

    Colours only where `out` is a terminal that has them and NO_COLOR is not set. Raises OSError when the text
    cannot be written, such as BrokenPipeError when nobody reads any more; notes are then just lost.
    """

    def __init__(self, out: TextIO, notes: TextIO) -> None:
        for stream in (out, notes):
            if hasattr(stream, "reconfigure"):  # what the encoding lacks is spelled out
                stream.reconfigure(errors="backslashreplace")
        self._out = _Console(file=out, highlight=False)
        self._notes = notes
        self._coloured = (
            self._out.is_terminal and not self._out.no_color and self._out.color_system is not None
        )
        self._shown = ""

    def show(self, event: Event) -> None:
        """The next event of a run of one lane."""
        if isinstance(event, Prompt):
            for note in event.notes:
                self.note(note)
            if self._coloured:
                self._legend()
        elif isinstance(event, Finished):
            if event.text.startswith(self._shown):  # a trace from elsewhere may contradict its own steps
                self._write(event.text.removeprefix(self._shown), "")
            self._out.out("")
        else:
            self._write(event.text, style_of(event.prob))

    def note(self, text: str) -> None:
        """One line about the run."""
        try:
            print(safe_text(text).replace("\n", "⏎"), file=self._notes, flush=True)
        except OSError:
            drop(self._notes)

    def summary(self, finished: Finished, params: SamplingParams) -> None:
        """One line: how much, how fast, the seed that brings it back, and why it ended."""
        count = finished.answer_tokens
        parts = [f"{count} token{'s' * (count != 1)}"]
        if finished.ttft_s is not None:
            parts.append(f"first after {finished.ttft_s:.2f} s")
        if finished.decode_tps is not None:
            parts.append(f"{finished.decode_tps:.1f} tokens/s")
        self.note(" · ".join([*parts, f"seed {params.seed}", finished.message]))

    def origin(self, model: ModelInfo, created: str) -> None:
        """One line: where a saved run came from."""
        self.note(f"{model.name} · {model.dtype} on {model.device} · {created}")

    def _write(self, text: str, style: str) -> None:
        if text:
            self._shown += text
            self._out.out(safe_text(text), style=style if self._coloured else None, end="")
            self._out.file.flush()

    def _legend(self) -> None:
        self._out.out("How likely the model found each token: ", style="dim", end="")
        for index, (_, name, style) in enumerate(BANDS):
            self._out.out(" · " if index else "", end="")
            self._out.out(name, style=style, end="")
        self._out.out("")


def style_of(prob: float) -> str:
    """The style of a token with this raw probability."""
    return next(style for floor, _, style in BANDS if prob >= floor)
