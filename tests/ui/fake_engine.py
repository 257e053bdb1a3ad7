"""An engine without a model: a tiny vocabulary, scripted answers, every number computed.

A prompt that says "endless" gets an answer without an end, one that says "ponder" a thought before it.

Speaks the engine's interface, so that the page can be tested, and looked at, in a second.
"""

from __future__ import annotations

import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from playground.trace import (
    Candidate,
    Draw,
    Event,
    Finished,
    ModelInfo,
    Prompt,
    PromptToken,
    SamplingParams,
    Segment,
    Stage,
    TokenStep,
)

START, END = 0, 1
HOSTILE = [
    "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "' onmouseover='alert(1)", "${alert(1)}",
    "`", "```", "{{7*7}}", "</script><script>alert(1)</script>", "<b>",
]  # fmt: skip
ANSWER = (
    "The capital of France is Paris, a city that has played a significant role in the history of Europe "
    "and continues to be a global center for commerce, finance, culture and politics."
)
WORDS = [
    " been", " shaped", " captivated", " seen", " become", " influenced", " its", " inspired", " Lyon",
    " the", " an", " one", ".\n", "\t", "\u200b", "\u202e", " city", " town", "!", " was", " home", " known",
    *HOSTILE,
]  # fmt: skip
EMOJI = "👩🏽".encode()  # eight bytes, in four tokens of two


def pieces(text: str) -> list[str]:
    return re.findall(r"<\|im_start\|>|<\|im_end\|>| ?\w+|\n| ?[^\w\s]+|\s", text)


class FakeVocabulary:
    def __init__(self) -> None:
        words = dict.fromkeys([*pieces(ANSWER), *WORDS])
        halves = [EMOJI[i : i + 2] for i in range(0, 8, 2)]
        singles = [bytes([value]) for value in range(256)]
        self.rows = [b"<|im_start|>", b"<|im_end|>", *[word.encode() for word in words], *halves, *singles]
        self.ids: dict[bytes, int] = {}
        for token_id, row in enumerate(self.rows):
            self.ids.setdefault(row, token_id)
        self.size = len(self.rows)

    def bytes_of(self, token_id: int) -> bytes:
        return self.rows[token_id]

    def visible(self, token_id: int) -> str:
        data = self.rows[token_id]
        try:
            return data.decode().replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
        except UnicodeDecodeError:
            return "‹" + data.hex(" ").upper() + "›"

    def is_special(self, token_id: int) -> bool:
        return token_id <= END

    def encode(self, text: str) -> list[int]:
        made: list[int] = []
        for piece in pieces(text):
            data = piece.encode()
            made += [self.ids[data]] if data in self.ids else [self.ids[bytes([value])] for value in data]
        return made


