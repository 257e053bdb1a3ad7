"""A copy of a model in another dtype, to see what rounding does."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from typing import Any

import torch

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded

_ROOM = 0.5  # share of the free memory that a copy may take


def recast(engine: LocalEngine, dtype: str, *, max_lanes: int = 8, kv_mb: int = 256) -> LocalEngine:
    """An engine over a copy of `engine`'s model whose weights are rounded to `dtype` ("float32", "bfloat16",
    "float16"). The model itself stays as it is; the caller closes the copy.

    Raises ValueError, in one sentence, where the weights are quantised or lie on several devices, and where
    a copy would take more than half of the free memory.
    """
    model, info = engine.model, engine.info
    wanted = getattr(torch, dtype, None)
    if not isinstance(wanted, torch.dtype) or not wanted.is_floating_point:
        raise ValueError(f"there is no dtype {dtype!r:.40} that a model could be in")
    size = sum(each.numel() for each in model.parameters()) * wanted.itemsize
    check_second(model, size, f"a copy of the model in {dtype}")

    def made() -> Any:
        with torch.inference_mode(False):  # the worker's own mode would make tensors that nothing may change
            return copy.deepcopy(model).to(wanted)

    loaded = Loaded(engine.between_passes(made), engine.tokenizer, replace(info, dtype=dtype))
    return LocalEngine(loaded, max_lanes=max_lanes, kv_mb=kv_mb)


def check_second(model: Any, size: int, what: str) -> None:
    """Raise ValueError, in one sentence, where no second model of `size` bytes is made beside `model`: it is
    quantised, it lies on several devices, or `what` would take too much of the free memory."""
    if getattr(model, "is_quantized", False) or getattr(model, "hf_quantizer", None) is not None:
        raise ValueError("the weights of this model are quantised, and no second model is made beside it")
    if len({str(place) for place in (getattr(model, "hf_device_map", None) or {}).values()}) > 1:
        raise ValueError("this model lies on several devices, and no second one is made beside it")
    free = _free_bytes(model.device)
    if free is not None and size > free * _ROOM:
        raise ValueError(f"{what} takes {size / 2**30:.1f} GB, and {free / 2**30:.1f} GB are free")


def _free_bytes(device: Any) -> int | None:
    """Free memory where the model lies; None if the machine does not say."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
