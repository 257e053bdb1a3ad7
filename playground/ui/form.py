"""What a visitor typed and set on the Playground tab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playground.trace import SamplingParams
from playground.ui.conversation import Bias, messages_of, read_biases, read_history

MOST_CHARACTERS = 2_000_000  # of one text from a visitor


@dataclass(frozen=True)
class Form:
    """What a visitor typed and set."""

    said: Any  # messages, or a string of raw text
    params: SamplingParams
    watched: tuple[str, ...] = ()  # texts whose first token is followed at every step
    banned: tuple[str, ...] = ()  # texts whose token may not be picked
    biases: tuple[Bias, ...] = ()  # what is added to the logits of some tokens
    thinking: bool | None = None  # for templates that have the switch


def read_form(
    mode: str,
    texts: dict[str, str | None],
    numbers: dict[str, float | None],
    *,
    ignore_eos: bool = False,
    thinking: bool | None = None,
) -> Form:
    """Checks what came from the page. Raises ValueError in a sentence.

    Of `texts`, `seed` is one since JavaScript's numbers end at 2^53, and `stops` has one stop string a line,
    taken literally; so have `watched`, `banned` and `biases`. `history` has the messages of the turns before,
    as JSON. `system` may be empty. `numbers` are fields of SamplingParams.
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
    watched, banned = (_lines(texts.get(name)) for name in ("watched", "banned"))
    params = SamplingParams(
        seed=int(seed) if seed else None,
        stop=_lines(stops),
        ignore_eos=ignore_eos,
        **numbers,  # type: ignore[arg-type]
    )
    history = read_history(texts.get("history"))
    said = prompt if mode == "raw" else messages_of(history, system, prompt)
    biases = read_biases(_lines(texts.get("biases")))
    return Form(said, params, watched, banned, biases, thinking)


def _lines(text: str | None) -> tuple[str, ...]:
    return tuple(line for line in (text or "").split("\n") if line)
