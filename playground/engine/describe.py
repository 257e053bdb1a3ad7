"""What a trace says about a model: its name, identity, place, sizes and end ids."""

from __future__ import annotations

from typing import Any

import torch

from playground.trace import ModelInfo

# Tokens that close a turn in the usual chat templates. They end an answer where the template writes them,
# even if the model's own config forgot to declare them.
_TURN_ENDERS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<turn|>",
    "<|end|>",
    "<|endofturn|>",
)
_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")


def describe(model: Any, tokenizer: Any, *, name: str, sha256: str) -> ModelInfo:
    """What a trace says about a model."""
    config = model.config.get_text_config()
    output = model.get_output_embeddings()
    vocabulary = int(getattr(output, "out_features", None) or config.vocab_size)
    contexts = (getattr(config, key, None) for key in _CONTEXT_NAMES)
    return ModelInfo(
        name=name,
        sha256=sha256,
        dtype=str(model.dtype).removeprefix("torch."),
        device=_placed(model),
        vocabulary=vocabulary,
        context=next((number for number in contexts if type(number) is int and number > 0), None),
        end_ids=_end_ids(model, tokenizer, vocabulary),
    )


def _placed(model: Any) -> str:
    devices = getattr(model, "hf_device_map", None) or {"": model.device}
    names = {str(torch.device(place) if place != "disk" else place) for place in devices.values()}
    return " + ".join(sorted(names))


def _end_ids(model: Any, tokenizer: Any, vocabulary: int) -> tuple[int, ...]:
    """Every id that anything declares to end an answer, in rising order."""
    config = model.config
    declared = [
        getattr(getattr(model, "generation_config", None), "eos_token_id", None),
        getattr(config, "eos_token_id", None),
        getattr(config.get_text_config(), "eos_token_id", None),
        tokenizer.eos_token_id,
    ]
    ids: set[Any] = set()
    for entry in declared:
        ids.update(entry if isinstance(entry, list | tuple) else [entry])
    template = tokenizer.chat_template or ""
    texts = template.values() if isinstance(template, dict) else [template]
    special = {
        token.content: index for index, token in tokenizer.added_tokens_decoder.items() if token.special
    }
    ids.update(
        special[marker]
        for marker in _TURN_ENDERS
        if marker in special and any(marker in text for text in texts)
    )
    return tuple(sorted(item for item in ids if type(item) is int and 0 <= item < vocabulary))
