"""Tokenizers of models without their weights, to hold one text under two of them."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playground.engine import bundled
from playground.engine.sources import LoadError, cache_folder, quiet_transformers, quoted, reason
from playground.text.tokens import Vocabulary

MOST_KEPT = 4  # a vocabulary of 262,144 tokens takes some 200 MB
_TRY_AGAIN_S = 60.0
_HUB_WAITS_S = 5.0
_MOST_FAILURES = 64
_FILES = [
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "vocab.txt", "merges.txt", "*.model", "*.tiktoken", "chat_template.jinja",
]  # fmt: skip

_log = logging.getLogger(__name__)


class Tokenizers:
    """Vocabularies by the name of their model, loaded when first asked for; the last few are kept.

    Safe to share between threads: one loads at a time. What cannot be had is not tried again for a minute.
    """

    def __init__(self, load: Callable[[str], Vocabulary] | None = None, most: int = MOST_KEPT) -> None:
        self._load = load or load_vocabulary
        self._most = most
        self._kept: OrderedDict[str, Vocabulary] = OrderedDict()
        self._failed: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._lock, self._loading = threading.Lock(), threading.Lock()

    def get(self, name: str) -> Vocabulary:
        """The vocabulary of a model's tokenizer. Raises LoadError, one sentence, if it cannot be had."""
        found = self._known(name)
        if found is None:
            with self._loading:
                found = self._known(name) or self._loaded(name)
        return found

    def _known(self, name: str) -> Vocabulary | None:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
            when, why = self._failed.get(name, (0.0, ""))
        if why and time.monotonic() - when < _TRY_AGAIN_S:
            raise LoadError(why)
        return None

    def _loaded(self, name: str) -> Vocabulary:
        try:
            made = self._load(name)
        except LoadError as error:
            with self._lock:
                self._failed[name] = (time.monotonic(), str(error))
                while len(self._failed) > _MOST_FAILURES:
                    self._failed.popitem(last=False)
            raise
        with self._lock:
            self._failed.pop(name, None)
            self._kept[name] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


def load_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of the bundled model, "org/name" of a hub, a folder, or a .gguf file.

    Of a hub only the tokenizer's files are fetched, a few MB; no code out of them is run. Raises LoadError.
    """
    try:
        tokenizer = _tokenizer(name)
        if not getattr(tokenizer, "is_fast", False) or not len(tokenizer):
            raise ValueError("it has no fast form")
        return Vocabulary(tokenizer, max(tokenizer.get_vocab().values()) + 1)
    except LoadError:
        raise
    except Exception as error:
        _log.debug("a tokenizer could not be loaded", exc_info=True)
        why = f"the tokenizer of {quoted(name)} could not be read ({reason(error)}): choose another model"
    raise LoadError(why)


def _tokenizer(name: str) -> Any:
    from transformers import AutoTokenizer

    path = Path(name).expanduser()
    with quiet_transformers():
        if path.is_file() and path.suffix.lower() == ".gguf":
            return bundled.gguf_tokenizer(path)
        return AutoTokenizer.from_pretrained(_folder(name, path), trust_remote_code=False)


def _folder(name: str, path: Path) -> Path:
    if name == bundled.NAME:
        made = cache_folder() / bundled.NAME
        return made if bundled.is_ready(made) else _fetched(bundled.HUB_NAME)
    return path if path.is_dir() else _fetched(name)


def _fetched(repo: str) -> Path:
    """A folder with the tokenizer's files of a hub's `repo`; an earlier download where no hub is in reach."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    shown = quoted(repo)
    try:
        try:
            HfApi().model_info(repo, timeout=_HUB_WAITS_S)
        except (GatedRepoError, RepositoryNotFoundError, HFValidationError):
            raise
        except Exception:  # whatever keeps us from asking: an earlier download may do
            return _checked(Path(snapshot_download(repo, local_files_only=True)))
        return _checked(Path(snapshot_download(repo, allow_patterns=_FILES)))
    except GatedRepoError:
        why = f"the model {shown} has terms to accept: do that on its page and log in with `hf auth login`"
    except RepositoryNotFoundError:
        why = f"the hub shows no model {shown}: check the name"
    except HFValidationError:
        why = f"{shown} is neither a folder nor a model's name like org/name: check the spelling"
    except Exception:
        why = (
            f"the tokenizer of {shown} is not on this machine, and no model hub could be reached: "
            "check the network, or choose another model"
        )
    raise LoadError(why)


def _checked(folder: Path) -> Path:
    if not any(folder.glob("tokenizer*")):
        raise FileNotFoundError("no tokenizer among the files")
    return folder
