"""Settings of the server: flags of app.py, or the same as environment variables PLAYGROUND_*.

A flag wins over the environment, the environment over the default.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, NoReturn

PREFIX = "PLAYGROUND_"
_GRADIOS_NAMES = {"host": "GRADIO_SERVER_NAME", "port": "GRADIO_SERVER_PORT"}  # set in a Space, and in images
_IN_A_SPACE = {"hosted": True, "trusted_proxy": "10.0.0.0/8"}  # strangers come, by a proxy of that network


def _setting(default: Any, help: str, low: int | None = None, high: int | None = None) -> Any:
    return field(default=default, metadata={"help": help, "low": low, "high": high})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How this server runs. A bad value raises ValueError that names the setting and the allowed range."""

    model: str | None = _setting(None, "hub id, folder or GGUF file; the bundled model if not given")
    device: str = _setting("auto", "auto, cpu, cuda, cuda:1, mps …")
    dtype: str = _setting("auto", "auto, float32, bfloat16 or float16")
    host: str = _setting("127.0.0.1", "address to listen on; 0.0.0.0 for all")
    port: int = _setting(7860, "port to listen on; 0 for any free one", 0, 65535)
    models: str = _setting("", "models to choose from, separated by commas; a few small ones if not given")
    hosted: bool = _setting(False, "only the models to choose from may be loaded; --share implies it")
    share: bool = _setting(False, "also make a public link through Gradio's tunnel")
    max_lanes: int = _setting(16, "most lanes decoded at once", 1, 256)
    max_prompt_tokens: int = _setting(8192, "longest prompt", 1, 1_000_000)
    max_new_tokens: int = _setting(1024, "most new tokens of one run", 1, 1_000_000)
    kv_mb: int = _setting(2048, "memory for keys and values, in MB", 1, 1_000_000)
    logits_pool_mb: int = _setting(256, "memory for full rows of logits, in MB", 0, 1_000_000)
    store: str = _setting(
        "", "folder for saved runs, or an address that fsspec knows; the user's data folder if not given"
    )
    store_mb: int = _setting(1024, "most MB of saved runs; the oldest go first", 1, 1_000_000_000)
    store_days: int = _setting(30, "how long a saved run is kept, in days", 1, 36_500)
    public_url: str = _setting("", "address that links begin with; the one in the browser if not given")
    password: str = _setting("", "asked of everybody who opens the page or calls the API; none if not given")
    trusted_proxy: str = _setting(
        "", "proxies whose X-Forwarded-For tells visitors apart: addresses or networks; * believes everybody"
    )
    visitor_runs: int = _setting(8, "most lanes of one visitor at once, where strangers use it", 1, 256)
    visitor_calls: int = _setting(8, "most short requests of one visitor at once, likewise", 1, 10_000)
    visitor_saves: int = _setting(30, "most saved runs of one visitor in an hour, likewise", 1, 1_000_000)

    @property
    def closed(self) -> bool:
        """Whether strangers use this server, who may choose among the offered models only."""
        return self.hosted or self.share

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            low, high = item.metadata["low"], item.metadata["high"]
            if low is not None and not low <= value <= high:
                raise ValueError(f"{_flag(item)} must be in [{low}, {high}], got {value}")
        if not re.fullmatch(r"auto|cpu|mps|(cuda|xpu|npu)(:\d{1,3})?", self.device):
            raise ValueError(f"--device must be auto, cpu, cuda, cuda:N or mps, got {self.device!r:.80}")
        if self.dtype not in ("auto", "float32", "bfloat16", "float16"):
            raise ValueError(f"--dtype must be auto, float32, bfloat16 or float16, got {self.dtype!r:.80}")
        if self.public_url and not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", self.public_url):
            raise ValueError(
                f"--public-url must be an address such as https://host/path, got {self.public_url!r:.80}"
            )


def read_settings(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings from flags and environment. Wrong ones end the program with one sentence and code 2."""
    parser = _Parser(
        prog="app.py",
        description="Token Playground: see how a language model picks every token.",
        epilog=f"Every flag can be given as an environment variable: --max-lanes as {PREFIX}MAX_LANES.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    for item in fields(Settings):
        options: dict[str, Any] = {"help": item.metadata["help"], "default": item.default}
        if item.type == "bool":
            options["action"] = argparse.BooleanOptionalAction
        elif item.type == "int":
            options["type"] = int
        parser.add_argument(_flag(item), **options)
    try:
        parser.set_defaults(**_from_environment(environment))
        return Settings(**vars(parser.parse_args(arguments)))
    except ValueError as error:
        parser.exit(2, f"{error}\n")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{message}; see app.py --help\n")


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = dict(_IN_A_SPACE) if environment.get("SPACE_ID") else {}
    for item in fields(Settings):
        for name in (PREFIX + item.name.upper(), _GRADIOS_NAMES.get(item.name, "")):
            text = environment.get(name, "").strip()
            if text:
                values[item.name] = _read(name, text, item.type)
                break
    return values


def _read(name: str, text: str, kind: Any) -> Any:
    if kind == "bool":
        words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
        if text.lower() not in words:
            raise ValueError(f"{name} must be true or false, got {text!r:.80}")
        return words[text.lower()]
    if kind == "int":
        try:
            return int(text)
        except ValueError:
            raise ValueError(f"{name} must be a whole number, got {text!r:.80}") from None
    return text


def _flag(item: Field[Any]) -> str:
    assert item.default is not MISSING
    return "--" + item.name.replace("_", "-")