class FakeEngine:
    """`step_s`: seconds a token takes. `gate`: if given, each step waits for it."""

    def __init__(
        self,
        *,
        step_s: float = 0.0,
        answer: str = ANSWER,
        name: str = "Fake-12M",
        gate: threading.Semaphore | None = None,
        fail_at: int | None = None,
        ends_with: str | None = None,
        thinks: bool = False,
    ) -> None:
        self.tokenizer = SimpleNamespace(chat_template="{% if enable_thinking %}" if thinks else "")
        self.vocabulary = FakeVocabulary()
        self.info = ModelInfo(name, "0" * 64, "float32", "cpu", self.vocabulary.size, 2048, (END,))
        self.step_s, self.gate, self.fail_at = step_s, gate, fail_at
        self.ends_with = ends_with
        self.answer = self.vocabulary.encode(answer) + self.halves() + [END]
        self.opened = self.closed = self.steps_made = 0
        self.seen: list[tuple[Prompt, SamplingParams]] = []
        self.thinking: list[bool | None] = []
        self.retired = False

    def halves(self) -> list[int]:
        return [self.vocabulary.ids[EMOJI[i : i + 2]] for i in range(0, 8, 2)]

    def chat(self, messages: Any, *, thinking: bool | None = None) -> Prompt:
        self.thinking.append(thinking)
        parts: list[tuple[Any, bool, str]] = []
        if messages[0]["role"] != "system":
            messages = [{"role": "system", "content": "You are a helpful assistant."}, *messages]
            parts.append(("system", True, ""))
        for message in messages:
            hidden = bool(parts) and parts[0][2] == "" and message["role"] == "system"
            parts.append(("template", True, f"<|im_start|>{message['role']}\n"))
            parts.append((message["role"], hidden, message["content"]))
            parts.append(("template", True, "<|im_end|>\n"))
        parts.append(("generation_prompt", True, "<|im_start|>assistant\n"))
        return self._prompt([part for part in parts if part[2]], "chatml")

    def raw(self, text: str) -> Prompt:
        return self._prompt([("raw", False, text)], None)

    def _prompt(self, parts: list[tuple[Any, bool, str]], template: str | None) -> Prompt:
        segments: list[Segment] = []
        tokens: list[PromptToken] = []
        text = ""
        for index, (kind, added, content) in enumerate(parts):
            segments.append(Segment(kind, len(text), len(text) + len(content), added))
            data = b""
            for token_id in self.vocabulary.encode(content):
                row = self.vocabulary.bytes_of(token_id)
                start = len(text) + len(data.decode(errors="ignore"))
                data += row
                end = len(text) + len(data.decode(errors="ignore"))
                special = self.vocabulary.is_special(token_id)
                tokens.append(PromptToken(len(tokens), token_id, row, start, end, index, special, None, None))
            text += content
        return Prompt(text, tuple(segments), tuple(tokens), tuple(t.token_id for t in tokens), template)

    def stream(
        self,
        prompt: Prompt,
        params: SamplingParams,
        *,
        forced: Sequence[int] = (),
        known: int = 0,
        watched: Sequence[int] = (),
    ) -> FakeStream:
        self.seen.append((prompt, params))
        self.opened += 1
        return FakeStream(self, self._stream(prompt, params, forced, known, watched))

    def _stream(
        self,
        prompt: Prompt,
        params: SamplingParams,
        forced: Sequence[int],
        known: int,
        watched: Sequence[int],
    ) -> Iterator[Event]:
        noise = random.Random(7)
        scored = [
            token
            if token.position == 0
            else replace(token, logprob=-noise.expovariate(0.6), rank=token.position)
            for token in prompt.tokens
        ]
        if self.step_s:
            time.sleep(self.step_s)
        yield replace(prompt, tokens=tuple(scored))
        seed = params.seed if params.seed is not None else random.randrange(2**32)
        answer = self.answer
        if b"ponder" in b"".join(self.vocabulary.bytes_of(token_id) for token_id in prompt.ids):
            answer = self.vocabulary.encode("<think>Paris is known.</think>") + answer
        script = list(forced) + answer[len(forced) :]
        said = b"".join(self.vocabulary.bytes_of(token_id) for token_id in prompt.ids)
        endless = params.ignore_eos or b"endless" in said
        text, stops, made, reason = "", params.stop, 0, "max_tokens"
        decoder = __import__("codecs").getincrementaldecoder("utf-8")("replace")
        for token_id in forced[:known]:
            text += decoder.decode(self.vocabulary.bytes_of(token_id))
        for index in range(known, params.max_tokens):
            if self.gate is not None:
                self.gate.acquire()
            if self.step_s:
                time.sleep(self.step_s)
            if self.fail_at == index:
                raise RuntimeError("The model ran out of memory at this step.")
            step = self._step(
                prompt, params, index, script[min(index, len(script) - 1)], seed, forced, watched=watched
            )
            last = index + 1 == params.max_tokens
            released = decoder.decode(step.bytes, last) if step.token_id != END else ""
            self.steps_made += 1
            made += 1
            text += released
            yield replace(step, text=released)
            if step.token_id == END and index + 1 >= len(forced) and not endless:
                reason = "end_token"
                break
            if any(stop in text for stop in stops):
                reason = "stop_string"
                break
        reason = self.ends_with or reason
        yield Finished(
            0, text, (), 0, reason, "", f"It ended: {reason}.", len(prompt.ids), made, made, 0.1, 0.12,  # type: ignore[arg-type]
            0.05 if made > 1 else None, 300.0, 20.0,
        )  # fmt: skip

    def _step(
        self,
        prompt: Prompt,
        params: SamplingParams,
        index: int,
        wanted: int,
        seed: int,
        forced: Sequence[int],
        *,
        u: float | None = None,
        watched: Sequence[int] = (),
    ) -> TokenStep:
        noise = random.Random(index * 1009 + wanted)
        logits = [noise.gauss(0, 2.2) for _ in range(self.vocabulary.size)]
        logits[wanted] = max(logits) + noise.choice([0.3, 1, 2.5, 4, 6, 9, 9])
        for hostile in HOSTILE:
            logits[self.vocabulary.ids[hostile.encode()]] += 3.0 if index % 4 == 0 else 0.0
        z = _log_sum_exp(logits)
        order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
        heat = params.temperature or 1.0
        tempered = [logit / heat for logit in logits]
        kept, stages, removed = _filters(tempered, order, params)
        if params.temperature == 0:
            removed.update(dict.fromkeys(kept[1:], ("greedy", "not the likeliest")))
            kept = kept[:1]
        kept_z = _log_sum_exp([tempered[i] for i in kept])
        final = [0.0] * len(logits)
        for i in kept:
            final[i] = math.exp(tempered[i] - kept_z)
        if params.temperature == 0 or index < len(forced):
            u = None
        elif u is None:
            u = random.Random(seed * 7919 + index).random()
        chosen, low = (forced[index] if index < len(forced) else kept[0]), 0.0
        edge = 0.0
        for i in kept:
            if (u is not None and edge <= u < edge + final[i]) or (u is None and i == chosen):
                chosen, low = i, edge
                break
            edge += final[i]
        listed = list(dict.fromkeys([*order[:20], chosen, END, *watched]))
        candidates = tuple(
            Candidate(
                i, self.vocabulary.bytes_of(i), self.vocabulary.visible(i), logits[i],
                math.exp(logits[i] - z), logits[i] - z, order.index(i) + 1, final[i],
                *removed.get(i, (None, None)), "top",
            )
            for i in listed
        )  # fmt: skip
        probs = [math.exp(logit - z) for logit in logits]
        method: Any = "forced" if index < len(forced) else "greedy" if u is None else "sampled"
        return TokenStep(
            lane=0, index=index, position=len(prompt.ids) + index, token_id=chosen,
            bytes=self.vocabulary.bytes_of(chosen), text="", trimmed=0, prob=probs[chosen],
            logprob=logits[chosen] - z, rank=order.index(chosen) + 1, final_prob=final[chosen],
            candidates=candidates, others_prob=1 - sum(c.prob for c in candidates),
            others_final_prob=max(0.0, 1 - sum(c.final_prob for c in candidates)),
            entropy=-sum(p * math.log(p) for p in probs),
            final_entropy=-sum(p * math.log(p) for p in final if p),
            gap=probs[order[0]] - probs[order[1]], stages=stages,
            draw=Draw(method, u, low, low + final[chosen]),
            end_prob=probs[END], queue_s=0.0001, forward_s=0.045 + 0.02 * noise.random(), sample_s=0.001,
            batch_lanes=1, kv_len=len(prompt.ids) + index, kv_bytes=(len(prompt.ids) + index) * 23040,
        )  # fmt: skip

    def close_when_unused(self) -> None:
        self.retired = True

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
    ) -> TokenStep:
        prompt = Prompt("", (), (), tuple(prompt_ids), None)
        given = () if token_id is None else (*answer_ids[:step], token_id)
        wanted = self.answer[min(step, len(self.answer) - 1)]
        made = self._step(prompt, params, step, wanted, params.seed or 0, given, u=u, watched=watched)
        return replace(made, forward_s=0.0, sample_s=0.0, kv_len=0, kv_bytes=0)


