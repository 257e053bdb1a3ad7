"""A model of the same architecture with another number of layers and random weights: what size costs."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.engine.recast import check_second

_BUILT_IN = 4  # bytes per weight: a model is built in float32 before it is rounded to its dtype


def resized(engine: LocalEngine, layers: int, *, max_lanes: int = 8, kv_mb: int = 256) -> LocalEngine:
    """An engine over a model built from a copy of the config of `engine`'s with `layers` layers, in the same
    dtype and on the same device. Its weights are random, so that its words mean nothing.

    The model itself and the random state stay as they are; the caller closes what is made. Raises ValueError,
    in one sentence, where the weights are quantised or lie on several devices, where it would take more than
    half of the free memory, and where the architecture has no such size.
    """
    model, info = engine.model, engine.info
    own = layers_of(model)
    size = sum(each.numel() for each in model.parameters()) * _BUILT_IN
    name = f"a model of {layers:,} layers"
    check_second(model, size * max(layers, own) // own, name)
    try:
        made = _built(model, _with_layers(model.config, layers))
    except (TypeError, ValueError, AttributeError, LookupError, RuntimeError) as error:
        detail = " ".join(str(error).split())[:200]
        raise ValueError(f"{name} of this kind cannot be built ({type(error).__name__}: {detail})") from None
    told = replace(info, name=f"{info.name}, {layers} layers, random weights", sha256="")
    return LocalEngine(Loaded(made, engine.tokenizer, told), max_lanes=max_lanes, kv_mb=kv_mb)


def layers_of(model: Any) -> int:
    """Blocks of a model, as its config says."""
    return int(model.config.get_text_config().num_hidden_layers)


def _with_layers(config: Any, layers: int) -> Any:
    """A copy of a config with `layers` layers; what it says layer by layer is cut, or goes on in turn."""
    made = copy.deepcopy(config)
    text = made.get_text_config()
    own = text.num_hidden_layers
    for name, value in list(vars(text).items()):
        if "layer" in name and isinstance(value, list | tuple) and len(value) == own:
            setattr(text, name, [value[number % own] for number in range(layers)])
    text.num_hidden_layers = layers
    return made


def _built(model: Any, config: Any) -> Any:
    """Called on the caller's thread: it does not touch the model, and no lane has to wait for it."""
    device = model.device
    dice = [device.index or 0] if device.type == "cuda" else []
    place = device if device.type == "cuda" else torch.device("cpu")
    with torch.inference_mode(False), torch.random.fork_rng(dice), place:
        made = type(model)(config)
    return made.to(device, model.dtype).eval().requires_grad_(False)
