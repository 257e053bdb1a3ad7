"""The model in its own dtype and, as a copy, in another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playground.engine.local import LocalEngine
    from playground.experiments.bench import Bench


class Unavailable(Exception):
    """A sentence for the report: why a dtype could not be tried."""


def two_dtypes(bench: Bench) -> tuple[str, str]:
    """The model's own dtype and another one: fine if its own is coarse, coarse if it is fine."""
    own = bench.engine.info.dtype
    return own, "bfloat16" if own == "float32" else "float32"


@contextmanager
def in_dtype(bench: Bench, dtype: str) -> Iterator[LocalEngine]:
    """The bench's engine, or one over a copy that is given back at the end. Raises Unavailable."""
    if dtype == bench.engine.info.dtype:
        yield bench.engine
        return
    from playground.engine.recast import recast

    try:
        engine = recast(bench.engine, dtype)
    except ValueError as error:
        raise Unavailable(f"Not available here in {dtype}: {error}.") from None
    try:
        yield engine
    finally:
        engine.close()
