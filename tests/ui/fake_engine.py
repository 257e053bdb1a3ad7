"""An engine without a model: a tiny vocabulary, scripted answers, every number computed.

A prompt that says "endless" gets an answer without an end, one that says "ponder" a thought before it.

Speaks the engine's interface, so that the page can be tested, and looked at, in a second.
"""

from __future__ import annotations

import codecs
import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from playground.findings import Divergence
from playground.text import templates
from playground.text.messages import PromptError
from playground.text.origin import FIRST_MESSAGE, UNKNOWN
from playground.text.renderer import Renderer, RenderError
from playground.text.visible import visible_bytes
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
NO_REASON: tuple[str | None, str | None] = (None, None)
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


TEMPLATE = (
    "{% if messages[0].role != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}" + templates.CHATML
)
RENDERER = Renderer()


def templated(tokenizer: Any, messages: Any, template: str) -> tuple[list[tuple[Any, bool, str]], str]:
    """The parts of a prompt by another template than the model's own, and its name."""
    name, source = templates.resolve(tokenizer, template) or ("", "")
    variables = {"bos_token": "", "eos_token": "<|im_end|>"}
    try:
        made = RENDERER.render(template=source, messages=messages, variables=variables, go_on=False)
    except RenderError as error:
        raise PromptError(f"the chat template {error}") from None
    parts, at = [], 0
    for length, origin in made["runs"]:
        opening = max(at, min(made["generation_start"], at + length))
        own = origin < FIRST_MESSAGE
        kind = (
            "raw"
            if origin == ord(UNKNOWN)
            else "template"
            if own
            else messages[origin - FIRST_MESSAGE]["role"]
        )
        parts.append((kind, kind == "template", made["text"][at:opening]))
        parts.append(("generation_prompt", True, made["text"][opening : at + length]))
        at += length
    return [part for part in parts if part[2]], name


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
        self.added = {token_id: self.rows[token_id].decode() for token_id in (START, END)}

    def bytes_of(self, token_id: int) -> bytes:
        return self.rows[token_id]

    def visible(self, token_id: int) -> str:
        return visible_bytes(self.rows[token_id])

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
        self.tokenizer = SimpleNamespace(chat_template="{#- enable_thinking -#}" * thinks + TEMPLATE)
        self.inside = None  # there is no model to look into
        self.vocabulary = FakeVocabulary()
        self.info = ModelInfo(name, "0" * 64, "float32", "cpu", self.vocabulary.size, 2048, (END,))
        self.step_s, self.gate, self.fail_at = step_s, gate, fail_at
        self.ends_with = ends_with
        self.answer = self.vocabulary.encode(answer) + self.halves() + [END]
        self.opened = self.closed = self.steps_made = 0
        self.seen: list[tuple[Prompt, SamplingParams]] = []
        self.thinking: list[bool | None] = []
        self.owners: list[str] = []
        self.retired = False

    def halves(self) -> list[int]:
        return [self.vocabulary.ids[EMOJI[i : i + 2]] for i in range(0, 8, 2)]

    def chat(self, messages: Any, *, template: str | None = None, thinking: bool | None = None) -> Prompt:
        self.thinking.append(thinking)
        parts: list[tuple[Any, bool, str]] = []
        if template is not None:
            return self._prompt(*templated(self.tokenizer, messages, template))
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
        params: SamplingParams | Sequence[SamplingParams],
        *,
        forced: Sequence[int] = (),
        known: int = 0,
        watched: Sequence[int] = (),
        exact: bool = False,
        owner: str = "",
    ) -> FakeStream:
        self.owners.append(owner)
        lanes = [params] if isinstance(params, SamplingParams) else list(params)
        self.seen += [(prompt, each) for each in lanes]
        self.opened += 1
        stream = FakeStream(self)
        stream.events = self._stream(prompt, lanes, forced, known, watched, exact, stream.stopped)
        return stream

    def _stream(
        self,
        prompt: Prompt,
        params: Sequence[SamplingParams],
        forced: Sequence[int],
        known: int,
        watched: Sequence[int],
        exact: bool,
        stopped: threading.Event,
    ) -> Iterator[Event]:
        scored = self._scored(prompt)
        if self.step_s:
            time.sleep(self.step_s)
        yield replace(prompt, tokens=tuple(scored))
        lanes = [
            FakeLane(self, number, prompt, each, forced, known, watched) for number, each in enumerate(params)
        ]
        while lanes := [lane for lane in lanes if not lane.ended]:
            while self.gate is not None and not stopped.is_set() and not self.gate.acquire(timeout=0.01):
                pass
            if self.step_s:
                time.sleep(self.step_s * (len(lanes) if exact else 1))
            for lane in lanes:
                yield from (
                    [lane.finish("stopped")] if stopped.is_set() else lane.turn(1 if exact else len(lanes))
                )

    def script(self, prompt_ids: Sequence[int]) -> tuple[list[int], bool]:
        """What the answer to a prompt is to be, and whether it has no end."""
        said = b"".join(self.vocabulary.bytes_of(token_id) for token_id in prompt_ids)
        thought = self.vocabulary.encode("<think>Paris is known.</think>") if b"ponder" in said else []
        return thought + self.answer, b"endless" in said

    def _scored(self, prompt: Prompt) -> list[PromptToken]:
        """Each token as the first of an answer to those before it, as `redistribute_ids` would have it."""
        logits = self._logits(prompt.ids, ())
        z, order = _log_sum_exp(logits), _order(logits)
        ranks = {token_id: rank for rank, token_id in enumerate(order, 1)}
        return [
            token
            if token.position == 0
            else replace(token, logprob=logits[token.token_id] - z, rank=ranks[token.token_id])
            for token in prompt.tokens
        ]

    def _logits(self, prompt_ids: Sequence[int], before: Sequence[int]) -> list[float]:
        """The answer that is scripted goes on, in another mood after a token that was not."""
        script, index = self.script(prompt_ids)[0], len(before)
        wanted = script[min(index, len(script) - 1)]
        astray = 31 * before[-1] if before and before[-1] != script[min(index, len(script)) - 1] else 0
        noise = random.Random(index * 1009 + wanted + astray)
        logits = [noise.gauss(0, 2.2) for _ in range(self.vocabulary.size)]
        logits[wanted] = max(logits) + noise.choice([0.3, 1, 2.5, 4, 6, 9, 9])
        for hostile in HOSTILE:
            logits[self.vocabulary.ids[hostile.encode()]] += 3.0 if index % 4 == 0 else 0.0
        return logits

    def _distribution(
        self, prompt_ids: Sequence[int], before: Sequence[int], params: SamplingParams
    ) -> tuple[list[float], list[float], list[int], tuple[Stage, ...], dict[int, tuple[str, str]]]:
        """Logits, final probabilities, what is kept, likeliest first, and how it came to that."""
        logits = self._logits(prompt_ids, before)
        heat = params.temperature or 1.0
        tempered = [logit / heat for logit in logits]
        kept, stages, removed = _filters(tempered, _order(logits), params)
        if params.temperature == 0:
            removed.update(dict.fromkeys(kept[1:], ("greedy", "not the likeliest")))
            kept = kept[:1]
        kept_z = _log_sum_exp([tempered[i] for i in kept])
        final = [0.0] * len(logits)
        for i in kept:
            final[i] = math.exp(tempered[i] - kept_z)
        return logits, final, kept, stages, removed

    def _step(
        self,
        prompt_ids: Sequence[int],
        before: Sequence[int],
        params: SamplingParams,
        seed: int,
        forced: Sequence[int],
        *,
        u: float | None = None,
        watched: Sequence[int] = (),
    ) -> TokenStep:
        index, noise = len(before), random.Random(len(before))
        logits, final, kept, stages, removed = self._distribution(prompt_ids, before, params)
        z, order = _log_sum_exp(logits), _order(logits)
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
                *removed.get(i, NO_REASON), "top",
            )
            for i in listed
        )  # fmt: skip
        probs = [math.exp(logit - z) for logit in logits]
        method: Any = "forced" if index < len(forced) else "greedy" if u is None else "sampled"
        return TokenStep(
            lane=0, index=index, position=len(prompt_ids) + index, token_id=chosen,
            bytes=self.vocabulary.bytes_of(chosen), text="", trimmed=0, prob=probs[chosen],
            logprob=logits[chosen] - z, rank=order.index(chosen) + 1, final_prob=final[chosen],
            candidates=candidates, others_prob=1 - sum(c.prob for c in candidates),
            others_final_prob=max(0.0, 1 - sum(c.final_prob for c in candidates)),
            entropy=-sum(p * math.log(p) for p in probs),
            final_entropy=-sum(p * math.log(p) for p in final if p),
            gap=probs[order[0]] - probs[order[1]], stages=stages,
            draw=Draw(method, u, low, low + final[chosen]),
            end_prob=probs[END], queue_s=0.0001, forward_s=0.045 + 0.02 * noise.random(), sample_s=0.001,
            batch_lanes=1, kv_len=len(prompt_ids) + index, kv_bytes=(len(prompt_ids) + index) * 23040,
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
        owner: str = "",
    ) -> TokenStep:
        self.owners.append(owner)
        before = answer_ids[:step]
        given = () if token_id is None else (*before, token_id)
        made = self._step(prompt_ids, before, params, params.seed or 0, given, u=u, watched=watched)
        return replace(made, forward_s=0.0, sample_s=0.0, kv_len=0, kv_bytes=0)

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
        return [
            [
                self.redistribute_ids(
                    prompt_ids, answer_ids, step, replace(own, seed=other.seed), watched=watched, owner=owner
                )
                for other in params
            ]
            for own in params
        ]

    def divergences(
        self,
        prompt_ids: Sequence[int],
        answers: tuple[Sequence[int], Sequence[int]],
        params: tuple[SamplingParams, SamplingParams],
        *,
        owner: str = "",
    ) -> tuple[Divergence, ...]:
        self.owners.append(owner)
        made = []
        for index in range(min(map(len, answers))):
            raws, finals = [], []
            for answer, own in zip(answers, params, strict=True):
                logits, final, *_ = self._distribution(prompt_ids, answer[:index], own)
                z = _log_sum_exp(logits)
                raws.append([math.exp(logit - z) for logit in logits])
                finals.append(final)
            lost = sum(p for p, q in zip(*finals, strict=True) if q == 0)
            made.append(Divergence(index, _kl(*raws), _kl(*finals), lost))
        return tuple(made)


