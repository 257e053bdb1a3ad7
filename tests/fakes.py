"""Stand-ins for the tests: a byte tokenizer, tiny random models, and a model that follows a script.

All of them are built here from configs and seeds: no download, no weights on disk. Nothing needs pytest, so
that scripts and benchmarks can use them too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from playground.engine.describe import describe
from playground.engine.models import Loaded

IM_START, IM_END, END_OF_TEXT = 256, 257, 258
VOCABULARY = 259  # rows that the byte tokenizer needs
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

Row = int | Sequence[float] | Tensor | Callable[[int, int], "Row"]


def byte_tokenizer(chat_template: str | None = CHATML) -> PreTrainedTokenizerFast:
    """Byte-level BPE without merges: token `b` is byte `b`, and three control tokens follow (256 to 258)."""
    vocabulary = {char: byte for byte, char in _byte_alphabet().items()}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<|endoftext|>", eos_token="<|im_end|>"
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def _byte_alphabet() -> dict[int, str]:
    """GPT-2's table: printable bytes stand for themselves, the others for characters from U+0100 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in printable]
    table = {byte: chr(byte) for byte in printable}
    return table | {byte: chr(256 + index) for index, byte in enumerate(hidden)}


def _sizes(vocab: int, positions: int, layers: int) -> dict[str, Any]:
    return {
        "vocab_size": vocab,
        "max_position_embeddings": positions,
        "num_hidden_layers": layers,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
        "initializer_range": 0.3,  # the usual 0.02 makes rows so flat that rounding decides the order
    }


