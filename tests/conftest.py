"""What all tests share. They run offline; only tests marked `model` fetch the bundled weights, once."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import pytest

from playground.engine.models import Loaded, LoadError, load_model


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
