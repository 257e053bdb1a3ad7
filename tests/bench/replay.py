"""A real run, recorded once, that can be played again at any pace through the page's own server.

    python -m tests.bench.replay                # record anew with the bundled model, 1,000 tokens

The file keeps a trace with what is worked out on reading left out: a candidate's probability follows from
its logit, its text from its id.
"""

from __future__ import annotations

import json
import lzma
import math
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from playground.findings import Divergence
from playground.trace import Event, ModelInfo, Prompt, SamplingParams, TokenStep, Trace

FILE = Path(__file__).with_name("run.json.xz")
PROMPT = "Write a long story about a lighthouse keeper who finds a map, with dialogue."
SETTINGS = SamplingParams(
    temperature=0.9, top_k=60, top_p=0.92, min_p=0.02, repetition_penalty=1.05,
    max_tokens=1000, min_tokens=1000, ignore_eos=True, seed=5,
)  # fmt: skip


def write(trace: Trace, path: Path = FILE) -> None:
    value = _short(json.loads(trace.to_json()))
    words: dict[int, Any] = {}
    for step in value["steps"]:
        step["z"] = float(f"{step['candidates'][0]['logit'] - step['candidates'][0]['logprob']:.9g}")
        for candidate in step["candidates"]:
            words[candidate["token_id"]] = [candidate.pop("bytes"), candidate.pop("text")]
            del candidate["prob"], candidate["logprob"]
    data = json.dumps({"trace": value, "words": words}, separators=(",", ":"))
    path.write_bytes(lzma.compress(data.encode(), preset=9))


def read(path: Path = FILE) -> Trace:
    value = json.loads(lzma.decompress(path.read_bytes()))
    words = value["words"]
    for step in value["trace"]["steps"]:
        z = step.pop("z")
        for candidate in step["candidates"]:
            candidate["bytes"], candidate["text"] = words[str(candidate["token_id"])]
            candidate["logprob"] = min(0.0, candidate["logit"] - z)
            candidate["prob"] = math.exp(candidate["logprob"])
        _make_whole(step, "prob")
        _make_whole(step, "final_prob")
    return Trace.from_json(json.dumps(value["trace"]))


def _make_whole(step: dict[str, Any], name: str) -> None:
    """Shares of short numbers miss 1 by a little: all are scaled alike."""
    others = f"others_{name}"
    total = math.fsum((step[others], *(candidate[name] for candidate in step["candidates"])))
    step[others] /= total
    for candidate in step["candidates"]:
        candidate[name] /= total


def _short(value: Any) -> Any:
    """Six digits, which is more than the page is sent; edges of an interval keep theirs."""
    if isinstance(value, dict):
        return {key: part if key == "draw" else _short(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


class Words:
    """The part of a vocabulary that the trace speaks of."""

    def __init__(self, trace: Trace) -> None:
        listed = [candidate for step in trace.steps for candidate in step.candidates]
        self.size = trace.model.vocabulary
        self._texts = {candidate.token_id: candidate.text for candidate in listed}
        self._bytes = {candidate.token_id: candidate.bytes for candidate in listed}
        self._special = {token.token_id for token in trace.prompt.tokens if token.is_special}

    def bytes_of(self, token_id: int) -> bytes:
        return self._bytes.get(token_id, b"")

    def visible(self, token_id: int) -> str:
        return self._texts.get(token_id, "")

    def is_special(self, token_id: int) -> bool:
        return token_id in self._special

    def encode(self, text: str) -> list[int]:
        return []


class ReplayEngine:
    """Answers every prompt with the recorded run, `pace` tokens a second."""

    def __init__(self, trace: Trace, pace: float) -> None:
        self.trace, self.pace = trace, pace
        self.inside = None
        self.vocabulary = Words(trace)
        self.times: list[float] = []  # when each token of the latest run left the engine, Unix seconds

    @property
    def info(self) -> ModelInfo:
        return self.trace.model

    def chat(self, messages: Any, **options: Any) -> Prompt:
        return self.trace.prompt

    def raw(self, text: str) -> Prompt:
        return self.trace.prompt

    def stream(
        self, prompt: Prompt, params: SamplingParams | Sequence[SamplingParams], **options: Any
    ) -> ReplayStream:
        """One lane, or several that all write the same."""
        self.times = []
        several = [params] if isinstance(params, SamplingParams) else params
        return ReplayStream(self, several[0].max_tokens, len(several))

    def redistribute_ids(self, *args: Any, **options: Any) -> TokenStep:
        raise ValueError("A replay has no model.")

    def picks(self, *args: Any, **options: Any) -> list[list[TokenStep]]:
        raise ValueError("A replay has no model.")

    def divergences(self, *args: Any, **options: Any) -> tuple[Divergence, ...]:
        raise ValueError("A replay has no model.")


class ReplayStream:
    """The recorded events, each at its time: the n-th token of a lane n / pace seconds after the prompt."""

    def __init__(self, engine: ReplayEngine, most: int, lanes: int) -> None:
        self._engine, self._most, self._lanes = engine, most, lanes
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Event]:
        trace, pace, times = self._engine.trace, self._engine.pace, self._engine.times
        yield trace.prompt
        begun = time.perf_counter()
        for number, step in enumerate(trace.steps[: self._most], 1):
            if self._closed.wait(max(0.0, begun + number / pace - time.perf_counter())):
                return
            times.append(time.time())
            for lane in range(self._lanes):
                yield replace(step, lane=lane)
        for lane in range(self._lanes):
            yield replace(trace.finished, lane=lane, answer_tokens=len(times), trimmed=())

    def stop(self) -> None:
        self._closed.set()

    def close(self) -> None:
        self._closed.set()


if __name__ == "__main__":
    import playground

    engine = playground.load(dtype="float32")
    made = engine.run(engine.chat([{"role": "user", "content": PROMPT}]), SETTINGS)
    write(made)
    print(f"{len(made.steps)} tokens, {FILE.stat().st_size:,} bytes")