def _made(kind: type, config: Any, seed: int) -> Any:
    """The model in eval mode with seeded weights; the caller's random state is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(config).eval().requires_grad_(False)


def llama_config(
    vocab: int = VOCABULARY, *, positions: int = 256, layers: int = 3, **more: Any
) -> LlamaConfig:
    return LlamaConfig(**(_sizes(vocab, positions, layers) | {"num_key_value_heads": 2} | more))


def tiny_llama(
    vocab: int = VOCABULARY, *, positions: int = 256, layers: int = 3, seed: int = 0, **more: Any
) -> LlamaForCausalLM:
    return _made(LlamaForCausalLM, llama_config(vocab, positions=positions, layers=layers, **more), seed)


def tiny_gemma3(
    vocab: int = VOCABULARY, *, window: int = 4, positions: int = 256, layers: int = 6, seed: int = 0
) -> Gemma3ForCausalLM:
    """Every third layer sees everything, the others slide over `window` positions."""
    kinds = ["full_attention" if layer % 3 == 2 else "sliding_attention" for layer in range(layers)]
    config = Gemma3TextConfig(
        **_sizes(vocab, positions, layers),
        num_key_value_heads=2,
        head_dim=8,
        query_pre_attn_scalar=8,
        sliding_window=window,
        layer_types=kinds,
    )
    return _made(Gemma3ForCausalLM, config, seed)


def tiny_gpt2(
    vocab: int = VOCABULARY, *, positions: int = 256, layers: int = 2, seed: int = 0
) -> GPT2LMHeadModel:
    """Learned positions."""
    config = GPT2Config(
        vocab_size=vocab, n_positions=positions, n_layer=layers, n_embd=32, n_head=4, initializer_range=0.3,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    return _made(GPT2LMHeadModel, config, seed)


def tiny_qwen3(
    vocab: int = VOCABULARY, *, positions: int = 256, layers: int = 2, seed: int = 0
) -> Qwen3ForCausalLM:
    config = Qwen3Config(**_sizes(vocab, positions, layers), num_key_value_heads=2, head_dim=8)
    return _made(Qwen3ForCausalLM, config, seed)


def tiny_mistral(
    vocab: int = VOCABULARY, *, window: int = 4, positions: int = 256, layers: int = 2, seed: int = 0
) -> MistralForCausalLM:
    """All layers slide."""
    config = MistralConfig(**_sizes(vocab, positions, layers), num_key_value_heads=2, sliding_window=window)
    return _made(MistralForCausalLM, config, seed)


def tiny_phi3(
    vocab: int = VOCABULARY, *, positions: int = 256, layers: int = 2, seed: int = 0
) -> Phi3ForCausalLM:
    config = Phi3Config(
        **_sizes(vocab, positions, layers), num_key_value_heads=2, original_max_position_embeddings=positions
    )
    return _made(Phi3ForCausalLM, config, seed)


def tiny_gpt_neox(
    vocab: int = VOCABULARY, *, positions: int = 256, layers: int = 2, seed: int = 0
) -> GPTNeoXForCausalLM:
    return _made(GPTNeoXForCausalLM, GPTNeoXConfig(**_sizes(vocab, positions, layers)), seed)


def tiny_mamba(vocab: int = VOCABULARY, *, layers: int = 2, seed: int = 0) -> MambaForCausalLM:
    """No keys and values: its cache is a state."""
    config = MambaConfig(
        vocab_size=vocab, hidden_size=32, state_size=4, num_hidden_layers=layers, initializer_range=0.3,
        bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    return _made(MambaForCausalLM, config, seed)


def loaded(model: Any, tokenizer: Any = None, *, name: str = "tiny") -> Loaded:
    """`model` as the loader would hand it over, by default with the byte tokenizer."""
    tokenizer = tokenizer or byte_tokenizer()
    return Loaded(model, tokenizer, describe(model, tokenizer, name=name, sha256="0" * 64))


def probabilities(wanted: Mapping[int, float], vocab: int = VOCABULARY) -> list[float]:
    """Logits whose softmax gives each id of `wanted` its share; the rest is shared equally by all others."""
    rest = max(0.0, 1.0 - sum(wanted.values())) / max(1, vocab - len(wanted))
    shares = torch.tensor([wanted.get(token, rest) for token in range(vocab)], dtype=torch.float64)
    return shares.log().tolist()


class ScriptedModel(LlamaForCausalLM):
    """A tiny Llama whose logits are replaced by a script; make one with `scripted`.

    Caches, masks and shapes stay those of a real model, since the real forward runs first. The row that
    decides answer token n is the one at position prompt_length − 1 + n; positions outside of the script keep
    the real logits. The attributes `rows`, `delay` and `raise_at` may be changed between runs, and `passes`
    counts the calls.
    """

    rows: Sequence[Row]
    prompt_length: int
    delay: float
    raise_at: dict[int, BaseException]
    passes: int

    def forward(
        self,
        input_ids: Tensor | None = None,  # (batch, length)
        *,
        position_ids: Tensor | None = None,  # (batch or 1, length)
        logits_to_keep: int | Tensor = 0,
        **more: Any,
    ) -> Any:
        assert input_ids is not None
        self.passes += 1
        if self.delay:
            time.sleep(self.delay)
        if position_ids is None:
            cache = more.get("cache") or more.get("past_key_values")
            start = 0 if cache is None else cache.get_seq_length()
            position_ids = torch.arange(start, start + input_ids.shape[1])[None]
        steps = position_ids.expand(input_ids.shape) - (self.prompt_length - 1)  # (batch, length)
        for step, error in self.raise_at.items():
            if (steps == step).any():
                raise error
        made = super().forward(input_ids, position_ids=position_ids, logits_to_keep=logits_to_keep, **more)
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        kept = slice(None) if isinstance(logits_to_keep, int) and logits_to_keep == 0 else kept
        for lane, (lane_steps, lane_ids) in enumerate(zip(steps[:, kept], input_ids[:, kept], strict=True)):
            for index, (step, token) in enumerate(zip(lane_steps.tolist(), lane_ids.tolist(), strict=True)):
                if 0 <= step < len(self.rows):
                    made.logits[lane, index] = self._row(self.rows[step], step, token).to(made.logits)
        return made

    def _row(self, row: Row, step: int, token: int) -> Tensor:
        if callable(row) and not isinstance(row, Tensor):
            return self._row(row(step, token), step, token)
        if isinstance(row, int):
            logits = torch.zeros(self.config.vocab_size)
            logits[row] = 30.0  # all but certain
            return logits
        return torch.as_tensor(row)


def scripted(
    rows: Sequence[Row],
    *,
    prompt_length: int,
    vocab: int = VOCABULARY,
    delay: float = 0.0,
    raise_at: Mapping[int, BaseException] | None = None,
    seed: int = 0,
    **config: Any,
) -> ScriptedModel:
    """A ScriptedModel for prompts of `prompt_length` ids.

    A row is an id that is all but certain to come, `vocab` logits (see also `probabilities`), or a callable
    (step, the token just read) -> row. `delay` is slept in each pass, in seconds; `raise_at` maps an answer
    step to what is raised, every time, when its logits are due. `config` goes to LlamaConfig.
    """
    model = _made(ScriptedModel, llama_config(vocab, **{"layers": 1, **config}), seed)
    model.rows, model.prompt_length, model.delay = list(rows), prompt_length, delay
    model.raise_at, model.passes = dict(raise_at or {}), 0
    return model
