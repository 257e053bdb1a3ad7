"""The options of the command line, and the settings, messages and files that they name."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from playground.params import SamplingParams

_HELP = {
    "temperature": "logits are divided by it; 0 = always the likeliest (default 1)",
    "top_k": "keep the K likeliest; 0 = off (default)",
    "top_p": "keep the smallest set that holds this mass; 1 = off (default)",
    "min_p": "keep what has at least this share of the likeliest; 0 = off (default)",
    "typical_p": "keep this mass of the tokens nearest to the entropy; 1 = off (default)",
    "repetition_penalty": "on tokens of prompt and answer; 1 = off (default)",
    "presence_penalty": "subtracted once for a token in the answer; 0 = off (default)",
    "frequency_penalty": "subtracted for each time a token is in the answer; 0 = off (default)",
    "logit_bias": "added to the logit of a token; -inf bans it; may be repeated",
    "banned": "a token that may never be picked; may be repeated",
    "seed": "of the dice; drawn, and told, if not given",
    "max_tokens": "most new tokens (default 256)",
    "min_tokens": "no end before that many (default 0)",
    "stop": "text that ends the answer, taken literally; may be repeated",
    "ignore_eos": "end tokens do not end the answer",
}

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}


class Refused(Exception):
    """A bad argument, in one sentence."""

    code = 2


class Failed(Refused):
    """Something that was asked for rightly did not work, in one sentence."""

    code = 1


class QuietParser(argparse.ArgumentParser):
    """Parsing a bad option raises Refused instead of ending the program."""

    def error(self, message: str) -> NoReturn:
        raise Refused(f"{message}; see {self.prog} --help")


def parser() -> argparse.ArgumentParser:
    """The options. Parsing a bad one raises Refused."""
    made = QuietParser(
        prog="python -m playground",
        description="Let a language model answer in the terminal, each token coloured by its probability.",
        epilog="Exit codes: 0 the answer ended as it should; 1 the run, the loading or the saving failed; "
        "2 a bad argument; 130 stopped by Ctrl-C. What was made by then is printed and saved all the same. "
        "Control characters in the printed text are shown as signs; --json and --save have the exact text. "
        "Recorded runs as a static site: python -m playground site OUT [TRACE …]. Something measured: "
        "python -m playground lab NAME. To ask about one of these words alone: python -m playground -- site",
        allow_abbrev=False,
    )
    made.add_argument("prompt", nargs="?", help="the user's message; - reads it from standard input")
    group = made.add_argument_group("prompt")
    group.add_argument("--system", help="the system message")
    group.add_argument(
        "--messages", metavar="FILE", help="JSON list of messages; the prompt comes after them"
    )
    group.add_argument("--raw", action="store_true", help="go on from the text itself, without a template")
    group.add_argument("--continue-last", action="store_true", help="go on with the last message")
    group.add_argument("--thinking", action=argparse.BooleanOptionalAction, help="the template's switch")
    add_model_options(made.add_argument_group("model"))
    group = made.add_argument_group("how tokens are picked")
    for item in fields(SamplingParams):
        options = dict(_OPTIONS[str(item.type)], default=argparse.SUPPRESS, help=_HELP[item.name])
        group.add_argument("--" + item.name.replace("_", "-"), **options)
    group.add_argument("--stop-escapes", action="store_true", help=r"read \n, \t, \u00e9 … in --stop")
    group = made.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="JSON Lines: prompt, token…, end")
    group.add_argument(
        "--top-n", type=int, default=20, metavar="N", help="candidates listed per token (default 20)"
    )
    group.add_argument("--watch", type=int, action="append", default=[], metavar="ID", help="list it always")
    group.add_argument("--save", metavar="FILE", help="keep the whole run as a trace")
    group.add_argument("--show", metavar="FILE", help="print a saved trace; nothing is run")
    group.add_argument("--html", metavar="FILE", help="keep the run, also one of --show, as a page by itself")
    return made


def site_parser() -> argparse.ArgumentParser:
    """The options of `site`. Parsing a bad one raises Refused."""
    made = QuietParser(
        prog="python -m playground site",
        description="Write recorded runs as a static site, which opens from a folder and from any file host.",
        epilog="Exit codes: 0 the site is written; 1 it could not be written; 2 a bad argument, a trace that "
        "cannot be read, or a file in OUT that is not this program's. Other files in OUT stay as they are.",
        allow_abbrev=False,
    )
    made.add_argument("folder", metavar="OUT", help="the folder to write to; made if there is none")
    what = "saved traces, in the order of the list (default: the shipped one)"
    made.add_argument("traces", metavar="TRACE", nargs="*", help=what)
    return made


def add_model_options(group: argparse._ArgumentGroup) -> None:
    """Which model, where, and in what precision."""
    group.add_argument("--model", help='"org/name", a folder or a .gguf file (default: the bundled model)')
    group.add_argument("--device", type=_device, default="auto", help="auto, cpu, cuda, cuda:1 … or mps")
    group.add_argument("--dtype", choices=("auto", "float32", "bfloat16", "float16"), default="auto")


def _device(name: str) -> str:
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d{1,3})?", name):
        raise argparse.ArgumentTypeError(f"must be auto, cpu, cuda, cuda:N or mps, got {name!r:.80}")
    return name


def _bias(text: str) -> tuple[str, float]:
    token, _, value = text.partition("=")
    try:
        return token, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be ID=BIAS, such as 42=-5, got {text!r:.80}") from None


# How an option reads a field of SamplingParams, by the field's type.
_OPTIONS: dict[str, dict[str, Any]] = {
    "float": {"type": float, "metavar": "X"},
    "int": {"type": int, "metavar": "N"},
    "int | None": {"type": int, "metavar": "N"},
    "bool": {"action": "store_true"},
    "Mapping[int, float]": {"type": _bias, "action": "append", "metavar": "ID=BIAS"},
    "tuple[int, ...]": {"type": int, "action": "append", "metavar": "ID"},
    "tuple[str, ...]": {"action": "append", "metavar": "TEXT"},
}


def params_of(options: argparse.Namespace) -> SamplingParams:
    """The settings, with a seed. Raises Refused."""
    names = [item.name for item in fields(SamplingParams)]
    given = {name: getattr(options, name) for name in names if hasattr(options, name)}
    if "logit_bias" in given:
        given["logit_bias"] = dict(given["logit_bias"])
    if options.stop_escapes:
        given["stop"] = [_unescaped(text) for text in given.get("stop", [])]
    try:
        return SamplingParams(**given).seeded()
    except ValueError as error:
        raise Refused(str(error)) from None


def _unescaped(text: str) -> str:
    r"""`text` with the escape sequences \n \t \r \0 \\ \xNN \uNNNN read."""

    def read(found: re.Match[str]) -> str:
        name = found.group(1)
        if len(name) > 1:
            return chr(int(name[1:], 16))
        if name not in _ESCAPES:
            raise Refused(f"--stop {text!r} has the escape sequence {found.group()!r}, which is none")
        return _ESCAPES[name]

    return re.sub(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.?)", read, text, flags=re.DOTALL)


def messages_of(options: argparse.Namespace) -> Any:
    """The messages to render, or with --raw the text to go on from. Raises Refused."""
    text = options.prompt
    if text == "-":
        text = _read_input()
    if options.raw:
        if options.messages or options.system is not None or options.thinking is not None:
            raise Refused("--raw takes a text alone: leave --messages, --system and --thinking out")
        if text is None:
            raise Refused("--raw needs a text to go on from")
        return text
    if text is None and not options.messages:
        raise Refused('nothing to answer: give a prompt, as in python -m playground "Say hi"')
    messages = _read_messages(options.messages) if options.messages else []
    if options.system is not None:
        messages = [{"role": "system", "content": options.system}, *messages]
    return messages if text is None else [*messages, {"role": "user", "content": text}]


def _read_input() -> str:
    if sys.stdin is None:  # started with <&-
        raise Refused("the prompt - cannot be read: standard input is closed")
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    except OSError as error:
        raise Refused(f"the prompt - cannot be read from standard input: {error.strerror}") from None


def _read_messages(name: str) -> list[Any]:
    try:
        messages = json.loads(Path(name).read_text("utf-8-sig"))
    except OSError as error:
        raise Refused(f"--messages cannot read {name!r}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Refused(f"--messages cannot read {name!r}, which is not JSON: {error}") from None
    if not isinstance(messages, list):
        raise Refused(f'--messages needs a list like [{{"role": "user", "content": "Hi"}}] in {name!r}')
    return messages
