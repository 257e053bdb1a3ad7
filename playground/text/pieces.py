"""From a tokenizer's piece (`Ġthe`, `▁the`, `##ing`, `<0xE2>`) to the bytes it stands for.

The rules are read from the tokenizer's own JSON, as the `tokenizers` library saves it, since decoding a
token alone loses what is asked for here: spaces at the start, and the bytes of half a character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_alphabet() -> dict[str, int]:
    """The 256 letters of byte-level BPE: printable Latin-1 stands for itself, the rest is moved to U+0100 on.

    The table of GPT-2 (Radford et al. 2019), which every byte-level tokenizer uses.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(0x100 + index): byte for index, byte in enumerate(moved)}


BYTE_OF_LETTER = _byte_alphabet()


@dataclass(frozen=True)
class PieceRules:
    """How the pieces of one tokenizer become bytes."""

    byte_level: bool
    byte_fallback: bool
    rewrite: Callable[[str], str]  # of a piece that is not bytes
    rewrite_added: Callable[[str], str]  # of an added token that takes part in normalisation
    drops_first_space: bool  # the first token of a whole sequence loses one space

    def bytes_of(self, piece: str) -> bytes:
        """The bytes of a piece of the model's own vocabulary, wherever it stands but first."""
        if self.byte_level:
            if all(letter in BYTE_OF_LETTER for letter in piece):
                return bytes(BYTE_OF_LETTER[letter] for letter in piece)
            return piece.encode()  # the library's decoder takes the whole piece literally then
        if self.byte_fallback and (match := _BYTE_PIECE.fullmatch(piece)):
            return bytes([int(match[1], 16)])
        return self.rewrite(piece).encode()

    def bytes_of_added(self, content: str, normalized: bool) -> bytes:
        """The bytes of an added token: its content, literally."""
        return (self.rewrite_added(content) if normalized else content).encode()

    def first(self, data: bytes) -> bytes:
        """`data` of a token when it is the first of a whole sequence."""
        return data[1:] if self.drops_first_space and data.startswith(b" ") else data


def read_rules(spec: dict[str, Any]) -> PieceRules:
    """The rules of a tokenizer from its JSON (`Tokenizer.to_str`, parsed)."""
    decoders = list(_flatten(spec.get("decoder")))
    kinds = {decoder["type"] for decoder in decoders}
    replaces = [_replacement(decoder) for decoder in decoders if decoder["type"] in ("Replace", "Metaspace")]
    edges = [_edge(decoder) for decoder in decoders if decoder["type"] in ("WordPiece", "BPEDecoder")]
    if not decoders:
        edges.append(lambda piece: " " + piece)  # without a decoder the library joins pieces with spaces
    drops = not decoders or any(map(_drops_first_space, decoders))
    return PieceRules(
        byte_level="ByteLevel" in kinds,
        byte_fallback="ByteFallback" in kinds or bool(spec["model"].get("byte_fallback")),
        rewrite=_chain(replaces + edges),
        rewrite_added=_chain(replaces),
        drops_first_space=drops,
    )


def _flatten(decoder: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    if decoder is None:
        return
    if decoder["type"] == "Sequence":
        for part in decoder["decoders"]:
            yield from _flatten(part)
    else:
        yield decoder


def _drops_first_space(decoder: dict[str, Any]) -> bool:
    match decoder["type"]:
        case "WordPiece":
            return True
        case "Strip":
            return bool(decoder.get("start", 0) > 0)
        case "Metaspace":
            return bool(decoder.get("prepend_scheme", "always") != "never")
    return False


def _chain(steps: list[Callable[[str], str]]) -> Callable[[str], str]:
    def run(piece: str) -> str:
        for step in steps:
            piece = step(piece)
        return piece

    return run


def _replacement(decoder: dict[str, Any]) -> Callable[[str], str]:
    if decoder["type"] == "Metaspace":
        mark = decoder.get("replacement", "▁")
        return lambda piece: piece.replace(mark, " ")
    pattern, content = decoder["pattern"], decoder["content"]
    if "String" in pattern:
        return lambda piece: piece.replace(pattern["String"], content)
    compiled = re.compile(pattern["Regex"])
    return lambda piece: compiled.sub(lambda _: content, piece)


def _edge(decoder: dict[str, Any]) -> Callable[[str], str]:
    if decoder["type"] == "WordPiece":
        prefix = decoder.get("prefix", "##")
        return lambda piece: piece.removeprefix(prefix) if piece.startswith(prefix) else " " + piece
    suffix = decoder.get("suffix", "</w>")
    return lambda piece: piece.replace(suffix, " ")
