"""Looks at the steps of a run by ids and settings: nothing is run on, and no run is changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from playground.engine.pool import IdsKey, LogitsPool
from playground.engine.record import step_numbers
from playground.engine.request import Request, check_ids, check_request
from playground.engine.stream import Stream
from playground.findings import Divergence
from playground.sampling import Distribution, decide, dice, distribution, forced, kl, lost
from playground.text.tokens import Vocabulary
from playground.trace import Finished, ModelInfo, Prompt, SamplingParams, TokenStep

_READ = 64  # rows brought back by one pass


class Looks:
    """Works from the stored rows of logits; rows that were dropped are read anew through `start`."""

    def __init__(
        self,
        info: ModelInfo,
        vocabulary: Vocabulary,
        pool: LogitsPool,
        start: Callable[[Sequence[Request]], Stream],
    ) -> None:
        self._info, self._vocabulary, self._pool, self._start = info, vocabulary, pool, start

    def step(
        self,
        prompt_ids: Sequence[int],
        answer_ids: Sequence[int],
        step: int,
        params: SamplingParams,
        *,
        token_id: int | None = None,
        u: float | None = None,
        watched: Sequence[int] = (),
        top_n: int = 20,
        owner: str = "",
    ) -> TokenStep:
        """See LocalEngine.redistribute_ids."""
        if u is not None and not 0 <= u < 1:
            raise ValueError(f"u must be in [0, 1), got {u!r:.80}")
        if not 0 <= step <= len(answer_ids):
            raise ValueError(f"step must be in [0, {len(answer_ids)}], got {step}")
        check_ids("the answer", answer_ids, self._info)
        before = tuple(answer_ids[:step])
        given = before if token_id is None else (*before, token_id)
        params = params.seeded()
        self._check(prompt_ids, given, params, watched, top_n)
        row, forward_s = self._pool.get(IdsKey([*prompt_ids, *before], owner).key), 0.0
        if row is None:
            row, forward_s = self._read_row([*prompt_ids, *before], owner)
        with torch.inference_mode():
            made = self._distribution(row, params, prompt_ids, before)
            assert params.seed is not None
            roll = dice(params.seed, step) if u is None else u
            decision = decide(made, roll) if token_id is None else forced(made, token_id)
            numbers = step_numbers(
                made,
                decision,
                self._vocabulary,
                top_n=top_n,
                watched=watched,
                end_ids=self._info.end_ids,
            )
        return TokenStep(
            lane=0,
            index=step,
            position=len(prompt_ids) + step,
            token_id=decision.token_id,
            bytes=self._vocabulary.bytes_of(decision.token_id),
            text="",
            trimmed=0,
            **numbers,
            queue_s=0.0,
            forward_s=forward_s,
            sample_s=0.0,
            batch_lanes=0,
            kv_len=0,
            kv_bytes=0,
        )

    def divergences(
        self,
        prompt_ids: Sequence[int],
        answers: tuple[Sequence[int], Sequence[int]],
        params: tuple[SamplingParams, SamplingParams],
        *,
        owner: str = "",
    ) -> Iterator[Divergence]:
        """See LocalEngine.divergences."""
        both = min(len(answer) for answer in answers)
        for answer, own in zip(answers, params, strict=True):
            self._check(prompt_ids, answer[:both], own)
        rows = [self._rows(prompt_ids, answer[:both], owner) for answer in answers]
        everything = np.arange(self._info.vocabulary)
        for index, pair in enumerate(zip(*rows, strict=True)):
            first, second = (
                self._distribution(row, own, prompt_ids, answer[:index])
                for row, own, answer in zip(pair, params, answers, strict=True)
            )
            final = first.final_logprob(everything), second.final_logprob(everything)
            raw = kl(first.logprob(everything), second.logprob(everything))
            yield Divergence(index, _finite(raw), _finite(kl(*final)), lost(*final))

    def _distribution(
        self, row: Tensor, params: SamplingParams, prompt_ids: Sequence[int], before: Sequence[int]
    ) -> Distribution:
        return distribution(row, params, prompt_ids=prompt_ids, answer_ids=before, end_ids=self._info.end_ids)

    def _check(
        self,
        prompt_ids: Sequence[int],
        given: Sequence[int],
        params: SamplingParams,
        watched: Sequence[int] = (),
        top_n: int = 20,
    ) -> None:
        """Raise ValueError, in a sentence, for ids or settings that this model cannot have."""
        unlimited = replace(params, max_tokens=max(params.max_tokens, len(given)))
        prompt = Prompt("", (), (), tuple(prompt_ids), None)
        request = Request(prompt, unlimited, tuple(given), watched=tuple(watched), top_n=top_n)
        check_request(request, self._info, needed=0, allowed=0)

    def _rows(self, prompt_ids: Sequence[int], answer_ids: Sequence[int], owner: str) -> Iterator[Tensor]:
        """The row of logits (vocab,) that each id of the answer was picked from."""
        ids, start = [*prompt_ids, *answer_ids], len(prompt_ids)
        key = IdsKey(prompt_ids, owner)
        for place in range(start, len(ids)):
            row = self._pool.get(key.key)
            if row is None:
                self._read(ids[:place], ids[place : place + _READ], owner)
                row = self._pool.get(key.key)
            if row is None:
                raise ValueError("not available here: the server keeps no logits")
            yield row
            key.extend([ids[place]])

    def _read_row(self, ids: Sequence[int], owner: str) -> tuple[Tensor, float]:
        """The logits after `ids`, and the seconds that their pass took."""
        forward_s = self._read(ids, (), owner)
        row = self._pool.get(IdsKey(ids, owner).key)
        if row is None:
            raise ValueError("not available here: the server keeps no logits")
        return row, forward_s

    def _read(self, ids: Sequence[int], given: Sequence[int], owner: str) -> float:
        """Bring the rows after `ids` and after each of `given` but the last back into the pool, by a run of
        given tokens on the worker. Returns the seconds that its first pass took."""
        prompt = Prompt("", (), (), tuple(ids), None)
        params = SamplingParams(max_tokens=max(1, len(given)), seed=0)
        forward_s = None
        for event in self._start([Request(prompt, params, tuple(given), top_n=1, owner=owner)]):
            if isinstance(event, TokenStep) and forward_s is None:
                forward_s = event.forward_s
            elif isinstance(event, Finished) and forward_s is None:
                raise ValueError(event.message)
        assert forward_s is not None
        return forward_s


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
