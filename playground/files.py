"""Files that are whole or not there."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Written beside, then renamed, so that an earlier file is whole or replaced. Raises OSError."""
    beside = path.with_name(f".{secrets.token_hex(8)}.part")  # however long the name of `path` is
    try:
        with beside.open("xb") as file:
            file.write(data)
        beside.replace(path)
    finally:
        with contextlib.suppress(OSError):  # renamed by now, or never made: nothing to remove
            beside.unlink()
