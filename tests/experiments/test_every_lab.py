"""Every lab, headless with its defaults: on tiny models, and on the bundled one."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import threading
import time
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import torch
from transformers import PreTrainedModel

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded
from playground.experiments import LABS, Lab
from playground.experiments.bench import Bench
from playground.experiments.lab import Progress, described, read_options, record, run_lab
from playground.findings.report import Block, Chart, LabResult, Quote, Say, Strips, Table, Unit
from tests.fakes import byte_tokenizer, loaded, tiny_gemma3, tiny_llama

TINY: dict[str, Any] = {
    "a llama": lambda: loaded(tiny_llama(positions=512)),
    "windows that slide": lambda: loaded(tiny_gemma3(positions=512)),
    "32 positions and no template": lambda: loaded(tiny_llama(positions=32), byte_tokenizer(None)),
}
UNITS = set(get_args(Unit))


@pytest.fixture(params=TINY)
def tiny(request: pytest.FixtureRequest) -> Iterator[tuple[LocalEngine, PreTrainedModel]]:
    made: Loaded = TINY[request.param]()
    engine = LocalEngine(made)
    yield engine, made.model
    engine.close()


def checksum(model: PreTrainedModel) -> str:
    found = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        found.update(name.encode())
        found.update(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def threads_left(before: set[threading.Thread]) -> set[str]:
    """Names of threads that were not there before, once they had time to end."""
    for _ in range(200):
        left = {each.name for each in threading.enumerate() if each not in before and each.is_alive()}
        if not left:
            break
        time.sleep(0.02)
    return left


def check_block(block: Block) -> None:
    if isinstance(block, Say):
        text = "".join(part.text for part in block.parts)
        assert text.strip()
        assert "nan" not in text.lower().split()
        return
    assert block.title
    if isinstance(block, Table):
        assert all(column.unit in UNITS for column in block.columns)
        for row in block.rows:
            assert len(row) == len(block.columns)
            for cell, column in zip(row, block.columns, strict=True):
                if isinstance(cell, float):
                    assert math.isfinite(cell)
                if column.unit == "share" and cell is not None:
                    assert isinstance(cell, int | float)
                    assert -1e-6 <= cell <= 1 + 1e-6
    elif isinstance(block, Chart):
        assert block.series
        for series in block.series:
            assert len(series.x) == len(series.y) > 0
            assert all(y is None or math.isfinite(y) for y in series.y)
            assert all(isinstance(x, str) or math.isfinite(x) for x in series.x)
    elif isinstance(block, Strips):
        for lane in block.lanes:
            assert all(0 <= chip.shade <= 1 for chip in lane.chips)
    else:
        assert isinstance(block, Quote)
        assert block.texts


def check_result(lab: Lab, result: LabResult) -> None:
    told = json.loads(json.dumps(record(lab, result), allow_nan=False))
    assert told["lab"] == lab.name
    assert told["options"].keys() == {item["name"] for item in described(lab)}
    blocks = lab.report(result.found)
    assert isinstance(blocks[0], Say), "the answer comes first"
    for block in blocks:
        check_block(block)


def run_whole(lab: Lab, engine: LocalEngine) -> LabResult:
    """Runs a lab with its defaults, and checks what holds for all of them."""
    shares: list[float] = []
    last: LabResult | None = None
    for event in run_lab(lab, Bench(engine), read_options(lab, {})):
        if isinstance(event, Progress):
            assert event.text
            shares.append(event.share)
        else:
            last = event
            check_result(lab, event)
    falls = [one - other for one, other in itertools.pairwise(shares)]
    assert max(falls) < 1e-9, "progress falls"
    assert shares[0] >= 0
    assert shares[-1] <= 1
    assert last is not None
    assert last.complete
    return last


def test_each_lab_says_what_it_asks_and_how() -> None:
    for name, lab in LABS.items():
        assert name == lab.name
        assert lab.question.endswith("?")
        for sentence in (*lab.method, *lab.bounds):
            assert sentence.endswith("."), sentence
        assert lab.method
        assert lab.bounds
        for item in described(lab):
            assert item["label"], item
        assert read_options(lab, {item["name"]: item["default"] for item in described(lab)}) == lab.options()


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_a_lab_measures_a_tiny_model_and_leaves_it_as_it_was(
    lab: Lab, tiny: tuple[LocalEngine, PreTrainedModel]
) -> None:
    engine, model = tiny
    engine.between_passes(lambda: None)  # its own thread starts with its first work
    before, sums, dice = set(threading.enumerate()), checksum(model), torch.get_rng_state()
    small = (engine.info.context or 0) < 100
    try:
        assert run_whole(lab, engine).model == engine.info
    except ValueError as error:  # one sentence, where there is no room for what the lab does
        if not small or "\n" in str(error):
            raise
    assert engine.status()["running"] == engine.status()["waiting"] == 0
    assert checksum(model) == sums
    assert torch.equal(torch.get_rng_state(), dice)
    assert threads_left(before) == set()


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_a_lab_can_be_stopped_wherever_it_is(lab: Lab) -> None:
    """Closed after a few events, then after more and more: nothing goes on and nothing is left."""
    made = loaded(tiny_llama(positions=512))
    engine = LocalEngine(made)
    engine.between_passes(lambda: None)
    try:
        before, sums = set(threading.enumerate()), checksum(made.model)
        events = len(list(run_lab(lab, Bench(engine), read_options(lab, {}))))
        for share in (0.05, 0.4, 0.9):
            running = run_lab(lab, Bench(engine), read_options(lab, {}))
            for _ in range(max(1, int(events * share))):
                event = next(running)
                if isinstance(event, LabResult):
                    check_result(lab, event)
            running.close()  # type: ignore[attr-defined]  # it is a generator
            for _ in range(200):
                if not engine.status()["running"]:
                    break
                time.sleep(0.01)
            assert engine.status()["running"] == engine.status()["waiting"] == 0
            assert threads_left(before) == set()
        assert checksum(made.model) == sums
    finally:
        engine.close()


@pytest.mark.model
@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_a_lab_measures_the_bundled_model(lab: Lab, bundled: Loaded) -> None:
    engine = LocalEngine(bundled)
    try:
        sums = checksum(bundled.model)
        run_whole(lab, engine)
        assert checksum(bundled.model) == sums
    finally:
        engine.close()
