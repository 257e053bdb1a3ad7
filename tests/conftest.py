"""What all tests share. They run offline; only tests marked `model` fetch the bundled weights, once."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import pytest
import torch

from playground.engine.models import Loaded, LoadError, load_model
from tests.chromium import chromium

__all__ = ["chromium"]  # here, so that there is one browser for all: Playwright starts once in a session


@pytest.fixture(scope="session")
def bundled() -> Loaded:
    """The bundled model in float32 on the CPU. Where its weights are out of reach the test is skipped, or
    fails if PLAYGROUND_REQUIRE_MODEL=1 is set (in CI)."""
    try:
        return load_model(device="cpu", dtype="float32")
    except LoadError as error:
        if os.environ.get("PLAYGROUND_REQUIRE_MODEL") == "1":
            raise
        pytest.skip(str(error))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Plain `pytest` is quick and offline: what needs the weights or a browser, or is slow, runs where it is
    asked for, by `-m` or by its environment variable, and then may not be skipped."""
    asked = config.option.markexpr or config.option.keyword
    wanted = {
        "model": os.environ.get("PLAYGROUND_REQUIRE_MODEL") == "1" or asked,
        "browser": os.environ.get("PLAYGROUND_REQUIRE_BROWSER") == "1" or asked,
        "slow": os.environ.get("PLAYGROUND_REQUIRE_BROWSER") == "1" or asked,
        "gpu": torch.cuda.is_available(),
    }
    # Playwright keeps an event loop on this thread until the session ends, so what needs its own comes first.
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    for item in items:
        for name, runs in wanted.items():
            if not runs and item.get_closest_marker(name):
                why = "needs an accelerator" if name == "gpu" else f"asked for by -m {name}, and in CI"
                item.add_marker(pytest.mark.skip(reason=why))
