"""Token Playground: watch a language model choose its words.

    import playground
    engine = playground.load()
    trace = engine.run(engine.chat([{"role": "user", "content": "Say hi"}]), playground.SamplingParams())

Only `load` needs torch and transformers; reading and showing a trace does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playground.params import SamplingParams
from playground.trace import (
    Candidate,
    Draw,
    Finished,
    ModelInfo,
    Parent,
    Prompt,
    PromptToken,
    Segment,
    Stage,
    TokenStep,
    Trace,
)

if TYPE_CHECKING:
    from playground.engine.local import LocalEngine

__all__ = [
    "Candidate",
    "Draw",
    "Finished",
    "ModelInfo",
    "Parent",
    "Prompt",
    "PromptToken",
    "SamplingParams",
    "Segment",
    "Stage",
    "TokenStep",
    "Trace",
    "load",
]


def load(
    model: str | None = None, *, device: str = "auto", dtype: str = "auto", **limits: Any
) -> LocalEngine:
    """An engine over a model.

    `model`: None for the bundled one, "org/name" on a model hub, a local folder, or a GGUF file.
    `device`: "auto" (CUDA, MPS or CPU), "cpu", "cuda", "cuda:1"…; `dtype`: "auto" (float32 on a CPU, the
    model's own on an accelerator), "float32", "bfloat16" or "float16". `limits` go to LocalEngine:
    `max_lanes`, `kv_mb`, `logits_pool_mb`. Raises playground.engine.models.LoadError, in one sentence.
    """
    from playground.engine.local import LocalEngine
    from playground.engine.models import load_model
    from playground.text.chat import warm_up

    warm_up()
    return LocalEngine(load_model(model, device=device, dtype=dtype), **limits)
