"""A tiny Llama as a GGUF file, to load what nobody has to download."""

from __future__ import annotations

from pathlib import Path

import gguf
from torch import Tensor
from transformers import LlamaForCausalLM

from tests.fakes import CHATML, byte_tokenizer, tiny_llama

_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
_LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_tiny_gguf(path: Path, *, pre: str = "gpt-2") -> LlamaForCausalLM:
    """Write a random Llama with the byte tokenizer and one more token, `ab` (259); returns the model."""
    model = tiny_llama(260, layers=2)
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list([*byte_tokenizer().convert_ids_to_tokens(range(259)), "ab"])
    writer.add_token_types([1] * 256 + [3] * 3 + [1])  # 3: control
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(257)
    writer.add_chat_template(CHATML)
    for name, weight in model.state_dict().items():
        writer.add_tensor(_gguf_name(name), _rows_of_gguf(name, weight, model).numpy().copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def _gguf_name(name: str) -> str:
    name = name.removesuffix(".weight")
    if not name.startswith("model.layers."):
        return f"{_NAMES[name]}.weight"
    layer, inner = name.removeprefix("model.layers.").split(".", 1)
    return f"blk.{layer}.{_LAYER_NAMES[inner]}.weight"


def _rows_of_gguf(name: str, weight: Tensor, model: LlamaForCausalLM) -> Tensor:
    """GGUF keeps the two halves of each rotated head interleaved."""
    heads = {"q_proj": model.config.num_attention_heads, "k_proj": model.config.num_key_value_heads}
    count = next((number for key, number in heads.items() if key in name), None)
    if count is None:
        return weight
    rows, columns = weight.shape
    return weight.reshape(count, 2, rows // count // 2, columns).transpose(1, 2).reshape(rows, columns)
