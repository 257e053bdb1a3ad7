"""Thinking templates: which part of an answer is the thought."""

from __future__ import annotations

OPEN, CLOSE = "<think>", "</think>"


def split_thought(prompt_text: str, answer_text: str) -> tuple[str | None, str, bool]:
    """(thought, answer, finished) of what was generated after a prompt.

    The opening tag may end the prompt (the template wrote it) or begin the answer. `thought` is None if the
    model was not thinking: no tag, or one that the prompt has closed already. `finished` is False while the
    closing tag is missing; the answer is empty then.
    """
    # An opening tag further up may stand in what somebody wrote, unless the answer closes it: then it was the
    # beginning of a thought that the model was asked to continue.
    unclosed = prompt_text.rfind(OPEN) > prompt_text.rfind(CLOSE)
    inside = prompt_text.rstrip().endswith(OPEN) or (unclosed and CLOSE in answer_text)
    if not inside:
        if not answer_text.lstrip().startswith(OPEN):
            return None, answer_text, True
        answer_text = answer_text.lstrip().removeprefix(OPEN)
    thought, closed, answer = answer_text.partition(CLOSE)
    return thought, answer, bool(closed)
