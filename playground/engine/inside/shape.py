"""What a model is made of, read from its config and its modules."""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers.cache_utils import get_layer_types_and_kwargs

from playground.findings.inside import ModelShape


def model_shape(model: Any) -> ModelShape:
    """See ModelShape. A model without attention has no heads."""
    config = model.config.get_text_config(decoder=True)
    heads = int(getattr(config, "num_attention_heads", None) or 0)
    layers, width = int(config.num_hidden_layers), int(config.hidden_size)
    inputs, outputs = model.get_input_embeddings(), model.get_output_embeddings()
    return ModelShape(
        family=config.model_type,
        layers=layers,
        heads=heads,
        kv_heads=int(getattr(config, "num_key_value_heads", None) or heads),
        head_size=int(getattr(config, "head_dim", None) or width // heads) if heads else 0,
        width=width,
        vocabulary=int(outputs.weight.shape[0]),
        parameters=sum(weight.numel() for weight in model.parameters()),
        tied=outputs.weight.data_ptr() == inputs.weight.data_ptr(),
        positions=_positions(model, heads),
        rotary_theta=_theta(config),
        windows=_windows(config, layers),
    )


def _positions(model: Any, heads: int) -> str:
    """How the model knows where a token stands."""
    if any("RotaryEmbedding" in type(module).__name__ for module in model.modules()):
        return "rotary"
    if position_table(model) is not None:
        return "learned"
    return "unknown" if heads else "none"


def position_table(model: Any) -> nn.Embedding | None:
    """The learned vectors of the positions, where the model has them."""
    names = ("wpe", "embed_positions", "position_embeddings", "embed_position")
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and name.rsplit(".", 1)[-1] in names:
            return module
    return None


def _theta(config: Any) -> float | None:
    """The base of the rotary frequencies; of the layers that see everything, where there are several."""
    stated = getattr(config, "rope_parameters", None) or {}
    stated = stated.get("full_attention", stated)
    theta = stated.get("rope_theta")
    return None if theta is None else float(theta)


def _windows(config: Any, layers: int) -> tuple[int | None, ...]:
    _, arguments = get_layer_types_and_kwargs(config)
    windows = tuple(layer.get("sliding_window") for layer in arguments)
    return windows if len(windows) == layers else (None,) * layers
