"""The models that a visitor can choose: how large, how fast here, and whether they are at hand."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from playground.ui.host import Engine
from playground.ui.run import Server

LONGEST_NAME = 300  # characters
_ASK_AGAIN_S = 60.0
_HUB_WAITS_S = 3.0


@dataclass(frozen=True)
class Offer:
    """A model that runs on a laptop. Numbers are rounded: they are for choosing, not for planning."""

    name: str
    parameters: float
    download: float  # bytes fetched from a hub
    words: str


BUNDLED = "SmolLM2-135M-Instruct"
OFFERS = (
    Offer(BUNDLED, 134.515e6, 0, "comes with the playground"),
    Offer("HuggingFaceTB/SmolLM2-360M-Instruct", 361.8e6, 0.72e9, "same family, better answers"),
    Offer("Qwen/Qwen3-0.6B", 596e6, 1.5e9, "can think before it answers"),
    Offer("HuggingFaceTB/SmolLM2-1.7B-Instruct", 1.71e9, 3.4e9, "the best of its family"),
)


class Menu:
    """What this server offers. Asks the hub only when somebody opens the menu, at most once a minute."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._asked: tuple[float, str] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The models that anybody may choose."""
        settings = self._server.settings
        listed = tuple(name.strip() for name in settings.models.split(",") if name.strip())
        first = (settings.model,) if settings.model else ()
        return tuple(dict.fromkeys((*first, *(listed or (offer.name for offer in OFFERS)))))

    def rows(self) -> dict[str, Any]:
        """What the menu shows. May take seconds: the hub is asked."""
        settings, engine = self._server.settings, self._server.host.ready
        current = engine.info.name if engine else None
        hub = self._hub()
        known = {offer.name: offer for offer in OFFERS}
        offers = []
        for name in self.names:
            offer = known.get(name)
            here = at_hand(name)
            offers.append(
                {
                    "name": name,
                    "words": offer.words if offer else "",
                    "size": self._size(offer, here) if offer else "",
                    "speed": self._speed(offer) if offer and name != current else "",
                    "current": name == current,
                    "usable": here or not hub,
                    "why": "" if here or not hub else hub,
                }
            )
        return {"offers": offers, "free": not settings.closed, "measured": self._server.host.pace is not None}

    def check(self, name: Any) -> str:
        """The name, if this visitor may choose it. Raises ValueError in a sentence."""
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
            raise ValueError("Please type the name of a model, such as org/name.")
        name = name.strip()
        if self._server.settings.closed and name not in self.names:
            raise ValueError(f"This server offers {', '.join(self.names)} only.")
        return name

    def _speed(self, offer: Offer) -> str:
        """Tokens a second, as far as reading weights decides it, by what this machine was seen to read."""
        pace, engine = self._server.host.pace, self._server.host.ready
        if pace is None or engine is None:
            return ""
        tokens = pace / (offer.parameters * _bytes_each(engine))
        return f"about {tokens:.{0 if tokens >= 10 else 1}f} tokens/s"

    def _size(self, offer: Offer, here: bool) -> str:
        """How large the model is, to fetch and in the memory of this machine."""
        billions = offer.parameters >= 1e9
        number = (
            f"{offer.parameters / 1e9:.1f} billion" if billions else f"{offer.parameters / 1e6:.0f} million"
        )
        parts = [f"{number} parameters"]
        if not here:
            parts.append(f"{offer.download / 1e9:.1f} GB to fetch")
        if engine := self._server.host.ready:
            parts.append(f"{offer.parameters * _bytes_each(engine) / 1e9:.1f} GB in memory")
        return " · ".join(parts)

    def _hub(self) -> str:
        """Why no model can be fetched, in a sentence; empty if it can."""
        if any(os.environ.get(name, "") in ("1", "true", "TRUE") for name in _OFFLINE):
            return "Not on this machine, and this server works offline."
        if self._asked is None or time.monotonic() - self._asked[0] > _ASK_AGAIN_S:
            self._asked = (time.monotonic(), _ask_hub())
        return self._asked[1]


_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_WEIGHTS = tuple(
    f"{name}{index}" for name in ("model.safetensors", "pytorch_model.bin") for index in ("", ".index.json")
)


def _bytes_each(engine: Engine) -> int:
    """Bytes of a parameter, as this server would load another model too."""
    return {"float32": 4, "bfloat16": 2, "float16": 2}.get(engine.info.dtype, 4)


def at_hand(name: str) -> bool:
    """Whether a model can be loaded without a network."""
    if name == BUNDLED or os.path.exists(os.path.expanduser(name)):
        return True
    from huggingface_hub import try_to_load_from_cache

    def kept(file: str) -> bool:
        return isinstance(try_to_load_from_cache(name, file), str)

    try:
        return kept("config.json") and any(map(kept, _WEIGHTS))
    except ValueError:  # not a name of a hub
        return False


def _ask_hub() -> str:
    from huggingface_hub import HfApi

    try:
        HfApi().model_info(OFFERS[1].name, timeout=_HUB_WAITS_S)
    except Exception:
        return "Not on this machine, and no model hub can be reached."
    return ""