class FakeLane:
    """One continuation: a step at each turn, and why it ended."""

    def __init__(
        self,
        engine: FakeEngine,
        number: int,
        prompt: Prompt,
        params: SamplingParams,
        forced: Sequence[int],
        known: int,
        watched: Sequence[int],
    ) -> None:
        self._engine, self._number, self._prompt, self._params = engine, number, prompt, params
        self._forced, self._known, self._watched = forced, known, watched
        self._endless = engine.script(prompt.ids)[1] or params.ignore_eos
        self._answer = list(forced[:known])
        self._seed = params.seed if params.seed is not None else random.randrange(2**32)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = "".join(self._decoder.decode(engine.vocabulary.bytes_of(i)) for i in forced[:known])
        self.ended = False

    def turn(self, batch: int) -> Iterator[Event]:
        """The next step, in a pass of so many lanes; after the last one also why it was the last."""
        engine, index, most = self._engine, len(self._answer), self._params.max_tokens
        if index >= most:
            yield self.finish("max_tokens")
            return
        if engine.fail_at == index:
            raise RuntimeError("The model ran out of memory at this step.")
        step = engine._step(
            self._prompt.ids, self._answer, self._params, self._seed, self._forced, watched=self._watched
        )
        ends = step.token_id == END and index + 1 >= len(self._forced) and not self._endless
        text = self._decoder.decode(b"" if ends else step.bytes, ends or index + 1 == most)
        self._text += text
        self._answer.append(step.token_id)
        engine.steps_made += 1
        yield replace(step, lane=self._number, text=text, batch_lanes=batch)
        if ends:
            yield self.finish("end_token")
        elif any(stop in self._text for stop in self._params.stop):
            yield self.finish("stop_string")
        elif index + 1 == most:
            yield self.finish("max_tokens")

    def finish(self, reason: Any) -> Finished:
        self.ended = True
        last, made = len(self._answer) - 1, len(self._answer) - self._known
        trimmed = ((last, len(self._engine.vocabulary.bytes_of(END))),) if reason == "end_token" else ()
        reason = self._engine.ends_with or reason
        return Finished(
            self._number, self._text + self._decoder.decode(b"", True), trimmed, 0, reason, "",
            f"It ended: {reason}.", len(self._prompt.ids), last + 1, made, 0.1, 0.12 if made else None,
            0.05 if made > 1 else None, 300.0, 20.0,
        )  # fmt: skip


class FakeStream(Iterator[Event]):
    """Like the engine's: may be stopped or closed from any thread, and then ends within a step."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine, self._closed = engine, False
        self.events: Iterator[Event] = iter(())
        self.stopped = threading.Event()

    def __next__(self) -> Event:
        if self._closed:
            raise StopIteration
        return next(self.events)

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None:
        self.stop()
        if not self._closed:
            self._closed = True
            self._engine.closed += 1


def _kl(first: Sequence[float], second: Sequence[float]) -> float | None:
    """KL(first ‖ second) in nats; None if it is infinite."""
    if any(q == 0 for p, q in zip(first, second, strict=True) if p):
        return None
    return max(0.0, sum(p * math.log(p / q) for p, q in zip(first, second, strict=True) if p))


def _order(logits: Sequence[float]) -> list[int]:
    return sorted(range(len(logits)), key=lambda i: (-logits[i], i))


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
