"""LocalEngine: the engine interface over a model in this process."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from torch import Tensor

from playground.engine.inside import Inside
from playground.engine.looks import Looks
from playground.engine.models import Loaded
from playground.engine.pool import IdsKey, LogitsPool
from playground.engine.request import MEGABYTE, Request, check_request
from playground.engine.scheduler import Scheduler
from playground.engine.stream import Stream
from playground.findings import Divergence
from playground.text.chat import chat_prompt, raw_prompt
from playground.text.tokens import Vocabulary
from playground.trace import ModelInfo, Parent, Prompt, SamplingParams, TokenStep, Trace, collect

Result = TypeVar("Result")


@dataclass(frozen=True)
class Capabilities:
    """What an engine can tell. A view that needs what is missing says so."""

    full_logits: bool
    own_sampler: bool  # settings mean exactly what params.py says
    attention: bool
    prompt_scores: bool
    id_prompts: bool
    most_candidates: int


class LocalEngine:
    """Runs prompts on one model and hands out every token with all that is known about it.

    Safe to share between threads; all running lanes decode in one batch.
    """

    def __init__(
        self, loaded: Loaded, *, max_lanes: int = 16, kv_mb: int = 2048, logits_pool_mb: int = 256
    ) -> None:
        self.model = loaded.model
        self.tokenizer = loaded.tokenizer
        self.info = loaded.info
        self.vocabulary = Vocabulary(loaded.tokenizer, loaded.info.vocabulary)
        self.capabilities = Capabilities(True, True, True, True, True, loaded.info.vocabulary)
        self._pool = LogitsPool(logits_pool_mb * MEGABYTE)
        self._scheduler = Scheduler(
            self.model,
            self.info,
            self.vocabulary,
            max_lanes=max_lanes,
            kv_bytes=kv_mb * MEGABYTE,
            pool=self._pool,
        )
        self._check = _checker(self._scheduler, self.info, kv_mb * MEGABYTE)
        self._start = _starter(self._scheduler, self._check)
        self._looks = Looks(self.info, self.vocabulary, self._pool, self._start)
        self.inside: Inside | None = Inside(self._scheduler)

    # -- prompts ----------------------------------------------------------------------------------

    def chat(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        template: str | None = None,
        thinking: bool | None = None,
        continue_last: bool = False,
    ) -> Prompt:
        """The prompt that the model's chat template (or another) makes of `messages`.

        Raises PromptError, in one sentence, where there is no template or it refuses the messages.
        """
        return chat_prompt(
            self.vocabulary, messages, template=template, thinking=thinking, continue_last=continue_last
        )

    def raw(self, text: str) -> Prompt:
        """The prompt that is `text` itself, with a start token if the model wants one."""
        return raw_prompt(self.vocabulary, text)

    # -- runs -------------------------------------------------------------------------------------

    def stream(
        self,
        prompt: Prompt,
        params: SamplingParams | Sequence[SamplingParams],
        *,
        forced: Sequence[int] = (),
        known: int = 0,
        watched: Sequence[int] = (),
        top_n: int = 20,
        reuse: bool = True,
        cache: bool = True,
        exact: bool = False,
        owner: str = "",
    ) -> Stream:
        """Run `prompt` in one lane per settings; events as they come, `event.lane` says whose.

        First comes the Prompt with the model's surprise at each of its tokens, then TokenSteps, and one
        Finished per lane. `forced` ids are the first steps of every lane; the first `known` of them are not
        reported again, for a reader that goes on with a run it has. `watched` ids are listed in every step.
        `reuse=False` reads the whole prompt anew, `cache=False` reads everything anew at each step.
        `exact=True` decodes lane by lane: in 16 bit, where rounding depends on what else is in a pass, each
        lane then equals that lane alone, bit by bit. What one `owner` asked is kept for that owner alone, but
        for what the template itself wrote, so that nobody can tell from the time a run takes.
        Closing the iterator, from any thread, stops the run within a step. Raises ValueError, before
        anything runs, for settings or ids that this model cannot have and for a prompt that leaves no room
        for an answer.
        """
        lanes = [params] if isinstance(params, SamplingParams) else list(params)
        requests = [
            Request(
                prompt,
                lane.seeded(),
                forced=tuple(forced),
                known=known,
                watched=tuple(watched),
                top_n=top_n,
                reuse=reuse,
                cache=cache,
                exact=exact,
                owner=owner,
            )
            for lane in lanes
        ]
        return self._start(requests)

    def run(self, prompt: Prompt, params: SamplingParams, **options: Any) -> Trace:
        """Run one lane to its end. Options as for `stream`."""
        params = params.seeded()
        return collect(self.info, params, self.stream(prompt, params, **options))

    def stream_fork(
        self,
        trace: Trace,
        *,
        step: int,
        token_id: int | None = None,
        token_ids: Sequence[int] = (),
        params: SamplingParams | None = None,
        **options: Any,
    ) -> Stream:
        """Run `trace` again with the same ids before `step`, then the given ids, then onward.

        The numbers of the shared steps are the trace's own where its settings are kept and it lists enough
        candidates, and computed anew otherwise. The dice of a step depend on seed and step alone, so a fork
        rolls what its parent rolled.
        """
        return self._start([self._fork_request(trace, step, token_id, token_ids, params, options)])

    def fork(
        self,
        trace: Trace,
        *,
        step: int,
        token_id: int | None = None,
        token_ids: Sequence[int] = (),
        params: SamplingParams | None = None,
        **options: Any,
    ) -> Trace:
        """`stream_fork`, collected. The new trace names its parent, which stays as it was."""
        request = self._fork_request(trace, step, token_id, token_ids, params, options)
        return collect(self.info, request.params, self._start([request]), Parent(trace.id, step))

    def redistribute(
        self,
        trace: Trace,
        *,
        step: int,
        params: SamplingParams,
        watched: Sequence[int] = (),
        top_n: int = 20,
    ) -> TokenStep:
        """The same step under other settings and the same dice; see `redistribute_ids`."""
        if not 0 <= step < len(trace.steps):
            raise ValueError(f"step must be in [0, {len(trace.steps) - 1}], got {step}")
        given = trace.steps[step].token_id if trace.steps[step].draw.method == "forced" else None
        seeded = params if params.seed is not None else replace(params, seed=trace.params.seed)
        return self.redistribute_ids(
            trace.prompt.ids, trace.answer_ids, step, seeded, token_id=given, watched=watched, top_n=top_n
        )

    def redistribute_ids(
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
        """What would have been picked at `step` of an answer under `params`, without running on from it.

        Computed from the stored logits; if they were dropped, one pass over the ids brings them back and the
        step's `forward_s` is above 0. `token_id` forces the pick; `u` in [0, 1) is rolled instead of the
        step's own dice.
        """
        return self._looks.step(
            prompt_ids,
            answer_ids,
            step,
            params,
            token_id=token_id,
            u=u,
            watched=watched,
            top_n=top_n,
            owner=owner,
        )

    def picks(
        self,
        prompt_ids: Sequence[int],
        answer_ids: Sequence[int],
        step: int,
        params: Sequence[SamplingParams],
        *,
        watched: Sequence[int] = (),
        owner: str = "",
    ) -> list[list[TokenStep]]:
        """The same step under each of `params` with the dice of each: [settings][dice]. So it can be told
        whether settings or dice made two lanes part."""
        seeded = [each.seeded() for each in params]
        return [
            [
                self._looks.step(
                    prompt_ids, answer_ids, step, replace(own, seed=other.seed), watched=watched, owner=owner
                )
                for other in seeded
            ]
            for own in seeded
        ]

    def divergences(
        self,
        prompt_ids: Sequence[int],
        answers: tuple[Sequence[int], Sequence[int]],
        params: tuple[SamplingParams, SamplingParams],
        *,
        owner: str = "",
    ) -> tuple[Divergence, ...]:
        """How far the second lane's distributions lie from the first's, at every index that both answers
        have; each is taken after its own lane's ids. Stored logits that were dropped are read anew."""
        return tuple(self._looks.divergences(prompt_ids, answers, params, owner=owner))

    def logits(
        self, prompt_ids: Sequence[int], answer_ids: Sequence[int] = (), *, owner: str = ""
    ) -> Tensor | None:
        """The stored raw logits (vocab,) after these ids, float32 on the CPU; None if they were dropped."""
        row = self._pool.get(IdsKey([*prompt_ids, *answer_ids], owner).key)
        return None if row is None else row.float()

    def between_passes(self, piece: Callable[[], Result]) -> Result:
        """What `piece` returns, called on the thread that owns the model; it may read the model."""
        return self._scheduler.call(piece).result()

    def status(self) -> dict[str, int]:
        """Lanes running and waiting, and free slots."""
        return self._scheduler.status()

    def close_when_unused(self) -> None:
        """Close once nobody holds this engine any more: whoever is in the middle of a run finishes it."""
        weakref.finalize(self, self._scheduler.close)

    def close(self) -> None:
        """Stop all runs and the worker thread."""
        self._scheduler.close()

    # -- inside -----------------------------------------------------------------------------------

    def _fork_request(
        self,
        trace: Trace,
        step: int,
        token_id: int | None,
        token_ids: Sequence[int],
        params: SamplingParams | None,
        options: dict[str, Any],
    ) -> Request:
        if not 0 <= step <= len(trace.steps):
            raise ValueError(f"step must be in [0, {len(trace.steps)}], got {step}")
        if token_id is not None and token_ids:
            raise ValueError("give token_id or token_ids, not both")
        given = (*trace.answer_ids[:step], *(token_ids if token_id is None else (token_id,)))
        params = (params or trace.params).seeded()
        request = Request(trace.prompt, params, forced=given, **options)
        if trace.model.sha256 != self.info.sha256 or not _same_distribution(params, trace.params):
            return request
        listed = trace.steps[:step]
        most = min(request.top_n, self.info.vocabulary)
        shown = all(
            set(request.watched) <= {entry.token_id for entry in item.candidates}
            and sum(entry.rank <= most for entry in item.candidates) == most
            for item in listed
        )
        return replace(request, recorded=listed) if shown else request


Requests = Sequence[Request]


def _checker(scheduler: Scheduler, info: ModelInfo, kv_bytes: int) -> Callable[[Requests], None]:
    """What raises ValueError, in a sentence, for lanes that this engine cannot run."""

    def check(requests: Requests) -> None:
        if not requests:
            raise ValueError("a run needs at least one lane of settings")
        for request in requests:
            prompt, answer = len(request.prompt.ids), request.params.max_tokens
            needed = scheduler.seating.needed_for(prompt, answer, info.context)
            check_request(request, info, needed, kv_bytes)

    return check


def _starter(scheduler: Scheduler, check: Callable[[Requests], None]) -> Callable[[Requests], Stream]:
    """What starts lanes, after the checks. It does not hold the engine, which may go with its last user."""

    def start(requests: Requests) -> Stream:
        check(requests)
        return scheduler.submit(requests)

    return start


def _same_distribution(first: SamplingParams, second: SamplingParams) -> bool:
    """Whether two settings give the same final distribution; dice and limits may differ."""

    def core(params: SamplingParams) -> SamplingParams:
        return replace(params, seed=0, max_tokens=10**6, stop=(), ignore_eos=False)

    return core(first) == core(second)
