"""A lane: one continuation being decoded, from its request to the reason it ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from torch import Tensor

from playground.engine.pool import IdsKey, LogitsPool, Scores
from playground.engine.record import step_numbers
from playground.engine.request import Request
from playground.sampling import NanLogits, NoTokenLeft, decide, dice, distribution, forced
from playground.text.stops import StopFilter
from playground.text.tokens import TextStream, Vocabulary
from playground.text.trim import trims
from playground.trace import Draw, Finished, FinishReason, ModelInfo, Prompt, TokenStep


@dataclass
class PassTimes:
    """What is known about the pass that gave a row of logits."""

    queue_s: float
    forward_s: float
    lanes: int  # in the same pass
    kv_len: int
    kv_bytes: int


@dataclass(eq=False)
class Lane:
    """The state of one continuation. Rows of logits go in by `take`, steps come out by `emit`.

    When `finished` is set the lane is over; whoever owns its seat takes it back and passes that on.
    """

    number: int
    request: Request
    model: ModelInfo
    vocabulary: Vocabulary
    pool: LogitsPool
    emit: Callable[[TokenStep], None]
    submitted: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.prompt_ids = np.asarray(self.request.prompt.ids, dtype=np.int64)
        self.ids = [*self.request.prompt.ids, *self.request.forced]  # all that is known: read, or to be read
        self.scores: Scores = [None] * len(self.ids)  # of `ids`; None for the first, and while unknown
        self.answer: list[int] = []
        self.finished: Finished | None = None
        self.reused = 0
        self.passes = 0
        self.prefill_s = 0.0
        self.prefill_tokens = 0
        self.uncharged_s = 0.0  # of prefill, until the next step takes it as its forward time
        self._key = IdsKey(
            self.request.prompt.ids, self.request.owner
        )  # of all ids up to the last one of the answer
        self._stream = TextStream(self.vocabulary)
        self._stops = StopFilter(self.request.params.stop)
        self._text: list[str] = []
        self._incomplete = b""  # bytes at the very end that never became a character
        self._token_times: list[float] = []

    # -- reading ----------------------------------------------------------------------------------

    @property
    def next_row(self) -> int:
        """The position whose logits the next step of the answer needs."""
        return len(self.prompt_ids) + len(self.answer) - 1

    def first_missing_row(self) -> int:
        """The first position whose logits some step needs and nobody has; len(ids) if there is none."""
        key = IdsKey(self.request.prompt.ids, self.request.owner)
        made = max(self.request.known, len(self.request.recorded))  # steps that need no row
        for index in range(len(self.request.forced) + 1):
            if index >= made and self.pool.get(key.key) is None:
                return len(self.prompt_ids) + index - 1
            if index < len(self.request.forced):
                key.extend([self.request.forced[index]])
        return len(self.ids)

    def adopt_scores(self, scores: Scores) -> int:
        """Take over the scores of tokens that get no step here; the first position that still lacks one."""
        wanted = len(self.prompt_ids) + self.request.known
        known = min(len(scores), wanted)
        self.scores[:known] = scores[:known]
        lacking = (place for place in range(1, wanted) if self.scores[place] is None)
        return next(lacking, len(self.ids) + 1)

    def pooled_row(self) -> Tensor | None:
        """The logits that the next step needs, if an older pass left them."""
        return self.pool.get(self._key.key)

    def scored_prompt(self) -> Prompt:
        """The prompt with the model's surprise at each token."""
        tokens = (
            replace(token, logprob=score[0], rank=score[1]) if score else token
            for token, score in zip(self.request.prompt.tokens, self.scores, strict=False)
        )
        return replace(self.request.prompt, tokens=tuple(tokens))

    def charge_prefill(self, seconds: float) -> None:
        self.prefill_s += seconds
        self.uncharged_s += seconds

    # -- writing ----------------------------------------------------------------------------------

    @property
    def next_known(self) -> bool:
        """Whether the next token of the answer is given, not picked."""
        return len(self.answer) < len(self.request.forced)

    def take(self, row: Tensor | None, times: PassTimes) -> None:
        """Make the next token of the answer from the logits `row` (vocab,), and emit it.

        `row` may be None where the step is recorded. Sets `finished` where the lane has to end.
        """
        index = len(self.answer)
        if row is not None:
            self.pool.put(self._key.key, row)
        if index < self.request.known:
            self._append(self.request.forced[index], None)
            return
        try:
            step = (
                self._recorded(index)
                if index < len(self.request.recorded)
                else self._picked(index, row, times)
            )
        except NoTokenLeft as error:
            self.finish("no_token_left", message=str(error))
            return
        except NanLogits as error:
            self.finish("nan_logits", message=str(error))
            return
        self._append(step.token_id, step)

    def _recorded(self, index: int) -> TokenStep:
        """A step that an older run made: its numbers stand, only that it is forced now."""
        step = self.request.recorded[index]
        draw = Draw("forced", None, step.draw.low, step.draw.high)
        return replace(step, lane=self.number, trimmed=0, draw=draw, queue_s=0.0, forward_s=0.0, sample_s=0.0)

    def _picked(self, index: int, row: Tensor | None, times: PassTimes) -> TokenStep:
        assert row is not None
        started = time.perf_counter()
        params, end_ids = self.request.params, self.model.end_ids
        assert params.seed is not None
        made = distribution(
            row, params, prompt_ids=self.request.prompt.ids, answer_ids=self.answer, end_ids=end_ids
        )
        if self.next_known:
            decision = forced(made, self.request.forced[index])
        else:
            decision = decide(made, dice(params.seed, index))
        numbers = step_numbers(
            made,
            decision,
            self.vocabulary,
            top_n=self.request.top_n,
            watched=self.request.watched,
            end_ids=end_ids,
        )
        return TokenStep(
            lane=self.number,
            index=index,
            position=len(self.prompt_ids) + index,
            token_id=decision.token_id,
            bytes=self.vocabulary.bytes_of(decision.token_id),
            text="",
            trimmed=0,
            **numbers,
            queue_s=times.queue_s,
            forward_s=times.forward_s,
            sample_s=time.perf_counter() - started,
            batch_lanes=times.lanes,
            kv_len=times.kv_len,
            kv_bytes=times.kv_bytes,
        )

    def _append(self, token_id: int, step: TokenStep | None) -> None:
        position = len(self.prompt_ids) + len(self.answer)
        reason, detail = self._reason(token_id, position)
        if reason == "end_token":
            text = self._rest()
        else:
            text = self._stops.push(self._stream.push(token_id))
            if self._stops.match is not None:
                reason, detail = "stop_string", self._stops.match
            elif reason is not None:
                text += self._rest()
        self.answer.append(token_id)
        self._key.extend([token_id])
        if len(self.ids) == position:
            self.ids.append(token_id)
            self.scores.append(None)
        self._text.append(text)
        self._token_times.append(time.perf_counter())
        if step is not None:
            self.scores[position] = (step.logprob, step.rank)
            self.emit(replace(step, text=text))
        if reason is not None:
            self.finish(reason, detail)

    def _reason(self, token_id: int, position: int) -> tuple[FinishReason | None, str]:
        """Why the lane ends with this token, if it does."""
        params, index = self.request.params, len(self.answer)
        more_given = index + 1 < len(self.request.forced)
        if token_id in self.model.end_ids and not params.ignore_eos and not more_given:
            return "end_token", str(token_id)
        if index + 1 >= params.max_tokens:
            return "max_tokens", str(params.max_tokens)
        if self.model.context is not None and position + 1 >= self.model.context:
            return "context_full", str(self.model.context)
        return None, ""

    def _rest(self) -> str:
        """End of the run: text that was held back, and bytes that never became a character."""
        self._incomplete = self._stream.pending
        return self._stops.flush() + self._stream.flush()  # no stop string is looked for in U+FFFD signs

    # -- ending -----------------------------------------------------------------------------------

    def finish(self, reason: FinishReason, detail: str = "", message: str = "") -> None:
        """End the lane. Does nothing if it has ended."""
        if self.finished is not None:
            return
        if reason in ("stopped", "error", "no_token_left", "nan_logits"):
            self._text.append(self._rest())
        trimmed: tuple[tuple[int, int], ...] = ()
        if reason == "stop_string":
            assert self._stops.match_start is not None
            trimmed = trims(self.vocabulary, self.answer, self._stops.match_start)
        elif reason == "end_token":  # it ended the answer and is no part of its text
            trimmed = ((len(self.answer) - 1, len(self.vocabulary.bytes_of(self.answer[-1]))),)
        message = message or self._plain_words(reason, detail)
        if self._incomplete:
            message += (
                f" The answer ends in an incomplete character, bytes {self._incomplete.hex(' ').upper()}."
            )
        # Given tokens cost no pass of their own, so they do not count where speed is measured.
        times = self._token_times[len(self.request.forced) :] or self._token_times[:1]
        later = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None
        self.finished = Finished(
            lane=self.number,
            text="".join(self._text),
            trimmed=trimmed,
            reused_tokens=self.reused,
            reason=reason,
            detail=detail,
            message=message,
            prompt_tokens=len(self.prompt_ids),
            answer_tokens=len(self.answer),
            passes=self.passes,
            prefill_s=self.prefill_s,
            ttft_s=times[0] - self.submitted if times else None,
            tpot_s=later,
            prefill_tps=self.prefill_tokens / self.prefill_s if self.prefill_s else None,
            decode_tps=1 / later if later else None,
        )

    def _plain_words(self, reason: FinishReason, detail: str) -> str:
        made = len(self.answer)
        if reason == "end_token":
            name = self.vocabulary.visible(int(detail))
            return f"The model ended its answer with end token {detail}, {name}."
        if reason == "stop_string":
            return f"The text reached the stop string {detail!r}."
        if reason == "max_tokens":
            return f"The limit of {detail} new tokens was reached."
        if reason == "context_full":
            prompt = len(self.prompt_ids)
            return f"The context is full: {prompt} prompt and {made} answer tokens fill all {detail} places."
        return f"Stopped after {made} token{'s' * (made != 1)}."
