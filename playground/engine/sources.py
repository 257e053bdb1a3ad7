"""Where a model's files are: the user's cache folder, a hub, a folder; and the hash that identifies them."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import platformdirs

from playground.progress import Report

_CHUNK = 16 * 1024 * 1024
_READ_BESIDE_WEIGHTS = (".json", ".model", ".txt", ".jinja", ".tiktoken")


class LoadError(Exception):
    """A model could not be loaded: one plain sentence that says why and what to do."""


def cache_folder() -> Path:
    """Where this program keeps what it made: PLAYGROUND_CACHE, or the user's cache folder. May not exist."""
    chosen = os.environ.get("PLAYGROUND_CACHE")
    return (
        Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("token-playground")
    )


def quoted(value: object) -> str:
    """A name from outside for a sentence: in quotes, control characters escaped, cut to a bearable length."""
    text = repr(str(value))
    return text if len(text) <= 120 else f"{text[:110]}…'"


def reason(error: BaseException) -> str:
    """The first line of an error's own words, without the full stop, cut to a bearable length."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0].rstrip(".:") if lines else type(error).__name__
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= 200 else f"{text[:190]}…"


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without the bars and advice that transformers writes while it loads: our reports say what matters."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # the bar of its GGUF reader heeds no switch
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def hub_folder(repo: str) -> Path:
    """The folder with the files of `repo` from a model hub: what is missing is fetched, nothing is run.

    Raises LoadError when there is no such repository, it is closed to this user, or no hub can be reached
    and no earlier download is at hand.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    name = quoted(repo)
    try:
        try:
            listed = [item.rfilename for item in HfApi().model_info(repo).siblings or []]
            wanted = _files_to_fetch(listed)
        except (GatedRepoError, RepositoryNotFoundError, HFValidationError):
            raise
        except Exception:  # whatever keeps us from asking the hub: an earlier download may do
            return Path(snapshot_download(repo, local_files_only=True))
        return Path(snapshot_download(repo, allow_patterns=wanted))
    except GatedRepoError:
        sentence = (
            f"the model {name} has terms to accept: do that on its page and log in with `hf auth login`"
        )
    except RepositoryNotFoundError:
        sentence = (
            f"the hub shows no model {name}: check the name, or log in with `hf auth login` if it is private"
        )
    except HFValidationError:
        sentence = (
            f"{name} is neither a folder, a .gguf file nor a model's name like org/name: check the spelling"
        )
    except LocalEntryNotFoundError:
        sentence = (
            f"no model hub could be reached and {name} is not on this machine yet: "
            "check the network, or give a folder"
        )
    except Exception as error:
        sentence = f"the model {name} could not be fetched ({reason(error)}): try again, or give a folder"
    raise LoadError(sentence)


def _files_to_fetch(listed: Sequence[str]) -> list[str]:
    """Of a repository's files those that loading reads; pickled weights only where there are no others."""
    top = [name for name in listed if "/" not in name or name.startswith("additional_chat_templates/")]
    weights = [name for name in top if name.startswith("model") and name.endswith(".safetensors")]
    weights = weights or [name for name in top if name.startswith("pytorch_model") and name.endswith(".bin")]
    return weights + [name for name in top if name.endswith(_READ_BESIDE_WEIGHTS)]


def weight_files(folder: Path) -> list[Path]:
    """The files that transformers reads the weights of `folder` from, in name order; may be missing ones.

    Raises LoadError if the folder holds no weights, or an index of them that cannot be read.
    """
    for index, single in (
        ("model.safetensors.index.json", "model.safetensors"),
        ("pytorch_model.bin.index.json", "pytorch_model.bin"),
    ):
        if (folder / single).is_file():
            return [folder / single]
        if (folder / index).is_file():
            try:
                shards = set(json.loads((folder / index).read_text("utf-8"))["weight_map"].values())
                return [folder / shard for shard in sorted(shards)]
            except (ValueError, LookupError, TypeError, AttributeError):
                break
    else:
        raise LoadError(
            f"the folder {quoted(folder)} holds no model weights: "
            "it needs model.safetensors (or its shards and their index) beside config.json"
        )
    raise LoadError(f"the file {quoted(folder / index)} is broken: fetch the model again")


def weights_sha256(files: Sequence[Path], report: Report) -> str:
    """SHA-256, in hex, of the files' contents one after the other.

    Kept in the cache folder under the files' paths, sizes and times, since hashing gigabytes takes a while.
    """
    stats = [path.stat() for path in files]
    key = json.dumps(
        [
            [str(path.resolve()), stat.st_size, stat.st_mtime_ns]
            for path, stat in zip(files, stats, strict=True)
        ]
    )
    known = _known_hashes()
    if key not in known:
        known[key] = _hash(files, sum(stat.st_size for stat in stats), report)
        _keep_hashes(known)
    return known[key]


def _hash(files: Sequence[Path], total: int, report: Report) -> str:
    digest, done = hashlib.sha256(), 0
    for path in files:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                done += len(chunk)
                if total > 20 * _CHUNK:  # less is a matter of a second
                    report("reading the weights' identity", done / total)
    return digest.hexdigest()


def _known_hashes() -> dict[str, str]:
    try:
        known: Any = json.loads((cache_folder() / "hashes.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _keep_hashes(known: dict[str, str]) -> None:
    """Written beside, then renamed. Where nothing can be written, hashing is done again the next time."""
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(prefix="hashes-", dir=cache_folder())
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(known, file)
        os.replace(beside, cache_folder() / "hashes.json")
    except OSError:
        pass
