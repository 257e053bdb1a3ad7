"""What the Compare tab asks for: lanes of one prompt, samples, a sweep, or a fork of one lane."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from playground.findings import MOST_LANES
from playground.findings.compare import LONGEST_NAME, SWEPT, Kind
from playground.params import LARGEST_SEED
from playground.trace import ModelInfo, SamplingParams
from playground.ui.asked import (
    check_same_model,
    read_choice,
    read_finite,
    read_ids,
    read_list,
    read_name,
    read_object,
    read_params,
    read_seed,
    read_switch,
    read_text,
    read_whole,
)
from playground.ui.branch import room
from playground.ui.controls import FILTERS, PENALTIES, RARE
from playground.ui.conversation import messages_of
from playground.ui.form import MOST_CHARACTERS
from playground.ui.run import Server

FEWEST_LANES = 2
MOST_KEPT = 2 * MOST_LANES["lanes"]  # that a comparison comes to by forks, those taken away included
LABELS = {each.name: each.label.lower() for each in (*FILTERS, *PENALTIES, *RARE)}
WHOLE = ("top_k",)  # swept settings that have no fractions


@dataclass(frozen=True)
class Plan:
    """Lanes to run side by side."""

    kind: Kind
    said: Any  # messages, or a string of raw text
    thinking: bool | None
    names: tuple[str, ...]
    params: tuple[SamplingParams, ...]  # with their seeds
    same_dice: bool
    exact: bool
    sweep: str | None = None  # the setting that differs from lane to lane

    @property
    def values(self) -> list[float]:
        """Of the swept setting, lane by lane."""
        return [getattr(each, self.sweep) for each in self.params] if self.sweep else []


@dataclass(frozen=True)
class Fork:
    """A lane beside those that are there: the first ids of one of them, another one, and onward."""

    prompt_ids: tuple[int, ...]
    forced: tuple[int, ...]
    known: int  # so many of them have steps in lane `source`, which the board shows
    source: int
    name: str
    params: SamplingParams  # with a seed


def read_plan(asked: Any, server: Server) -> Plan:
    """Checks what came from the page. Raises ValueError in a sentence."""
    asked = read_object(asked, "a comparison")
    kind: Any = read_choice(asked.get("kind"), "kind", tuple(MOST_LANES))
    mode = read_choice(asked.get("mode"), "mode", ("chat", "raw"))
    system = read_text(asked.get("system"), "The system message", MOST_CHARACTERS)
    prompt = read_text(asked.get("prompt"), "The prompt", MOST_CHARACTERS)
    if not prompt:
        raise ValueError("Please type a prompt first.")
    thinking = asked.get("thinking")
    same_dice = read_switch(asked.get("same_dice"), "same dice")
    seed = read_seed(asked.get("seed"))
    most_tokens = read_whole(asked.get("max_tokens"), "max_tokens", 1, server.settings.max_new_tokens)
    fewest = FEWEST_LANES if kind == "lanes" else 1
    lanes = [
        _lane(each, most_tokens)
        for each in read_list(asked.get("lanes"), "lanes", fewest, MOST_LANES["lanes"])
    ]
    sweep = None
    if kind == "samples":
        count = read_whole(asked.get("samples"), "samples", FEWEST_LANES, MOST_LANES[kind])
        params = lanes[0][1]
        seed = params.seed if seed is None else seed
        lanes = [(f"sample {number}", replace(params, seed=None)) for number in range(1, count + 1)]
        same_dice = False
    elif kind == "sweep":
        sweep, lanes = _swept(asked.get("sweep"), lanes[0][1], server)
    names, params_of = zip(*lanes, strict=True)
    seeds = seeds_of(seed, [each.seed for each in params_of], same_dice)
    return Plan(
        kind,
        prompt if mode == "raw" else messages_of([], system, prompt),
        None if thinking is None else read_switch(thinking, "thinking"),
        tuple(names),
        tuple(replace(each, seed=own) for each, own in zip(params_of, seeds, strict=True)),
        same_dice,
        read_switch(asked.get("exact"), "exact"),
        sweep,
    )


def _lane(asked: Any, most_tokens: int) -> tuple[str, SamplingParams]:
    asked = read_object(asked, "a lane")
    values = {**read_object(asked.get("params"), "settings"), "max_tokens": most_tokens}
    return read_name(asked.get("name"), LONGEST_NAME), read_params(values)


def _swept(asked: Any, base: SamplingParams, server: Server) -> tuple[str, list[tuple[str, SamplingParams]]]:
    """The lanes of a sweep: `base` with one setting at even steps from one value to another."""
    asked = read_object(asked, "a sweep")
    setting = read_choice(asked.get("setting"), "the swept setting", SWEPT)
    low, high = (read_finite(asked.get(name), f"{name} of the sweep") for name in ("from", "to"))
    steps = read_whole(asked.get("steps"), "steps of the sweep", FEWEST_LANES, MOST_LANES["sweep"])
    tokens = read_whole(asked.get("tokens"), "tokens of the sweep", 1, server.settings.max_new_tokens)
    even = (low + (high - low) * place / (steps - 1) for place in range(steps))
    values = dict.fromkeys(round(value) if setting in WHOLE else round(value, 6) for value in even)
    if len(values) < FEWEST_LANES:
        raise ValueError(f"A sweep needs two values at least, and from {low:g} to {high:g} there is one.")
    changes: list[dict[str, Any]] = [{setting: value, "max_tokens": tokens} for value in values]
    return setting, [(f"{LABELS[setting]} {each[setting]:g}", replace(base, **each)) for each in changes]


def seeds_of(seed: int | None, own: Sequence[int | None], same_dice: bool) -> list[int]:
    """A seed for each lane. `own`: those that lanes ask for themselves, where each rolls its own dice.

    Lanes without one count on from `seed`, or draw one that no other lane has.
    """
    if same_dice:
        return [_drawn() if seed is None else seed] * len(own)
    taken = {each for each in own if each is not None}
    seeds = []
    for each in own:
        if each is None:
            each = _drawn() if seed is None else seed
            while each in taken:
                each = _drawn() if seed is None else (each + 1) % (LARGEST_SEED + 1)
            taken.add(each)
        seeds.append(each)
    return seeds


def _drawn() -> int:
    return secrets.randbelow(2**32)  # small enough to read aloud


def read_fork(asked: Any, info: ModelInfo, server: Server) -> Fork:
    """Checks what came from the page. Raises ValueError in a sentence."""
    asked = read_object(asked, "a fork")
    check_same_model(asked.get("model"), info)
    most = server.settings.max_new_tokens
    prompt_ids = read_ids(
        asked.get("prompt_ids"), "prompt_ids", 1, server.settings.max_prompt_tokens, info.vocabulary
    )
    forced = read_ids(asked.get("forced"), "forced", 1, most, info.vocabulary)
    params = server.check(read_params(asked.get("params"))).seeded()
    params = replace(params, max_tokens=room(params.max_tokens, len(forced), most))
    return Fork(
        tuple(prompt_ids),
        tuple(forced),
        read_whole(asked.get("known"), "known", 0, len(forced)),
        read_whole(asked.get("from"), "from", 0, MOST_KEPT - 1),
        read_name(asked.get("name"), LONGEST_NAME),
        params,
    )
