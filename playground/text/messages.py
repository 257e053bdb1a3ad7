"""The messages of a conversation as they come from outside, checked and made plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.text.surrogates import count_surrogates, replace_surrogates

MOST_MESSAGES = 10_000
LONGEST_TEXT = 2_000_000  # characters, in all messages together and in a prompt
_DEEPEST = 30  # levels of lists and objects in a field such as tool_calls
_LARGEST = 10**308  # about where floats end; Python writes no number of thousands of digits


class PromptError(ValueError):
    """Why there is no prompt: one plain sentence that says what to do."""


def plain_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The messages as plain JSON data, and how many broken characters were replaced in them.

    Fields that are None are left out, as transformers does. Raises PromptError.
    """
    if isinstance(messages, str | Mapping) or not isinstance(messages, Sequence):
        raise PromptError("messages must be a list of objects with a role and a content")
    if not messages:
        raise PromptError("there is no message yet: write one")
    if len(messages) > MOST_MESSAGES:
        raise PromptError(f"there are {len(messages):,} messages; {MOST_MESSAGES:,} are the limit")
    copy = _Copy()
    return [copy.message(number, message) for number, message in enumerate(messages, 1)], copy.replaced


class _Copy:
    """Copies plain data, counting what it reads."""

    def __init__(self) -> None:
        self.replaced = 0
        self.characters = 0

    def message(self, number: int, message: Any) -> dict[str, Any]:
        if not isinstance(message, Mapping):
            raise PromptError(f"message {number} must be an object with a role and a content")
        for field in ("role", "content"):
            if not isinstance(message.get(field), str):
                raise PromptError(f"message {number} needs a {field} that is a text")
        if not message["role"]:
            raise PromptError(f"message {number} needs a role, such as user")
        if not all(isinstance(key, str) for key in message):
            raise PromptError(f"message {number} has a field whose name is not a text")
        return {
            self.text(key): self.value(number, item, 0) for key, item in message.items() if item is not None
        }

    def value(self, number: int, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int) and abs(value) >= _LARGEST:
            raise PromptError(f"message {number} holds a number of more than 308 digits")
        if value is None or isinstance(value, bool | int | float):
            self.count(1)
            return value
        if depth < _DEEPEST and isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {self.text(key): self.value(number, item, depth + 1) for key, item in value.items()}
        if depth < _DEEPEST and isinstance(value, list | tuple):
            return [self.value(number, item, depth + 1) for item in value]
        raise PromptError(
            f"message {number} holds something that is not plain JSON data, or nested too deeply"
        )

    def text(self, text: Any) -> str:
        self.count(len(text) + 1)
        found = count_surrogates(text)
        self.replaced += found
        return replace_surrogates(text) if found else str(text)

    def count(self, characters: int) -> None:
        self.characters += characters
        if self.characters > LONGEST_TEXT:
            raise PromptError(f"the messages have more than {LONGEST_TEXT:,} characters, which is the limit")
