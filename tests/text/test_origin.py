from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.text.origin import TEMPLATE, UNKNOWN, Traced, joined, origins_of, written_by
from playground.text.tracing import compiled, literals

TEXT = st.text("ab <|>\n%é ", max_size=8)


def mirror(text: str) -> Traced:
    """Each character is its own origin, so that whatever is cut out of it must still mirror itself."""
    return Traced(text, text)


OPERATIONS: list[Callable[[str, str, int], Any]] = [
    lambda text, other, n: text + other,
    lambda text, other, n: text * (n % 4),
    lambda text, other, n: text[n:],
    lambda text, other, n: text[::-1],
    lambda text, other, n: text[n : n + 3 : 2],
    lambda text, other, n: list(text),
    lambda text, other, n: list(reversed(text)),
    lambda text, other, n: text.strip(),
    lambda text, other, n: text.lstrip("ab"),
    lambda text, other, n: text.rstrip(other),
    lambda text, other, n: text.removeprefix(other),
    lambda text, other, n: text.removesuffix(other),
    lambda text, other, n: text.split(),
    lambda text, other, n: text.split(None, n % 3),
    lambda text, other, n: text.rsplit(None, n % 3),
    lambda text, other, n: text.split(other or "x", n),
    lambda text, other, n: text.rsplit(other or "x", n),
    lambda text, other, n: text.splitlines(),
    lambda text, other, n: text.splitlines(True),
    lambda text, other, n: text.partition(other or "x"),
    lambda text, other, n: text.rpartition(other or "x"),
    lambda text, other, n: text.join([other, other, text]),
    lambda text, other, n: text.replace(other or "x", text),
    lambda text, other, n: text.replace(other or "x", other, n),
    lambda text, other, n: text.replace("a", other).replace("%", "a") + other,
    lambda text, other, n: str(text),
]


@pytest.mark.parametrize("operation", OPERATIONS)
@given(text=TEXT, other=TEXT, n=st.integers(-3, 9))
def test_what_is_cut_out_keeps_its_origin(operation: Any, text: str, other: str, n: int) -> None:
    plain = operation(text, other, n)
    traced = operation(mirror(text), mirror(other), n)
    assert traced == plain
    for part in [traced] if isinstance(traced, str) else traced:
        marks = origins_of(part)
        assert len(marks) == len(part)
        # A literal of the operation itself has no known origin.
        assert all(
            mark in (character, UNKNOWN) for mark, character in zip(marks, str.__iter__(part), strict=True)
        )
        if isinstance(traced, list | tuple):
            assert marks == str.__str__(part)


def test_case_maps_keep_origins_while_the_length_stays() -> None:
    for change in (str.lower, str.upper, str.swapcase, str.casefold, str.capitalize):
        name = change.__name__
        assert origins_of(getattr(mirror("aB<|"), name)()) == "aB<|"
    assert origins_of(mirror("straße").upper()) == UNKNOWN * 7
    assert origins_of(mirror("aİ").lower()) == UNKNOWN * 3


def test_formats() -> None:
    made = mirror("%s<%%>%s") % (mirror("ab"), 5)
    assert (made, origins_of(made)) == ("ab<%>5", "ab<%>" + UNKNOWN)
    made = mirror("[%(x)s]") % {"x": mirror("c")}
    assert (made, origins_of(made)) == ("[c]", "[c]")
    assert origins_of(mirror("%5s") % mirror("a")) == UNKNOWN * 5
    with pytest.raises(TypeError):
        mirror("%s %s") % ("a",)


def test_plain_text_is_of_unknown_origin() -> None:
    made = "x" + mirror("ab") + "y"
    assert origins_of(made) == UNKNOWN + "ab" + UNKNOWN
    assert origins_of(mirror("a").replace("", "-")) == UNKNOWN * 3
    assert origins_of(joined([])) == ""


def render(template: str, **variables: Any) -> tuple[str, str]:
    made = compiled(template).render(**variables)
    return str.__str__(made), origins_of(made).replace(TEMPLATE, "t").replace(UNKNOWN, "?")


@pytest.mark.parametrize(
    ("template", "text", "origins"),
    [
        ("a{{ c }}b", "ac|db", "tc|dt"),
        ("{{ '<' ~ c ~ '>' ~ 5 }}", "<c|d>5", "tc|dt?"),
        ("{{ c | upper }}{{ c | trim | reverse }}", "C|Dd|c", "c|dd|c"),
        ("{{ c | replace('|', '!') }}", "c!d", "ctd"),
        ("{{ [c, 'x'] | join('-') }}", "c|d-x", "c|dtt"),
        ("{{ [{'k': c}] | join('-', attribute='k') }}", "c|d", "c|d"),
        ("{{ {'k': c} | tojson }}", '{"k": "c|d"}', "tttttttc|dtt"),
        ("{{ (c ~ '\\n' ~ c) | indent(2, first=true) }}", "  c|d\n  c|d", "ttc|dtttc|d"),
        ("{% set x %}[{{ c }}]{% endset %}{{ x }}", "[c|d]", "tc|dt"),
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(c) }}", "<c|d>", "tc|dt"),
        ("{% filter upper %}a{{ c }}{% endfilter %}", "AC|D", "tc|d"),
        ("{% set ns = namespace(x='') %}{% set ns.x = ns.x + c %}{{ ns.x }}", "c|d", "c|d"),
        ("{% for x in c %}{{ x }}{{ loop.index }}{% endfor %}", "c1|2d3", "c?|?d?"),
        ("{{ '%s!' % c }}{{ '{}'.format(c) }}", "c|d!c|d", "c|dt???"),
        ("{{ {'a': '<|'}['a'] }}{{ ['x'][0] }}{{ ('y', 'z') | last }}", "<|xz", "tttt"),
        ("{{ c | title }}", "C|d", "???"),
        ("{{ strftime_now('%%') }}", "%", "t"),
        ("{{ c if false else 'n' }}", "n", "t"),
    ],
)
def test_origins_through_a_template(template: str, text: str, origins: str) -> None:
    assert render(template, c=mirror("c|d")) == (text, origins)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.none() | st.integers(0, 3), st.booleans(), st.booleans())
def test_json_in_a_template_is_the_librarys(
    value: Any, indent: int | None, ascii_only: bool, sort: bool
) -> None:
    template = "{{ v | tojson(indent=i, ensure_ascii=a, sort_keys=s) }}"
    made = compiled(template).render(v=value, i=indent, a=ascii_only, s=sort)
    assert made == json.dumps(value, indent=indent, ensure_ascii=ascii_only, sort_keys=sort)
    if isinstance(value, str | list | dict):
        # Brackets and quotes are the template's: the structure was followed and not given up.
        assert origins_of(made)[0] == origins_of(made)[-1] == TEMPLATE


def test_escapes_in_json_have_the_origin_of_what_they_stand_for() -> None:
    assert render("{{ c | tojson }}", c=mirror('a"\n')) == ('"a\\"\\n"', "t" + 'a""\n\n' + "t")


def test_literals_are_all_the_text_that_a_template_holds() -> None:
    found = literals("a{{ '</think>' + x['k'] }}{% if y == 'z' %}b{% endif %}").split("\0")
    assert sorted(found) == ["</think>", "a", "b", "k", "z"]


def test_one_origin_for_a_whole_string() -> None:
    assert origins_of(written_by("x", "ab")) == "xx"
