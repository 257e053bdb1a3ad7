"""Which engine a Space gets, with and without a lent accelerator."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from playground.engine.inline import InlineEngine, run_apart
from playground.engine.local import LocalEngine
from playground.engine.request import Request
from playground.settings import Settings
from playground.trace import Finished, Prompt, SamplingParams
from playground.ui.host import load_engine
from playground.ui.stream import events_of
from playground.ui.zerogpu import gpu_runner, seconds
from tests.engine.forking import forking
from tests.tiny_gguf import write_tiny_gguf


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    write_tiny_gguf(path)
    return path


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    gpu_runner.cache_clear()
    yield
    gpu_runner.cache_clear()


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A stand-in for the package `spaces`, whose decorator forks on the CPU; what was decorated."""
    decorated: list[Any] = []

    def gpu(duration: Callable[..., int]) -> Callable[[Any], Any]:
        def decorate(task: Any) -> Any:
            decorated.append((task, duration))
            return forking(task)

        return decorate

    monkeypatch.setitem(sys.modules, "spaces", SimpleNamespace(GPU=gpu))
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    return decorated


@pytest.mark.parametrize("value", ["", "0", "false"])
def test_elsewhere_the_package_is_not_even_looked_for(
    value: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACES_ZERO_GPU", value)
    monkeypatch.setitem(sys.modules, "spaces", None)  # importing it would fail
    assert gpu_runner() is None
    engine = load_engine(Settings(model=str(model)), lambda text, share: None)
    assert type(engine) is LocalEngine
    engine.close()


def test_there_runs_go_apart(lent: list[Any], model: Path) -> None:
    assert gpu_runner() is gpu_runner()  # decorated once, at the start
    assert lent == [(run_apart, seconds)]
    engine = load_engine(Settings(model=str(model)), lambda text, share: None)
    assert isinstance(engine, InlineEngine)
    assert (engine.info.device, engine.info.dtype) == ("cuda", "bfloat16")
    assert str(engine.model.device) == "cpu"  # in this process, which must not touch the accelerator
    engine._device = None  # there is none to move to
    prompt = engine.chat([{"role": "user", "content": "Hi"}])
    events = list(engine.stream(prompt, SamplingParams(max_tokens=3, seed=1, ignore_eos=True)))
    assert isinstance(events[-1], Finished)
    assert events[-1].reason == "max_tokens"
    engine.close()


def test_a_space_may_choose_the_cpu_all_the_same(lent: list[Any], model: Path) -> None:
    engine = load_engine(Settings(model=str(model), device="cpu"), lambda text, share: None)
    assert type(engine) is LocalEngine
    engine.close()


def test_a_long_run_borrows_for_longer() -> None:
    def asked(tokens: int) -> int:
        request = Request(Prompt("", (), (), (1,), None), SamplingParams(max_tokens=tokens))
        return seconds(0, [request], 0)

    assert asked(1) < asked(500) < asked(5000) == asked(50_000) <= 120


def test_a_run_is_read_in_the_context_of_its_visitor() -> None:
    visitor: contextvars.ContextVar[str] = contextvars.ContextVar("visitor", default="nobody")

    class Asking:
        def __iter__(self) -> Iterator[Any]:
            yield (visitor.get(), threading.current_thread() is threading.main_thread())

        def close(self) -> None: ...

    async def visit(name: str) -> list[Any]:
        visitor.set(name)
        return [event async for event in events_of(Asking())]  # type: ignore[arg-type]

    async def both() -> list[list[Any]]:
        return await asyncio.gather(visit("one"), visit("two"))

    assert asyncio.run(both()) == [[("one", False)], [("two", False)]]
