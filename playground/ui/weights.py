"""How much of the model one pass reads."""

from __future__ import annotations

from typing import Any


def weight_bytes(engine: Any) -> int | None:
    """Bytes of all parameters, shared ones counted once: what every pass through a dense model reads,
    however many tokens it carries. None where the engine has no model at hand to ask, and for a mixture of
    experts, where a pass reads a part that depends on the token.

    An input embedding with weights of its own is left out: of it a pass looks up a few rows only.
    """
    model = getattr(engine, "model", None)
    if model is None:
        return None
    config = model.config.get_text_config()
    if any(getattr(config, name, None) for name in ("num_experts", "num_local_experts", "n_routed_experts")):
        return None
    sizes = {id(weight): weight.numel() * weight.element_size() for weight in model.parameters()}
    looked_up, output = model.get_input_embeddings(), model.get_output_embeddings()
    if looked_up is not None and output is not None and looked_up.weight is not output.weight:
        sizes.pop(id(looked_up.weight), None)
    return sum(sizes.values()) or None
