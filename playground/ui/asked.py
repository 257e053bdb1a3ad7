"""What the page's JavaScript asks for, read as any stranger's: nothing about it is believed.

Every function raises ValueError, in a sentence that names what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from playground.text.short import short
from playground.trace import ModelInfo, SamplingParams
from playground.ui.records import SHORT_SHA

MOST_IN_SETTINGS = 10_000  # characters of all stop strings of one lane; banned, or biased, ids


def read_object(asked: Any, what: str) -> dict[str, Any]:
    if not isinstance(asked, dict):
        raise ValueError(f"{what} must be an object of names and values, got {short(asked)}")
    return asked


def read_list(asked: Any, what: str, least: int, most: int) -> list[Any]:
    if not isinstance(asked, list) or not least <= len(asked) <= most:
        raise ValueError(f"{what} must be a list of {least} to {most}, got {short(asked)}")
    return asked


def read_whole(number: Any, what: str, least: int, most: int) -> int:
    if type(number) is not int or not least <= number <= most:
        raise ValueError(f"{what} must be a whole number from {least} to {most:,}, got {short(number)}")
    return number


def read_finite(number: Any, what: str) -> float:
    if type(number) not in (int, float) or not -1e9 <= number <= 1e9 or math.isnan(number):
        raise ValueError(f"{what} must be a number, got {short(number)}")
    return float(number)


def read_switch(value: Any, what: str) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{what} must be on or off, got {short(value)}")
    return value


def read_choice(value: Any, what: str, choices: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{what} must be one of {', '.join(choices)}, got {short(value)}")
    return value


def read_text(text: Any, what: str, most: int) -> str:
    """A text that may be empty or missing."""
    if text is None:
        return ""
    if not isinstance(text, str):
        raise ValueError(f"{what} must be a text, got {short(text)}")
    if len(text) > most:
        raise ValueError(f"{what} has {len(text):,} characters; the most is {most:,}.")
    return text


def read_name(name: Any, most: int) -> str:
    """A lane's name: something to read in one line."""
    text = read_text(name, "a lane's name", most).strip()
    if not text:
        raise ValueError("Please give every lane a name.")
    if any("\ud800" <= sign <= "\udfff" for sign in text):  # JavaScript may cut a character in two
        raise ValueError("a lane's name must be made of whole characters")
    return text


def read_seed(seed: Any) -> int | None:
    """A seed as digits, since JavaScript's numbers end at 2^53; None where there is none."""
    text = str(seed) if type(seed) is int else "" if seed is None else seed
    if not isinstance(text, str) or not re.fullmatch(r"\s*(\d{1,20})?\s*", text, re.ASCII):
        raise ValueError(f"seed must be a whole number from 0 to 18446744073709551615, got {short(seed)}")
    return int(text) if text.strip() else None


def read_params(values: Any) -> SamplingParams:
    """Settings of one lane, as SamplingParams has them; a seed may be digits."""
    values = read_object(values, "settings")
    params = SamplingParams.from_dict({**values, "seed": read_seed(values.get("seed"))})
    stop, banned, bias = sum(map(len, params.stop)), len(params.banned), len(params.logit_bias)
    for name, size in (("stop", stop), ("banned", banned), ("logit_bias", bias)):
        if size > MOST_IN_SETTINGS:
            raise ValueError(f"{name} is too long: {size:,} of at most {MOST_IN_SETTINGS:,}")
    return params


def check_same_model(model: Any, info: ModelInfo) -> None:
    """`model`: what the board was told of its run. To another model the ids of that mean other tokens."""
    if model != info.sha256[:SHORT_SHA]:
        raise ValueError(
            f"Not available here: this run was made by another model than the one that runs now, {info.name}."
        )


def read_ids(ids: Any, what: str, least: int, most: int, size: int) -> list[int]:
    """Token ids below `size`."""
    if not isinstance(ids, list) or not least <= len(ids) <= most:
        raise ValueError(f"{what} must be a list of {least} to {most} token ids, got {short(ids)}")
    for token_id in ids:
        if type(token_id) is not int or not 0 <= token_id < size:
            raise ValueError(f"{what} must hold ids from 0 to {size - 1}, got {short(token_id)}")
    return ids
