"""Messages or raw text to the prompt that the model reads, with who wrote which part of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playground.text import templates
from playground.text.encode import Encoded, Origins, Span, control_ids, encode_trusted
from playground.text.messages import LONGEST_TEXT, PromptError, plain_messages
from playground.text.origin import FIRST_MESSAGE, TEMPLATE, UNKNOWN
from playground.text.renderer import Renderer, RenderError
from playground.text.spans import prompt_tokens
from playground.text.surrogates import count_surrogates, replace_surrogates
from playground.text.tokens import Vocabulary
from playground.trace import Prompt, Segment, SegmentKind

__all__ = ["PromptError", "chat_prompt", "raw_prompt", "warm_up"]

LONGEST_TEMPLATE = 200_000  # characters
_KINDS: dict[str, SegmentKind] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}  # any other role is taken for the user's

# A template that a visitor edited may use up its time; that must not keep the others waiting.
_RENDERERS = {True: Renderer(), False: Renderer()}  # whether the template was edited


def warm_up() -> None:
    """Start what runs the models' own templates, which takes a second; returns at once."""
    threading.Thread(target=_RENDERERS[False].warm_up, name="playground-templates", daemon=True).start()


def raw_prompt(vocabulary: Vocabulary, text: str) -> Prompt:
    """`text` as it is, without a template. Markers in it become control tokens, and a note says so.

    What the tokenizer puts before every text (BOS) is put there once. Raises PromptError for a text that is
    too long, or empty when nothing stands before it.
    """
    if not isinstance(text, str):
        raise PromptError("the raw prompt must be a text")
    if len(text) > LONGEST_TEXT:
        raise PromptError(f"the prompt has {len(text):,} characters; {LONGEST_TEXT:,} are the limit")
    notes = _surrogate_notes(count_surrogates(text))
    text = replace_surrogates(text)
    encoding = vocabulary.encoding(text)
    typed = [
        token_id
        for token_id, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        # The token for whatever the vocabulary lacks is special too, though nobody typed it.
        if vocabulary.is_special(token_id) and vocabulary.added[token_id] in text[start:end]
    ]
    prefix = vocabulary.prefix_ids
    if encoding.ids[: len(prefix)] == prefix:
        prefix = []
    if not prefix and not text:
        raise PromptError("the prompt is empty: type a text for the model to go on from")
    head = "".join(vocabulary.bytes_of(token_id).decode() for token_id in prefix)
    segments = [Segment("template", 0, len(head), True)] if prefix else []
    if text or not segments:
        segments.append(Segment("raw", len(head), len(head) + len(text), False))
    if typed:
        shown = ", ".join(dict.fromkeys(vocabulary.visible(token_id) for token_id in typed))
        notes.append(f"typed, taken as control tokens: {shown}")
    return _prompt(vocabulary, head + text, _after(vocabulary, prefix, encoding), segments, None, notes)


def chat_prompt(
    vocabulary: Vocabulary,
    messages: Sequence[Mapping[str, Any]],
    *,
    template: str | None = None,
    thinking: bool | None = None,
    continue_last: bool = False,
) -> Prompt:
    """The messages as the model's chat template puts them; what anybody typed is never a control token.

    `messages`: {"role": …, "content": …} each, other fields (tool_calls) go to the template as they are.
    `template`: a name of `templates.KNOWN`, Jinja text, or None for the model's own.
    `thinking`: the template's switch; None leaves it alone.
    `continue_last`: the model goes on with the last message instead of opening a new one.

    For messages that hold no markers the ids are those of `apply_chat_template(tokenize=True)` in
    transformers. Raises PromptError, one plain sentence, if the messages or the template do not work.
    """
    plain, replaced = plain_messages(messages)
    if template is not None and len(template) > LONGEST_TEMPLATE:
        raise PromptError(
            f"the template has {len(template):,} characters; {LONGEST_TEMPLATE:,} are the limit"
        )
    chosen = templates.resolve(vocabulary.tokenizer, template)
    if chosen is None:
        raise PromptError("this model has no chat template: use raw mode, or pick a template")
    name, source = chosen
    variables = dict(vocabulary.tokenizer.special_tokens_map)
    notes = _surrogate_notes(replaced) + _stranger_notes(vocabulary, name)
    if thinking is not None:
        # The two names that templates read; the others of the switch are settings of single models.
        variables |= {"enable_thinking": thinking, "thinking": thinking}
        if "thinking" not in source:
            notes.append("this template has no switch for thinking")
    try:
        made = _RENDERERS[name == templates.EDITED].render(
            template=source, messages=plain, variables=variables, go_on=continue_last
        )
    except RenderError as error:
        raise PromptError(f"the chat template {error}") from None
    text, origins = made["text"], Origins(made["runs"])
    if not text:
        raise PromptError("the chat template makes an empty prompt of these messages")
    kinds = [_KINDS.get(message["role"], "user") for message in plain]
    control = control_ids(vocabulary, made["literals"])
    encoded = encode_trusted(vocabulary, text, control, _trust(vocabulary, origins, kinds))
    markers = [span for token_id, span in zip(encoded.ids, encoded.spans, strict=True) if token_id in control]
    segments = _segments(made, origins, kinds, markers)
    unknown = sum(segment.end - segment.start for segment in segments if segment.kind == "raw")
    if unknown:
        whose = f"who wrote {_count(unknown, 'character')} cannot be told"
        notes.append(f"{whose}: shown as raw, and markers there are just text")
    if encoded.ids[:2] == [vocabulary.bos_id] * 2:
        notes.append("the template writes the start token twice")
    return _prompt(vocabulary, text, encoded, segments, name, notes)


