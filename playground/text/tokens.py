"""Token ids to bytes, to text, and to what people see of them. Ids are the truth, text is a view."""

from __future__ import annotations

import codecs
import json
from typing import Any

from tokenizers import Encoding, Tokenizer, pre_tokenizers

from playground.text.pieces import read_rules
from playground.text.surrogates import replace_surrogates
from playground.text.visible import visible_bytes, visible_text

__all__ = [
    "TextStream",
    "Vocabulary",
    "fix_pretokenizer",
    "replace_surrogates",
    "visible_bytes",
    "visible_text",
]


def fix_pretokenizer(tokenizer: Any, pre_name: str | None) -> None:
    """Give a tokenizer built from a GGUF file the digit splitting that its file asks for by name.

    `pre_name` is the file's `tokenizer.ggml.pre`. transformers 5.24 does not read it, and for `smollm`
    builds a tokenizer that keeps runs of digits together, while the model was trained on single digits.
    Changes `tokenizer` (a transformers fast tokenizer) in place; does nothing for other names.
    """
    if pre_name != "smollm":
        return
    backend = tokenizer.backend_tokenizer
    if '"Digits"' not in str(backend.pre_tokenizer.__getstate__()):
        digits = pre_tokenizers.Digits(individual_digits=True)
        backend.pre_tokenizer = pre_tokenizers.Sequence([digits, backend.pre_tokenizer])


class Vocabulary:
    """The ids of one model: their bytes, their visible form, and text to ids.

    `tokenizer` is a transformers fast tokenizer, `size` the number of rows of the model's output layer,
    which may exceed the tokenizer's ids or fall short of them. Safe to share between threads: truncation
    and padding are state of the tokenizers that others use, so this one keeps a private copy without them.
    """

    def __init__(self, tokenizer: Any, size: int) -> None:
        shared = getattr(tokenizer, "backend_tokenizer", None)
        if not isinstance(shared, Tokenizer):
            raise ValueError("this model's tokenizer has no fast form, which the playground needs")
        self.tokenizer = tokenizer
        self.size = size
        saved: dict[str, Any] = json.loads(shared.to_str())
        # Truncation and padding may be on because somebody else asked for them; what the post-processor adds
        # is added here on purpose or not at all, and its trimmed offsets are of no use.
        spec = {**saved, "truncation": None, "padding": None, "post_processor": None}
        self.backend = Tokenizer.from_str(json.dumps(spec))
        self.prefix_ids = self._prefix(shared.post_processor)
        self.renamed: dict[frozenset[int], Any] = {}  # copies that `encode` makes and keeps
        self.rules = read_rules(spec)
        self.unknown_id = self._unknown(spec["model"])
        added = tokenizer.added_tokens_decoder
        self._added = {int(key): (token.content, token.normalized) for key, token in added.items()}
        self._special = frozenset(int(key) for key, token in added.items() if token.special)
        self._bytes: dict[int, bytes] = {}
        self._visible: dict[int, str] = {}

    def _prefix(self, post_processor: Any) -> list[int]:
        """The ids that the tokenizer puts before a text: [bos], or nothing."""
        if post_processor is None:
            return []
        bare = self.encoding("a")
        full = list(post_processor.process(bare, None, True).ids)
        starts = range(len(full) - len(bare.ids) + 1)
        return next((full[:at] for at in starts if full[at : at + len(bare.ids)] == bare.ids), [])

    @property
    def bos_id(self) -> int | None:
        token_id = self.tokenizer.bos_token_id
        return int(token_id) if isinstance(token_id, int) else None

    def _unknown(self, model: dict[str, Any]) -> int | None:
        """The id that stands for whatever the vocabulary lacks, if there is one."""
        piece = model.get("unk_token")
        return model.get("unk_id") if piece is None else self.backend.token_to_id(piece)

    @property
    def added(self) -> dict[int, str]:
        """Contents of the added tokens: markers that the tokenizer finds in a text before anything else."""
        return {token_id: content for token_id, (content, _) in self._added.items()}

    def is_special(self, token_id: int) -> bool:
        """Whether the id is a control token, not text."""
        return token_id in self._special

    def bytes_of(self, token_id: int) -> bytes:
        """The bytes that the token adds to a text; b"" for an id that the tokenizer does not know."""
        data = self._bytes.get(token_id)
        if data is None:
            data = self._bytes[token_id] = self._read(token_id)
        return data

    def _read(self, token_id: int) -> bytes:
        if token_id in self._added:
            return self.rules.bytes_of_added(*self._added[token_id])
        piece = self.backend.id_to_token(token_id) if token_id >= 0 else None
        return b"" if piece is None else self.rules.bytes_of(piece)

    def visible(self, token_id: int) -> str:
        """What people see of the token: signs for what has no ink, hex for half a character, no quotes."""
        form = self._visible.get(token_id)
        if form is None:
            form = visible_bytes(self.bytes_of(token_id)) or f"‹id {token_id}›"
            self._visible[token_id] = form
        return form

    def encode(self, text: str) -> list[int]:
        """Ids of `text`, with nothing added and nothing cut; markers in it become control tokens."""
        return list(self.encoding(text).ids)

    def encoding(self, text: str) -> Encoding:
        """The same with offsets into `text`, in code points."""
        return self.backend.encode(replace_surrogates(text), add_special_tokens=False)


class TextStream:
    """Incremental decoding: a character is released when its last byte is there.

    `from_start`: the ids are a whole sequence, so that the first loses the space which some tokenizers put
    before a text. The default is for an answer, which continues a prompt.
    """

    def __init__(self, vocabulary: Vocabulary, *, from_start: bool = False) -> None:
        self._vocabulary = vocabulary
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._first = from_start

    @property
    def pending(self) -> bytes:
        """Bytes of an incomplete character, not released yet."""
        return bytes(self._decoder.getstate()[0])

    def push(self, token_id: int) -> str:
        """The text that this token completes. A control token is its own content and ends a broken run."""
        data = self._vocabulary.bytes_of(token_id)
        if self._first:
            data, self._first = self._vocabulary.rules.first(data), False
        ended = self.flush() if self._vocabulary.is_special(token_id) else ""
        return ended + self._decoder.decode(data)

    def push_byte(self, byte: int) -> str:
        """The same for a single byte of a token."""
        return self._decoder.decode(bytes([byte]))

    def flush(self) -> str:
        """End of the run: incomplete bytes come out as U+FFFD."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest
