"""The process that runs chat templates: `python -m playground.text.render_worker`.

A template is a program of a stranger. The sandbox keeps it from touching anything, but not from counting to
a billion or building a string of ten gigabytes, so it runs here, where the caller can end it and where
memory is limited. One JSON object per line comes in, one goes out.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError
from transformers.utils import chat_template_utils

from playground.text.messages import LONGEST_TEXT
from playground.text.origin import (
    FIRST_MESSAGE,
    SPECIAL,
    TEMPLATE,
    UNKNOWN,
    Traced,
    origins_of,
    tagged,
    written_by,
)
from playground.text.surrogates import replace_surrogates
from playground.text.tracing import compiled, literals

KNOWN_ROLES = {"system", "developer", "user", "assistant", "tool"}
LONGEST_TIME = 60  # seconds; the caller's own deadline is sooner, unless the caller is gone
MEMORY = 1 << 29  # bytes beyond what the process needs to start

# The words that transformers marks the end of a message with when that is to be continued.
_TAG = "CONTINUE_FINAL_MESSAGE_TAG "
Messages = list[dict[str, Any]]


def render(template: str, messages: Messages, variables: dict[str, Any], go_on: bool) -> dict[str, Any]:
    """The prompt's text and who wrote it.

    text; runs: [length, origin] pairs over the text; generation_start: where the generation prompt begins;
    hidden: [start, end] of the system message that the template adds by itself, or None; literals: the
    template's own text; traced: False if origins could not be told.
    """
    if go_on and not messages[-1]["content"]:
        # transformers would strip the header of an empty message along with it.
        messages, go_on = messages[:-1], False
    text = _plain(template, messages, variables, go_on)
    if go_on and not messages[-1]["content"].strip() and not text.endswith(messages[-1]["content"]):
        messages, go_on = messages[:-1], False
        text = _plain(template, messages, variables, go_on)
    if len(text) > LONGEST_TEXT:
        raise MemoryError
    traced = _tried(lambda: _trace(template, _tagged(messages), variables, go_on, not go_on))
    alike = traced == text
    text = replace_surrogates(text)  # a template can write them, by number
    if traced is None or not alike:
        return {
            "text": text,
            "runs": [[len(text), ord(UNKNOWN)]],
            "generation_start": len(text),
            "hidden": None,
            "literals": literals(template),
            "traced": False,
        }
    start = len(text)
    if not go_on:
        silent = _tried(lambda: _trace(template, _tagged(messages), variables, go_on, False))
        start = len(text) if silent is None else _common_prefix(traced, silent)
    # Told apart so far, since `eos_token` and a marker that opens a turn may begin alike.
    marks = origins_of(traced).replace(SPECIAL, TEMPLATE)
    return {
        "text": text,
        "runs": [[len(run[0]), ord(run[1])] for run in re.finditer(r"(.)\1*", marks, re.DOTALL)],
        "generation_start": start,
        "hidden": _hidden(traced, template, messages, variables, go_on),
        "literals": literals(template),
        "traced": True,
    }


def _plain(template: str, messages: Messages, variables: dict[str, Any], go_on: bool) -> str:
    """What `apply_chat_template(tokenize=False)` gives."""
    rendered, _ = chat_template_utils.render_jinja_template(
        conversations=[messages],
        chat_template=template,
        continue_final_message=go_on,
        add_generation_prompt=not go_on,
        **variables,
    )
    return str(rendered[0])


def _tagged(messages: Messages) -> Messages:
    made = []
    for index, message in enumerate(messages):
        copy = tagged(message, chr(FIRST_MESSAGE + index))
        if message["role"] in KNOWN_ROLES:
            copy["role"] = written_by(TEMPLATE, message["role"])
        made.append(copy)
    return made


def _trace(template: str, messages: Messages, variables: dict[str, Any], go_on: bool, opener: bool) -> Traced:
    """The same rendering with traced strings."""
    alias = getattr(chat_template_utils, "_alias_reasoning_fields", list)
    messages = alias(messages)
    if go_on:
        messages[-1] = {**messages[-1], "content": messages[-1]["content"] + _TAG}
    own = {
        key: written_by(SPECIAL, value) if isinstance(value, str) else value
        for key, value in variables.items()
    }
    made = compiled(template).render(
        messages=messages, tools=None, documents=None, add_generation_prompt=opener, **own
    )
    text = Traced(made, origins_of(made))
    if go_on:
        at = text.rindex(_TAG.strip())
        text = text[:at] if text[at : at + len(_TAG)] == _TAG else text[:at].rstrip()
    return text


def _hidden(
    traced: Traced, template: str, messages: Messages, variables: dict[str, Any], go_on: bool
) -> tuple[int, int] | None:
    """What the template says of its own accord: what goes away when an empty system message is given."""
    if messages and messages[0]["role"] in ("system", "developer"):
        return None
    empty = tagged({"role": "system", "content": ""}, TEMPLATE)
    other = _tried(lambda: _trace(template, [empty, *_tagged(messages)], variables, go_on, not go_on))
    if other is None:
        return None  # a template that refuses system messages
    start = _common_prefix(traced, other)
    most = min(len(traced), len(other)) - start
    end = len(traced) - min(most, _common_prefix(traced[::-1], other[::-1]))
    own = start < end and set(origins_of(traced)[start:end]) <= {TEMPLATE, SPECIAL}
    return (start, end) if own else None


def _tried(action: Callable[[], Traced]) -> Traced | None:
    try:
        return action()
    except MemoryError:
        raise
    except Exception:
        return None


def _common_prefix(first: Traced, second: Traced) -> int:
    """Characters at the start that are alike in text and in origin."""
    low, high = 0, min(len(first), len(second))
    left, right = (str.__str__(first), origins_of(first)), (str.__str__(second), origins_of(second))
    while low < high:
        middle = (low + high + 1) // 2
        if all(a[low:middle] == b[low:middle] for a, b in zip(left, right, strict=True)):
            low = middle
        else:
            high = middle - 1
    return low


def answer(line: bytes) -> dict[str, Any]:
    """The rendering, or {"error": one plain sentence without its subject}."""
    try:
        return render(**json.loads(line))
    except TemplateSyntaxError as error:
        return {"error": f"has a mistake in line {error.lineno}: {error.message}"}
    except UndefinedError:
        return {"error": "asks for a value that these messages do not have"}
    except SecurityError:
        return {"error": "asks for something that a template may not do"}
    except MemoryError:
        return {"error": f"makes more than {LONGEST_TEXT:,} characters or needs too much memory"}
    except (RecursionError, OverflowError):
        return {"error": "runs on without end"}
    except TemplateError as error:
        return {"error": f"refuses these messages: {str(error)[:300]}"}
    except ValueError as error:
        if "continue_final_message" in str(error):
            return {"error": "changes the last message, so that it cannot be continued"}
        return {"error": "does something that does not work with these messages"}
    except Exception:
        return {"error": "does something that does not work with these messages"}


def _limit_memory() -> None:
    """Where the system lets us; elsewhere the caller's deadline is what ends a greedy template."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    except (ImportError, OSError, ValueError):
        return


def main() -> None:
    _limit_memory()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    alarm = getattr(signal, "alarm", lambda seconds: None)  # Windows has none
    for line in sys.stdin.buffer:
        alarm(LONGEST_TIME)  # ends this process
        sys.stdout.write(json.dumps(answer(line)) + "\n")
        sys.stdout.flush()
        alarm(0)


if __name__ == "__main__":
    main()
