"""Tokenizers without weights: which files are read, what is kept, and what is said where none can be had."""

from __future__ import annotations

import threading
from fnmatch import fnmatch
from pathlib import Path

import huggingface_hub
import pytest

from playground.engine import bundled, tokenizers
from playground.engine.sources import LoadError
from playground.engine.tokenizers import MOST_KEPT, Tokenizers, load_vocabulary
from playground.text.tokens import Vocabulary
from tests.fakes import byte_tokenizer


class Counted:
    """Makes a vocabulary for any name, and counts; `x…` cannot be had."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, name: str) -> Vocabulary:
        self.asked.append(name)
        if name.startswith("x"):
            raise LoadError(f"there is no {name}")
        return Vocabulary(byte_tokenizer(), 259)


def test_a_folder_needs_no_weights(tmp_path: Path) -> None:
    byte_tokenizer().save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.safetensors"))
    vocabulary = load_vocabulary(str(tmp_path))
    assert vocabulary.encode("né<|im_end|>") == [*"né".encode(), 257]
    assert vocabulary.size == 259


def test_one_is_loaded_once_and_the_last_few_are_kept() -> None:
    counted = Counted()
    known = Tokenizers(counted)
    first = known.get("a")
    assert known.get("a") is first
    for number in range(MOST_KEPT - 1):
        known.get(f"b{number}")
    assert known.get("a") is first  # still there, and now the latest
    known.get("c")
    assert known.get("a") is first
    assert known.get("b0") is not None
    assert counted.asked == ["a", *(f"b{n}" for n in range(MOST_KEPT - 1)), "c", "b0"]


def test_many_who_ask_at_once_load_it_once() -> None:
    counted = Counted()
    known = Tokenizers(counted)
    threads = [threading.Thread(target=known.get, args=("a",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted.asked == ["a"]


def test_what_cannot_be_had_is_asked_for_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(tokenizers.time, "monotonic", lambda: now)
    counted = Counted()
    known = Tokenizers(counted)
    for later, times in ((0.0, 1), (59.0, 1), (61.0, 2)):
        now = 1000.0 + later
        with pytest.raises(LoadError, match="there is no x"):
            known.get("x")
        assert len(counted.asked) == times


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("org/nowhere", "is not on this machine, and no model hub could be reached"),
        ("a/b/c", "is neither a folder nor a model's name like org/name"),
        ("../../etc/passwd", "is neither a folder nor a model's name"),
        ("\x00", "is neither a folder nor a model's name"),
    ],
)
def test_offline_it_is_said_in_one_sentence(
    name: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LoadError) as told:
        load_vocabulary(name)
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_a_folder_without_a_tokenizer_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(LoadError, match="could not be read"):
        load_vocabulary(str(tmp_path))


def test_the_bundled_one_is_not_fetched_with_its_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PLAYGROUND_CACHE", str(tmp_path))
    monkeypatch.setattr(bundled, "bundled_folder", lambda report: pytest.fail("the wheel was fetched"))
    asked: list[str] = []

    def fetched(repo: str) -> Path:
        asked.append(repo)
        byte_tokenizer().save_pretrained(tmp_path / "hub")
        return tmp_path / "hub"

    monkeypatch.setattr(tokenizers, "_fetched", fetched)
    assert load_vocabulary(bundled.NAME).encode("a") == [97]
    assert asked == [bundled.HUB_NAME]


@pytest.mark.model
def test_the_bundled_one_is_that_of_its_model(bundled: object) -> None:
    vocabulary = load_vocabulary("SmolLM2-135M-Instruct")
    assert vocabulary.size == 49152
    assert vocabulary.encode("  1") == [256, 33]
    assert vocabulary.encode("👍🏽") == [10813, 235, 231, 10813, 233, 138]


def test_of_a_hub_only_the_tokenizers_files_are_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    byte_tokenizer().save_pretrained(tmp_path)
    fetched: list[str] = []

    def download(repo: str, *, allow_patterns: list[str]) -> str:
        fetched.extend(allow_patterns)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda self, repo, timeout: None)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert load_vocabulary("org/name").encode("a") == [97]
    assert {path.name for path in tmp_path.iterdir()} <= set(fetched)
    weights = (
        "model.safetensors",
        "model-00001-of-00002.safetensors",
        "pytorch_model.bin",
        "model.gguf",
        "x.py",
    )
    assert not [name for name in weights if any(fnmatch(name, pattern) for pattern in fetched)]
