"""SamplingParams: every setting that decides how the next token is picked, and the checks on them."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

LARGEST_SEED = 2**64 - 1
LARGEST_TEMPERATURE = 1e6
LARGEST_BIAS = 1e30  # above it, float32 logits would overflow and give NaN
LARGEST_COUNT = 10_000_000


def _number(name: str, value: Any, low: float, high: float, *, above: bool = False) -> float:
    """`value` as a float in [low, high], or in (low, high] with `above`."""
    bracket = "(" if above else "["
    fits = type(value) in (int, float) and low <= value <= high and not (above and value == low)
    if not fits:
        raise ValueError(f"{name} must be in {bracket}{low:g}, {high:g}], got {value!r:.80}")
    return float(value)


def _whole(name: str, value: Any, low: int, high: int) -> int:
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number in [{low}, {high}], got {value!r:.80}")
    return value


def _bias(entries: Any) -> dict[int, float]:
    if not isinstance(entries, Mapping):
        raise ValueError(f"logit_bias must map token ids to numbers, got {entries!r:.80}")
    made = {}
    for key, value in entries.items():
        text = str(key)
        if type(key) not in (int, str) or not (text.isascii() and text.isdecimal()):
            raise ValueError(f"logit_bias has the key {key!r:.80}, which is not a token id")
        if value is None or value == -math.inf:
            made[int(text)] = -math.inf
            continue
        made[int(text)] = _number(f"logit_bias of token {text}", value, -LARGEST_BIAS, LARGEST_BIAS)
    return made


def _strings(name: str, value: Any) -> tuple[str, ...]:
    value = (value,) if isinstance(value, str) else value
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) and item for item in value):
        raise ValueError(f"{name} must be a list of strings that are not empty, got {value!r:.80}")
    return tuple(value)


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """How the next token is picked. Every filter and penalty is off unless set.

    A bad value raises ValueError that names the field, the value and the allowed range.
    """

    temperature: float = 1.0  # logits are divided by it; 0 = greedy
    top_k: int = 0  # keep the k largest; 0 = off
    top_p: float = 1.0  # keep the smallest set that holds this mass; 1 = off
    min_p: float = 0.0  # keep what is at least this share of the largest; 0 = off
    typical_p: float = 1.0  # keep this mass of the tokens nearest to the entropy; 1 = off
    repetition_penalty: float = 1.0  # of tokens in prompt and answer; 1 = off
    presence_penalty: float = 0.0  # subtracted once for a token in the answer; 0 = off
    frequency_penalty: float = 0.0  # subtracted per occurrence in the answer; 0 = off
    logit_bias: Mapping[int, float] = field(default_factory=dict)  # added to the logit; -inf bans
    banned: tuple[int, ...] = ()  # ids that may never be picked
    seed: int | None = None  # None = the engine draws one and records it
    max_tokens: int = 256
    min_tokens: int = 0  # end ids are banned until the answer has this many tokens
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False  # end ids do not end the answer

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "temperature": _number("temperature", self.temperature, 0, LARGEST_TEMPERATURE),
            "top_k": _whole("top_k", self.top_k, 0, LARGEST_COUNT),
            "top_p": _number("top_p", self.top_p, 0, 1, above=True),
            "min_p": _number("min_p", self.min_p, 0, 1),
            "typical_p": _number("typical_p", self.typical_p, 0, 1, above=True),
            "repetition_penalty": _number("repetition_penalty", self.repetition_penalty, 0, 1000, above=True),
            "presence_penalty": _number("presence_penalty", self.presence_penalty, -1000, 1000),
            "frequency_penalty": _number("frequency_penalty", self.frequency_penalty, -1000, 1000),
            "logit_bias": _bias(self.logit_bias),
            "banned": tuple(_whole("banned", item, 0, LARGEST_COUNT) for item in self._listed_bans()),
            "seed": None if self.seed is None else _whole("seed", self.seed, 0, LARGEST_SEED),
            "max_tokens": _whole("max_tokens", self.max_tokens, 1, LARGEST_COUNT),
            "min_tokens": _whole("min_tokens", self.min_tokens, 0, LARGEST_COUNT),
            "stop": _strings("stop", self.stop),
        }
        if type(self.ignore_eos) is not bool:
            raise ValueError(f"ignore_eos must be true or false, got {self.ignore_eos!r:.80}")
        if checked["min_tokens"] > checked["max_tokens"]:
            raise ValueError(
                f"min_tokens must be at most max_tokens, {checked['max_tokens']}, got {checked['min_tokens']}"
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _listed_bans(self) -> tuple[Any, ...]:
        if not isinstance(self.banned, list | tuple | set | frozenset):
            raise ValueError(f"banned must be a list of token ids, got {self.banned!r:.80}")
        return tuple(self.banned)

    def check_vocabulary(self, size: int) -> None:
        """Raise ValueError, naming the entry, if a bias or ban is for an id the model does not have."""
        for name, ids in (("logit_bias", self.logit_bias), ("banned", self.banned)):
            for token_id in ids:
                if token_id >= size:
                    raise ValueError(
                        f"{name} names token {token_id}, but the ids of this model are 0 to {size - 1}"
                    )

    def seeded(self) -> SamplingParams:
        """The same settings with a seed: a drawn one if none was chosen, small enough to read aloud."""
        return self if self.seed is not None else replace(self, seed=secrets.randbelow(2**32))

    @classmethod
    def from_dict(cls, values: Any) -> SamplingParams:
        """Settings from a JSON object of a stranger: unknown fields are refused by name."""
        if not isinstance(values, Mapping):
            raise ValueError(f"settings must be an object of names and values, got {values!r:.80}")
        known = {item.name for item in fields(cls)}
        for name in values:
            if name not in known:
                raise ValueError(f"there is no setting {name!r:.80}; settings are {', '.join(sorted(known))}")
        return cls(**values)