class FakeStream(Iterator[Event]):
    """Like the engine's: may be closed from any thread, and then ends within a step."""

    def __init__(self, engine: FakeEngine, events: Iterator[Event]) -> None:
        self._engine, self._events, self._closed = engine, events, False

    def __next__(self) -> Event:
        if self._closed:
            raise StopIteration
        return next(self._events)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._engine.closed += 1


def _log_sum_exp(values: Sequence[float]) -> float:
    largest = max(values)
    return largest + math.log(sum(math.exp(value - largest) for value in values))


def _filters(
    tempered: list[float], order: list[int], params: SamplingParams
) -> tuple[list[int], tuple[Stage, ...], dict[int, tuple[str, str]]]:
    """Top-k, top-p, min-p in this order; kept ids, likeliest first."""
    kept, removed = list(order), {}
    total = _log_sum_exp(tempered)
    stages = [Stage("temperature", f"{params.temperature:g}", params.temperature != 1, None, len(kept), 1.0)]

    def cut(
        name: str, setting: str, active: bool, cutoff: float | None, keep: Callable[[int, int], bool]
    ) -> None:
        nonlocal kept
        if active:
            left = [i for place, i in enumerate(kept) if keep(place, i)]
            gone = set(kept) - set(left)
            removed.update({i: (name, f"{tempered[i]:.3g} is cut by {name} {setting}") for i in gone})
            kept = left
        mass = sum(math.exp(tempered[i] - total) for i in kept)
        stages.append(Stage(name, setting, active, cutoff, len(kept), mass))

    k = params.top_k
    cut("top_k", f"{k}", k > 0, None, lambda place, i: place < k)
    z = _log_sum_exp([tempered[i] for i in kept])
    before, mass = {}, 0.0
    for i in kept:
        before[i] = mass
        mass += math.exp(tempered[i] - z)
    cut(
        "top_p",
        f"{params.top_p:g}",
        params.top_p < 1,
        params.top_p,
        lambda place, i: before[i] < params.top_p,
    )
    best = tempered[kept[0]]
    floor = params.min_p
    cut("min_p", f"{floor:g}", floor > 0, floor, lambda place, i: math.exp(tempered[i] - best) >= floor)
    return kept, tuple(stages), removed
