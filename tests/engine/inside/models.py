"""More tiny models, for what the looks inside have to get right."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GptOssConfig,
    GptOssForCausalLM,
    GraniteConfig,
    GraniteForCausalLM,
)

from tests import fakes


def tiny_gemma2() -> Any:
    """Scores are capped, so low that it is felt; every other layer slides over 4 positions."""
    sizes = fakes._sizes(fakes.VOCABULARY, 256, 2)
    more = {"num_key_value_heads": 2, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 4}
    config = Gemma2Config(**sizes, **more, attn_logit_softcapping=2.0, final_logit_softcapping=5.0)
    return fakes._made(Gemma2ForCausalLM, config, 0)


def tiny_gpt_oss() -> Any:
    """Every head may look at nothing, too: attention sinks."""
    sizes = fakes._sizes(fakes.VOCABULARY, 256, 2)
    more = {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": 4}
    config = GptOssConfig(**sizes, **more, num_local_experts=2, num_experts_per_tok=1)
    model = fakes._made(GptOssForCausalLM, config, 0)
    for number, layer in enumerate(model.model.layers):
        layer.self_attn.sinks.copy_(torch.arange(4) - 1.0 + number)
    return model


def tiny_granite() -> Any:
    """Logits are divided by a number of the config, embeddings and residuals multiplied."""
    config = GraniteConfig(
        **fakes._sizes(fakes.VOCABULARY, 256, 2),
        num_key_value_heads=2,
        logits_scaling=3.0,
        embedding_multiplier=2.0,
        residual_multiplier=0.5,
        attention_multiplier=0.2,
    )
    return fakes._made(GraniteForCausalLM, config, 0)


def uneven(model: Any) -> Any:
    """The same model with norms that stretch each number differently: fresh ones multiply all by 1, so that
    norming twice would hardly show."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for module in model.modules():
            if "norm" in type(module).__name__.lower():
                for weight in module.parameters(recurse=False):
                    nn.init.uniform_(weight, 0.3, 2.0)
    return model


ATTENDING = [
    fakes.tiny_llama,
    fakes.tiny_gpt2,
    fakes.tiny_gemma3,
    fakes.tiny_mistral,
    fakes.tiny_qwen3,
    fakes.tiny_phi3,
    fakes.tiny_gpt_neox,
    tiny_gemma2,
    tiny_gpt_oss,
]
EVERY = [*ATTENDING, fakes.tiny_mamba, tiny_granite]
