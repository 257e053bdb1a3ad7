"""How a look reaches the model: in short pieces on the thread that owns it, and with what may be asked."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from playground.engine.inside.kept import Kept
from playground.engine.pool import IdsKey
from playground.engine.request import MEGABYTE, check_ids
from playground.engine.scheduler import Scheduler, describe
from playground.text.tokens import Vocabulary
from playground.trace import ModelInfo

MOST = 512  # positions of one look: a pass over them takes about as long as two chunks of a prompt

Result = TypeVar("Result")


class NotAvailable(ValueError):
    """This model, or this server, cannot show it: one sentence for people."""


@dataclass(frozen=True)
class Reader:
    """The model of an engine, for looks.

    Whatever computes with `model` does so in a piece, by `call`. It passes `use_cache=False` and leaves
    everything as it found it.
    """

    scheduler: Scheduler
    kept: Kept = field(default_factory=lambda: Kept(256 * MEGABYTE))
    most: int = MOST

    @property
    def model(self) -> Any:
        return self.scheduler.model

    @property
    def info(self) -> ModelInfo:
        return self.scheduler.info

    @property
    def vocabulary(self) -> Vocabulary:
        return self.scheduler.vocabulary

    @property
    def config(self) -> Any:
        """The config of the part that reads text."""
        return self.model.config.get_text_config(decoder=True)

    def call(self, piece: Callable[[], Result]) -> Result:
        """Run `piece` on the worker between two passes, under inference_mode, and wait for what it returns.

        A NotAvailable that it raises comes out as it is, whatever else it raises as a ValueError of one
        sentence: its traceback, whose frames hold tensors, stays behind.
        """
        try:
            outcome = self.scheduler.call(lambda: _guarded(piece)).result()
        except RuntimeError:  # closed
            raise ValueError("The model was changed meanwhile: please look again.") from None
        if isinstance(outcome, _Failure):
            raise (NotAvailable if outcome.refused else ValueError)(outcome.sentence)
        return outcome

    def checked(self, ids: Sequence[int], needed: int = 1) -> tuple[int, ...]:
        """The ids that a look at their first `needed` positions may read: at most `most`.

        Raises ValueError for ids that this model does not have, none at all, or fewer than needed.
        """
        check_ids("the text", ids, self.info)
        if not ids:
            raise ValueError("there is no token to look at")
        if needed > len(ids):
            raise ValueError(f"there is no position {needed - 1}: these are {len(ids)} tokens")
        most = min(self.most, self.info.context or self.most)
        if needed > most:
            raise ValueError(
                f"a look reads the first {most} positions: choose a token before them, not {needed}"
            )
        return tuple(ids[:most])

    def ids(self, ids: Sequence[int]) -> Tensor:
        """(1, length) on the model's device."""
        return torch.tensor([list(ids)], device=self.model.device)

    def key(self, what: str, ids: Sequence[int], owner: str, *more: object) -> tuple[object, ...]:
        """The key in `kept` for `what` was found of `ids`, for this owner alone."""
        return what, IdsKey(ids, owner).key, *more


@dataclass(frozen=True)
class _Failure:
    sentence: str
    refused: bool


def _guarded(piece: Callable[[], Result]) -> Result | _Failure:
    try:
        return piece()
    except NotAvailable as error:
        return _Failure(str(error), True)
    except (torch.OutOfMemoryError, MemoryError) as error:
        error.__traceback__ = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return _Failure("The machine ran out of memory during this look: choose a shorter text.", False)
    except Exception as error:
        return _Failure(describe(error), False)
