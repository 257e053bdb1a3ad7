"""Benchmarks: `python -m tests.bench decode | lanes | fork | page | compare`.

Each prints one JSON object per line: name, value, aim, ok, and what it was made of. Values are ratios of
times taken in one run, medians of five alternating repetitions, since a machine is rarely quiet: read them
on an otherwise idle one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from playground.engine.local import LocalEngine
from playground.engine.models import Loaded, load_model
from playground.trace import ModelInfo, Prompt, SamplingParams, TokenStep
from tests import fakes
from tests.bench.compare import compare
from tests.bench.page import page

TOKENS = 128
SETTINGS = SamplingParams(
    temperature=0.8, top_p=0.95, max_tokens=TOKENS, min_tokens=TOKENS, ignore_eos=True, seed=1
)


def report(name: str, value: float, aim: float, at_least: bool, **parts: Any) -> None:
    ok = value >= aim if at_least else value <= aim
    sign = "≥" if at_least else "≤"
    print(json.dumps({"name": name, "value": round(value, 3), "aim": f"{sign} {aim}", "ok": ok, **parts}))
    sys.stdout.flush()


def alternate(*works: Callable[[], float], times: int = 5) -> list[list[float]]:
    """Run the works in turn, once to warm up and then `times` times; what each returned."""
    for work in works:
        work()
    made: list[list[float]] = [[] for _ in works]
    for _ in range(times):
        for work, results in zip(works, made, strict=True):
            results.append(work())
    return made


class Nothing:
    """A streamer for `generate` that does nothing."""

    def put(self, value: Any) -> None: ...

    def end(self) -> None: ...


def engine_for(args: argparse.Namespace, dtype: str) -> LocalEngine:
    """The wanted model, or one of the bundled model's shape with random weights."""
    if not args.random:
        return LocalEngine(load_model(args.model, device=args.device, dtype=dtype))
    model = fakes.tiny_llama(
        49152,
        positions=8192,
        layers=30,
        hidden_size=576,
        intermediate_size=1536,
        num_attention_heads=9,
        num_key_value_heads=3,
        tie_word_embeddings=True,
        initializer_range=0.02,
    ).to(args.device, getattr(torch, dtype))
    info = ModelInfo("random weights", "0" * 64, dtype, args.device, 49152, 8192, (fakes.IM_END,))
    return LocalEngine(Loaded(model, fakes.byte_tokenizer(), info))


def prompt(engine: LocalEngine) -> Prompt:
    return engine.chat([{"role": "user", "content": "Tell me a long story about a fox who learns to read."}])


def decode(args: argparse.Namespace) -> None:
    """One lane with full records against plain `generate` that records nothing."""
    for dtype in args.dtypes:
        engine = engine_for(args, dtype)
        read = prompt(engine)
        ids = torch.tensor([read.ids], device=engine.model.device)

        def ours(engine: LocalEngine = engine, read: Prompt = read) -> float:
            started = time.perf_counter()
            made = sum(isinstance(event, TokenStep) for event in engine.stream(read, SETTINGS, reuse=False))
            if made != TOKENS:
                raise SystemExit(f"the engine made {made} tokens, not {TOKENS}")
            return TOKENS / (time.perf_counter() - started)

        def plain(engine: LocalEngine = engine, ids: torch.Tensor = ids) -> float:
            started = time.perf_counter()
            made = engine.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=True,
                temperature=SETTINGS.temperature,
                top_k=0,
                top_p=SETTINGS.top_p,
                max_new_tokens=TOKENS,
                min_new_tokens=TOKENS,
                streamer=Nothing(),
            )
            if made.shape[1] - ids.shape[1] != TOKENS:
                raise SystemExit(f"generate made {made.shape[1] - ids.shape[1]} tokens, not {TOKENS}")
            return TOKENS / (time.perf_counter() - started)

        mine, theirs = (statistics.median(rates) for rates in alternate(ours, plain, times=args.times))
        report(
            f"decode {dtype}",
            mine / theirs,
            1.0,
            True,
            ours_tps=round(mine, 2),
            generate_tps=round(theirs, 2),
        )
        engine.close()


def lanes(args: argparse.Namespace) -> None:
    """Tokens per second of all lanes together, 4 lanes against 1."""
    engine = engine_for(args, "bfloat16")
    read = prompt(engine)

    def rate(count: int) -> float:
        started = time.perf_counter()
        made = sum(isinstance(event, TokenStep) for event in engine.stream(read, [SETTINGS] * count))
        if made != count * TOKENS:
            raise SystemExit(f"the engine made {made} tokens, not {count * TOKENS}")
        return made / (time.perf_counter() - started)

    one, four = (
        statistics.median(rates) for rates in alternate(lambda: rate(1), lambda: rate(4), times=args.times)
    )
    report("lanes bfloat16", four / one, 2.5, True, four_tps=round(four, 2), one_tps=round(one, 2))
    engine.close()


def fork(args: argparse.Namespace) -> None:
    """Time to the first token of a fork after 1,000 ids, with prefix reuse against without."""
    engine = engine_for(args, args.dtypes[0])
    settings = SamplingParams(max_tokens=1000, ignore_eos=True, seed=1)
    parent = engine.run(prompt(engine), settings)
    longer = replace(settings, max_tokens=1002)

    def first(reuse: bool) -> float:
        started = time.perf_counter()
        stream = engine.stream_fork(parent, step=1000, token_id=11, params=longer, reuse=reuse)
        for event in stream:
            if isinstance(event, TokenStep) and event.index == 1001:  # the first that was not given
                return time.perf_counter() - started
        raise SystemExit("the fork made no token")

    reused, anew = (
        statistics.median(seconds)
        for seconds in alternate(lambda: first(True), lambda: first(False), times=args.times)
    )
    report("fork", reused / anew, 0.15, False, reused_s=round(reused, 4), anew_s=round(anew, 4))
    engine.close()


def main() -> None:
    works = {
        "decode": decode, "lanes": lanes, "fork": fork,
        "page": lambda args: page(report), "compare": lambda args: compare(report),
    }  # fmt: skip
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("which", nargs="*", default=["decode", "lanes", "fork"], choices=[*works])
    parser.add_argument("--model", help="a model as for app.py; the bundled one if not given")
    parser.add_argument("--random", action="store_true", help="random weights in the bundled model's shape")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--times", type=int, default=5)
    args = parser.parse_args()
    for which in args.which:
        works[which](args)


if __name__ == "__main__":
    main()
