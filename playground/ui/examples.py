"""Prompts to click, each with one line on what it shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Example:
    """A prompt that teaches something."""

    mode: str  # chat or raw
    prompt: str
    lesson: str


EXAMPLES = {
    "France": Example(
        "chat", "What is the capital of France?", "How sure it is of Paris, and how open it is right after."
    ),
    "haiku": Example(
        "chat", "Write a haiku about the sea.", "Many words would do: open choices, warm colours."
    ),
    "code": Example(
        "raw",
        "def is_even(number):\n    return",
        "Raw text is gone on with, without a template. Code leaves little choice.",
    ),
    "counting": Example(
        "chat",
        "How many times is the letter r in strawberry?",
        "It reads tokens, not letters: see how the word is cut.",
    ),
    "emoji 👋": Example(
        "chat",
        "Say good morning in French, in Japanese and in emoji 👋🌅",
        "One character can take several tokens.",
    ),
    "alphabet": Example(
        "raw", "The English alphabet is: A, B, C,", "Hardly any choice is left, until the list ends."
    ),
}


def as_json() -> dict[str, dict[str, str]]:
    return {name: asdict(example) for name, example in EXAMPLES.items()}
