"""Small tokenizers of each kind that real models have, built here: no download."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from playground.text.tokens import Vocabulary

CORPUS = [
    "The quick brown fox jumps over the lazy dog, and says: hello world! What is the capital of France?",
    "user system assistant model tool  You are a helpful assistant.\n\nThink first. [INST] [/INST] <<SYS>>",
    "<|im_start|> <|im_end|> <|user|> <|end|> im_start im_end end_of_turn start_of_turn header eot_id think",
    "Größe naïve 你好 世界 Привет мир こんにちは 👍🏽 👨‍👩‍👧 1 22 333 4444 a=b; {x: [1, 2]}\r\n\t",
] * 3

SPECIALS = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>", "<|begin_of_text|>",
    "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<bos>", "<eos>", "<start_of_turn>",
    "<end_of_turn>", "[INST]", "[/INST]", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>",
    "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>",
]  # fmt: skip
PLAIN_ADDED = ["<think>", "</think>", "<tool>", "<b>"]  # added tokens that are not special


def wrap(backend: Tokenizer, template: str | None = None, **names: str) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **names)
    tokenizer.chat_template = template
    return tokenizer


def vocabulary(tokenizer: PreTrainedTokenizerFast) -> Vocabulary:
    return Vocabulary(tokenizer, len(tokenizer))


def _add(backend: Tokenizer, specials: Sequence[str], plain: Sequence[str]) -> None:
    backend.add_special_tokens(list(specials))
    backend.add_tokens([AddedToken(content, normalized=False) for content in plain])


@lru_cache(maxsize=1)
def byte_level_json() -> str:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, show_progress=False)
    backend.train_from_iterator(CORPUS, trainer)
    _add(backend, SPECIALS, PLAIN_ADDED)
    return backend.to_str()


def byte_level(template: str | None = None, bos: str = "<s>", eos: str = "</s>") -> PreTrainedTokenizerFast:
    """Like GPT-2, Llama 3, Qwen, SmolLM: bytes as letters."""
    return wrap(Tokenizer.from_str(byte_level_json()), template, bos_token=bos, eos_token=eos)


def byte_level_of(letters: str) -> PreTrainedTokenizerFast:
    """Bytes as letters, but only these."""
    alphabet = [letter.replace(" ", "Ġ") for letter in letters]
    backend = Tokenizer(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return wrap(backend)


def byte_fallback(
    template: str | None = None,
    *,
    prepend: bool = False,
    bos: str = "<bos>",
    unigram: bool = False,
) -> PreTrainedTokenizerFast:
    """Like Gemma: `▁` for space, `<0xHH>` for what the vocabulary lacks; BOS before every text.

    `prepend`: a space goes before a text, as with Llama 2. `unigram`: the other algorithm of sentencepiece.
    """
    pieces = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "▁▁"]
    pieces += sorted(set("".join(CORPUS[:3]) + "é") - {" "})
    words = ["he", "ll", "hell", "hello", "▁w", "or", "ld", "▁wor", "▁world", "hi", "▁hello", "▁h", "▁he"]
    if unigram:
        scores = [(piece, -10.0) for piece in pieces] + [
            (word, -2.0) for word in [*words, "<s>", "<end_of_turn>"]
        ]
        backend = Tokenizer(models.Unigram(scores, unk_id=0, byte_fallback=True))
    else:
        merges = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), ("▁", "w"), ("o", "r"), ("l", "d"),
                  ("▁w", "or"), ("▁wor", "ld"), ("h", "i"), ("▁", "hello"), ("▁", "h"), ("▁", "he"),
                  ("▁", "▁")]  # fmt: skip
        made = {piece: index for index, piece in enumerate(pieces + words)}
        backend = Tokenizer(models.BPE(made, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    steps: list[normalizers.Normalizer] = [normalizers.Prepend("▁")] if prepend else []
    backend.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    chain = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    backend.decoder = decoders.Sequence([*chain, *([decoders.Strip(" ", 1, 0)] if prepend else [])])
    runs = [] if prepend else ["\n\n", "\n\n\n"]  # as Gemma has them
    _add(backend, ["<unk>", *SPECIALS], [*PLAIN_ADDED, *runs])
    start = backend.token_to_id(bos)
    backend.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, start)]
    )
    return wrap(backend, template, bos_token=bos, eos_token="<eos>", unk_token="<unk>")


def metaspace() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=400, show_progress=False))
    return wrap(backend)


def word_level(words: Sequence[str]) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(["?", *words])}, "?"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return wrap(backend, unk_token="?", clean_up_tokenization_spaces=True)


def word_piece() -> PreTrainedTokenizerFast:
    words = ["[UNK]", "hello", "world", "##ing", "sing", ",", "##s"]
    backend = Tokenizer(
        models.WordPiece({word: index for index, word in enumerate(words)}, unk_token="[UNK]")
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return wrap(backend, unk_token="[UNK]")