def _trust(
    vocabulary: Vocabulary, origins: Origins, kinds: list[SegmentKind]
) -> Callable[[int, int, int], bool]:
    """Whether a marker at [start, end) counts: every character of it must be the template's."""

    def trusted(token_id: int, start: int, end: int) -> bool:
        origin = origins.single(start, end)
        if origin is None or origin < FIRST_MESSAGE:
            return origin == ord(TEMPLATE)
        # An assistant's own `</think>` is a marker too; its `<|im_end|>` is not.
        return not vocabulary.is_special(token_id) and kinds[origin - FIRST_MESSAGE] == "assistant"

    return trusted


def _segments(
    made: dict[str, Any], origins: Origins, kinds: list[SegmentKind], markers: list[Span]
) -> list[Segment]:
    """The runs of one origin, cut where the generation prompt and the hidden system message begin and end."""
    length, opening = len(made["text"]), made["generation_start"]
    # Found by comparing texts, it may seem to begin within a marker that begins like another.
    opening = next((start for start, end in markers if start < opening < end), opening)
    low, high = made["hidden"] or (0, 0)
    cuts = sorted({*origins.starts, *(at for at in (opening, low, high) if 0 < at < length)})
    segments = []
    for start, end in zip(cuts, [*cuts[1:], length], strict=True):
        kind, by_template = _kind(origins.single(start, end), kinds)
        if kind == "template" and low <= start < high:
            kind = "system"
        elif kind == "template" and start >= opening:
            kind = "generation_prompt"
        segments.append(Segment(kind, start, end, by_template))
    return segments


def _kind(origin: int | None, kinds: list[SegmentKind]) -> tuple[SegmentKind, bool]:
    if origin == ord(TEMPLATE):
        return "template", True
    if origin is None or origin == ord(UNKNOWN):
        return "raw", False
    return kinds[origin - FIRST_MESSAGE], False


def _prompt(
    vocabulary: Vocabulary,
    text: str,
    encoded: Encoded,
    segments: Sequence[Segment],
    template: str | None,
    notes: list[str],
) -> Prompt:
    beyond = [token_id for token_id in encoded.ids if token_id >= vocabulary.size]
    if beyond:
        raise PromptError(f"the model has no token {beyond[0]} ({vocabulary.visible(beyond[0])})")
    if not encoded.ids:
        raise PromptError("the prompt is empty: the model's vocabulary has nothing for these characters")
    tokens, lost = prompt_tokens(vocabulary, text, encoded, segments)
    if lost:
        notes = [*notes, f"{_count(lost, 'character')} lost: not in the model's vocabulary"]
    return Prompt(text, tuple(segments), tokens, tuple(encoded.ids), template, tuple(notes))


def _after(vocabulary: Vocabulary, prefix: list[int], encoding: Any) -> Encoded:
    """The encoding of a text with the prefix before it, spans moved by the prefix's characters."""
    spans, at = [], 0
    for token_id in prefix:
        end = at + len(vocabulary.bytes_of(token_id).decode())
        spans.append((at, end))
        at = end
    moved = [(start + at, end + at) for start, end in encoding.offsets]
    return Encoded([*prefix, *encoding.ids], [*spans, *moved])


def _stranger_notes(vocabulary: Vocabulary, name: str) -> list[str]:
    known = set(vocabulary.added.values())
    strange = ", ".join(marker for marker in templates.MARKERS.get(name, ()) if marker not in known)
    return [f"this model was not made for this template: {strange} is just text to it"] if strange else []


def _surrogate_notes(count: int) -> list[str]:
    return [f"{_count(count, 'broken character')} replaced by U+FFFD"] if count else []


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
