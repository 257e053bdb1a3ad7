"""Where a lab measures: one engine, prompts and runs of the lab's own, and what they were disturbed by."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Sequence
from typing import Any

from playground.engine.local import LocalEngine
from playground.experiments.lab import Progress
from playground.trace import Event, Finished, Prompt, SamplingParams, TokenStep, Trace, collect

FILLER = (
    "The ferry left at seven, and nobody on the pier had seen the lamp go out. She counted the boxes twice, "
    "wrote the number on her glove, and asked the boy at the rope whether the tide would wait. It would not. "
)
FAILED = ("error", "nan_logits", "no_token_left")


class Bench:
    """Runs for one lab. Its owner is new each time, so nothing that others asked is at hand.

    most_prompt, most_new   tokens that a prompt and an answer may have here
    """

    def __init__(self, engine: LocalEngine, *, most_prompt: int = 10**6, most_new: int = 10**6) -> None:
        self.engine = engine
        self.most_prompt, self.most_new = most_prompt, most_new
        self.owner = f"lab {secrets.token_hex(8)}"
        self.others = 0  # most lanes of other people in a pass with ours

    def chat(self, text: str, *, system: str | None = None) -> Prompt:
        """One question as the model's own template puts it; as raw text where the model has none."""
        return self.messages(
            [*([{"role": "system", "content": system}] if system else []), {"role": "user", "content": text}]
        )

    def messages(self, messages: Sequence[dict[str, str]]) -> Prompt:
        if not self.engine.tokenizer.chat_template:
            return self.engine.raw("\n".join(message["content"] for message in messages))
        return self.engine.chat(messages)

    @property
    def room(self) -> int:
        """Tokens that a prompt and its answer may have together."""
        return min(self.engine.info.context or 10**6, self.most_prompt + self.most_new)

    def of_ids(self, ids: Sequence[int]) -> Prompt:
        """A prompt of these ids as they are."""
        return Prompt("", (), (), tuple(ids), None)

    def filled(self, length: int) -> Prompt:
        """A prompt of exactly `length` tokens: plain English, over and over, as raw text."""
        text = FILLER
        while len(ids := self.engine.raw(text).ids) < length:
            text *= 2
        return self.of_ids(ids[:length])

    def run(
        self, prompt: Prompt, params: SamplingParams, at: float, to: float, text: str, **options: Any
    ) -> Generator[Progress, None, Trace]:
        """One answer; progress goes from `at` to `to` with its tokens. Returns its trace.

        Options as for the engine's `stream`. Raises ValueError if the run fails.
        """
        (trace,) = yield from self.lanes(prompt, [params], at, to, text, **options)
        return trace

    def lanes(
        self,
        prompt: Prompt,
        params: Sequence[SamplingParams],
        at: float,
        to: float,
        text: str,
        engine: LocalEngine | None = None,
        **options: Any,
    ) -> Generator[Progress, None, list[Trace]]:
        """Several answers of one prompt, decoded together; see `run`. Returns their traces in order.

        `engine`: another one than the bench's own, as for a copy of the model in another dtype.
        """
        engine, options = engine or self.engine, {"owner": self.owner, **options}
        seeded = [each.seeded() for each in params]
        self._check(prompt, seeded)
        most = sum(each.max_tokens for each in seeded)
        events: list[list[Event]] = [[] for _ in seeded]
        made = 0
        yield Progress(at, text)
        with engine.stream(prompt, seeded, **options) as stream:
            for event in stream:
                if isinstance(event, Prompt):
                    for each in events:
                        each.append(event)
                    continue
                events[event.lane].append(event)
                if isinstance(event, Finished) and event.reason in FAILED:
                    raise ValueError(event.message)
                if isinstance(event, TokenStep):
                    made += 1
                    self.others = max(self.others, event.batch_lanes - len(seeded))
                    yield Progress(at + (to - at) * made / most, text)
        return [collect(engine.info, one, each) for one, each in zip(seeded, events, strict=True)]

    def _check(self, prompt: Prompt, params: Sequence[SamplingParams]) -> None:
        if len(prompt.ids) > self.most_prompt:
            raise ValueError(
                f"this needs a prompt of {len(prompt.ids):,} tokens, and {self.most_prompt:,} are the limit "
                "here: choose a shorter one"
            )
        longest = max(each.max_tokens for each in params)
        if longest > self.most_new:
            raise ValueError(
                f"this needs {longest:,} new tokens, and {self.most_new:,} are the limit here: choose fewer"
            )

    def visible(self, token_id: int) -> str:
        """A token's visible form."""
        return self.engine.vocabulary.visible(token_id)
