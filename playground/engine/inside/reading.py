"""How a look reaches the model: in short pieces on the thread that owns it, and with what may be asked."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor

from playground.engine.inside.kept import Kept
from playground.engine.inside.shape import model_shape
from playground.engine.pool import IdsKey
from playground.engine.request import MEGABYTE, check_ids
from playground.engine.scheduler import Scheduler, describe
from playground.findings.inside import ModelShape
from playground.text.tokens import Vocabulary
from playground.trace import ModelInfo

MOST = 512  # positions of one look: a pass over them takes about as long as two chunks of a prompt

# How far two passes over the same ids may lie apart, as a share of the largest logit.
_ROUNDING = {torch.float32: 1e-4, torch.float16: 0.02, torch.bfloat16: 0.1}

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

    @cached_property
    def shape(self) -> ModelShape:
        return model_shape(self.model)

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

    def checked(self, ids: Sequence[int], position: int = 0) -> tuple[int, ...]:
        """What a look at `position` of `ids` may read: the first `most` of them.

        Raises ValueError for no ids at all, for ids that this model does not have, and for a position that
        is not there or comes later than the looks reach.
        """
        if not ids:
            raise ValueError("there is no token to look at")
        check_ids("the text", ids, self.info)
        if type(position) is not int or not 0 <= position < len(ids):
            raise ValueError(f"position must be in [0, {len(ids) - 1}], got {position!r:.40}")
        most = min(self.most, self.info.context or self.most)
        if position >= most:
            raise ValueError(
                f"a look reads {most} positions at most, and this is number {position + 1}: choose one before"
            )
        return tuple(ids[:most])

    def ids(self, ids: Sequence[int]) -> Tensor:
        """(1, length) on the model's device."""
        return torch.tensor([list(ids)], device=self.model.device)

    def key(self, what: str, ids: Sequence[int], owner: str, *more: object) -> tuple[object, ...]:
        """The key in `kept` for `what` was found of `ids`, for this owner alone."""
        return what, IdsKey(ids, owner).key, *more

    # -- for pieces -------------------------------------------------------------------------------

    def forward(self, ids: Sequence[int], position: int, **more: Any) -> Any:
        """The model's output for `ids`, without any cache, its logits (1, 1, vocab) those at `position`."""
        keeps = "logits_to_keep" in inspect.signature(self.model.forward).parameters
        if keeps:  # the other rows may take more memory than all else
            more["logits_to_keep"] = torch.tensor([position], device=self.model.device)
        output = self.model(input_ids=self.ids(ids), use_cache=False, **more)
        if not keeps:
            output.logits = output.logits[:, position : position + 1]
        return output

    def logits(self, ids: Sequence[int], position: int) -> Tensor:
        """(vocab,) float32 on the CPU: of a pass over `ids`, those at `position`."""
        return self.forward(ids, position).logits[0, 0].float().cpu()

    # -- what the model itself says ---------------------------------------------------------------

    def own_logits(self, ids: Sequence[int], owner: str) -> tuple[int, Tensor]:
        """A position of `ids` and the logits (vocab,) there of the model as it runs: the last that a run
        of this owner has left, or else the last of all, by an ordinary pass."""
        key, found = IdsKey((), owner), None
        for position, token_id in enumerate(ids):
            row = self.scheduler.pool.get(key.extend([token_id]))
            found = found if row is None else (position, row.float())
        return found or (len(ids) - 1, self.call(lambda: self.logits(ids, len(ids) - 1)))

    def agrees(self, logits: Tensor, own: Tensor) -> bool:
        """Whether two rows of logits (vocab,) differ by rounding alone, in the model's dtype."""
        difference = (logits - own).abs().max()  # NaN agrees with nothing
        return bool(difference <= _ROUNDING.get(self.model.dtype, 0.1) * own.abs().max().clamp(min=1))


@dataclass(frozen=True)
class _Failure:
    sentence: str
    refused: bool


def _guarded(piece: Callable[[], Result]) -> Result | _Failure:
    try:
        return piece()
    except NotAvailable as error:
        return _Failure(str(error), True)
    except Exception as error:
        memory = isinstance(error, torch.OutOfMemoryError | MemoryError)
        sentence = describe(error, "look")
    if memory:  # only here, where the traceback and the tensors of its frames are gone
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return _Failure(sentence, False)
