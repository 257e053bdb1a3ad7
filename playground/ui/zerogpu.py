"""Spaces of Hugging Face with ZeroGPU: the accelerator is lent for the time of one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from playground.engine.request import Request

if TYPE_CHECKING:
    from playground.engine.inline import Apart

_LEAST_S, _MOST_S = 10, 120
_TOKENS_PER_S = 15  # of one lane, at least; all lanes go in one batch


@cache
def gpu_runner() -> Apart | None:
    """What runs a request on the lent accelerator; None where none is lent.

    To be called before the page is launched, and before anything else imports torch: the package `spaces`
    counts what it decorated at the launch, and wants to come before CUDA does.
    """
    if os.environ.get("SPACES_ZERO_GPU", "").lower() not in ("1", "t", "true"):
        return None
    import spaces

    from playground.engine.inline import run_apart

    runner: Apart = spaces.GPU(duration=seconds)(run_apart)
    return runner


def seconds(number: int, requests: Sequence[Request], place: int) -> int:
    """How long the accelerator is borrowed for `requests`. A shorter time is lent sooner."""
    tokens = max(request.params.max_tokens for request in requests)
    return min(_MOST_S, _LEAST_S + tokens // _TOKENS_PER_S)
