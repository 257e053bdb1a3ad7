"""Jinja as transformers sets it up for chat templates, made to keep track of origins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from jinja2 import Environment, Template, nodes, pass_environment
from jinja2.compiler import CodeGenerator, Frame
from jinja2.filters import make_attrgetter
from transformers.utils import chat_template_utils

from playground.text.origin import TEMPLATE, Traced, joined, origins_of, written_by


@lru_cache(maxsize=4096)
def literal(text: str) -> Traced:
    """Text that the template itself holds."""
    return written_by(TEMPLATE, text)


class _TracingGenerator(CodeGenerator):
    """Compiles string literals to traced strings, and `~` to a concatenation that keeps origins."""

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:
        value = node.as_const(frame.eval_ctx)
        if isinstance(value, str):
            self.write(f"environment.literal({str.__repr__(value)})")
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super().visit_TemplateData(node, frame)
        else:
            self.write(f"environment.literal({node.data!r})")

    def _output_const_repr(self, group: Any) -> str:
        return f"environment.literal({''.join(group)!r})"

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super().visit_Concat(node, frame)
            return
        self.write("concat(map(str, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write(")))")


@pass_environment
def _join(environment: Environment, value: Any, d: str = "", attribute: str | int | None = None) -> Traced:
    if attribute is not None:
        value = map(make_attrgetter(environment, attribute), value)
    separator = str(d)
    return Traced(separator, origins_of(separator)).join(map(str, value))


def _indent(s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> Traced:
    """Jinja's `indent`: each line but the first moved right, empty lines only with `blank`."""
    step = width if isinstance(width, str) else literal(" " * width)
    newline = literal("\n")
    head, *lines = (Traced(s, origins_of(s)) + newline).splitlines()
    moved = [step + line if line or blank else line for line in lines]
    return joined([step if first else "", newline.join([head, *moved])])


def _json_string(text: str, ensure_ascii: bool) -> Traced:
    plain = json.dumps(text, ensure_ascii=ensure_ascii)[1:-1]
    if len(plain) == len(text):
        return Traced(plain, origins_of(text))
    escaped = ((json.dumps(char, ensure_ascii=ensure_ascii)[1:-1], mark) for char, mark in _pairs(text))
    return joined(written_by(mark, part) for part, mark in escaped)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    return zip(str.__iter__(text), origins_of(text), strict=True)


def _json_parts(value: Any, options: dict[str, Any], newline: str) -> Iterator[str]:
    """The pieces of `json.dumps(value)`; `newline` is the line break with the indentation at this depth."""
    if isinstance(value, str):
        yield from (literal('"'), _json_string(value, options["ensure_ascii"]), literal('"'))
        return
    if not isinstance(value, dict | list | tuple):
        yield json.dumps(value)
        return
    if not value:
        yield literal(json.dumps(value))
        return
    indent = options["indent"]
    step = "" if indent is None else indent if isinstance(indent, str) else " " * indent
    item_sep, key_sep = options["separators"] or ((", ", ": ") if indent is None else (",", ": "))
    inner = "" if indent is None else newline + step
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    yield literal(opening)
    entries: Any = value
    if isinstance(value, dict):
        entries = sorted(value.items()) if options["sort_keys"] else value.items()
    for number, entry in enumerate(entries):
        yield literal((item_sep if number else "") + inner)
        if isinstance(value, dict):
            key, entry = entry
            yield from _json_parts(key, options, inner)
            yield literal(key_sep)
        yield from _json_parts(entry, options, inner)
    yield literal(("" if indent is None else newline) + closing)


def _tojson(
    x: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> Traced:
    options: dict[str, Any] = {
        "ensure_ascii": ensure_ascii,
        "indent": indent,
        "separators": separators,
        "sort_keys": sort_keys,
    }
    plain = json.dumps(x, **options)
    made = joined(_json_parts(x, options, "\n"))
    return made if made == plain else Traced(plain)


def _environment() -> Environment:
    """An overlay of the very environment that transformers compiles templates in: its sandbox, its names."""
    base = chat_template_utils._compile_jinja_template("").environment
    made: Any = base.overlay()
    made.code_generator_class = _TracingGenerator
    made.optimized = False  # folded constants would come out as plain strings
    made.concat = joined
    made.literal = literal
    made.filters = {**base.filters, "join": _join, "indent": _indent, "tojson": _tojson}
    now = base.globals["strftime_now"]

    def strftime_now(form: str) -> str:
        text = now(form)
        return literal(text) if set(origins_of(form)) <= {TEMPLATE} else text

    made.globals = {**base.globals, "strftime_now": strftime_now}
    return made


@lru_cache(maxsize=1)
def environment() -> Environment:
    return _environment()


@lru_cache(maxsize=8)
def compiled(template: str) -> Template:
    """The template, ready to render with traced strings. Raises jinja2.TemplateSyntaxError."""
    return environment().from_string(template)


@lru_cache(maxsize=8)
def literals(template: str) -> str:
    """All text that the template holds itself, piece by piece."""
    tree = environment().parse(template)
    strings = [node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)]
    return "\0".join([*strings, *(node.data for node in tree.find_all(nodes.TemplateData))])
