"""A scripted model in the place of the one that the command line would load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import playground
from playground.engine.local import LocalEngine
from tests.fakes import loaded, scripted
from tests.main.command_line import Engines


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engines]:
    """serve(rows, …) lets playground.load give a scripted model; returns the arguments that load got."""
    engines: list[LocalEngine] = []

    def serve(
        rows: Any, *, prompt_length: int = 3, tokenizer: Any = None, **more: Any
    ) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def load(model: str | None = None, **settings: Any) -> LocalEngine:
            asked.append({"model": model, **settings})
            made = scripted(rows, prompt_length=prompt_length, **more)
            engines.append(LocalEngine(loaded(made, tokenizer)))
            return engines[-1]

        monkeypatch.setattr(playground, "load", load)
        return asked

    yield serve
    for engine in engines:
        engine.close()
