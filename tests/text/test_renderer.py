"""Templates of strangers: bounded in time and memory, and without a trace of internals."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from playground.text.renderer import Renderer, RenderError

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    made = Renderer(deadline=20)  # on a busy machine even an honest template may take its time
    yield made
    made.close()


def text_of(renderer: Renderer, template: str) -> str:
    messages = [{"role": "user", "content": "Hi"}]
    text: str = renderer.render(template=template, messages=messages, variables={}, go_on=False)["text"]
    return text


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{{ 'a' * 10**10 }}", "too much memory"),
        ("{% if false %}{{ 'a' * 10**10 }}{% endif %}{{ 'b' * 2000001 }}", "more than 2,000,000 characters"),
        ("{{ '%9999999999d' % 1 }}", "too much memory"),
        ("{{ 'a' | center(10**11) }}", "too much memory"),
        ("{% set ns = namespace(x=['a']) %}{% for i in range(60) %}{% set ns.x = ns.x * 2 %}{% endfor %}",
         "too much memory"),
        ("{% for i in range(10**9) %}a{% endfor %}", "runs on without end"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "runs on without end"),
        ("{{ messages.__class__.__mro__ }}", "may not do"),
        ("{{ ''.__class__.__subclasses__() }}", "may not do"),
        ("{{ x.y.z }}", "asks for a value that these messages do not have"),
        ("{{ 1 + 'a' }}", "does not work with these messages"),
        ("{% include 'x' %}", "does not work with these messages"),
        ("a\n{% if %}", "has a mistake in line 2"),
        ("{{ 'a' | nosuch }}", "has a mistake in line 1"),
        ("{{ raise_exception('No <b>system</b>') }}", "refuses these messages: No <b>system</b>"),
        ("{{ raise_exception('a' * 5000) }}", "refuses these messages: a{300}$"),
    ],
)  # fmt: skip
def test_a_template_that_fails(renderer: Renderer, template: str, sentence: str) -> None:
    with pytest.raises(RenderError, match=sentence) as caught:
        text_of(renderer, template)
    assert "Traceback" not in str(caught.value)
    assert "jinja" not in str(caught.value).lower()
    assert text_of(renderer, "{{ messages[0].content }}") == "Hi"


def test_an_endless_template_is_ended_and_the_next_one_runs() -> None:
    renderer = Renderer(deadline=0.5)
    with pytest.raises(RenderError, match=r"takes longer than 0\.5 seconds"):
        text_of(renderer, ENDLESS)
    renderer.deadline = 60
    assert text_of(renderer, "{{ messages[0].content }}") == "Hi"
    renderer.close()
    renderer.close()


def test_threads_take_turns(renderer: Renderer) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda number: text_of(renderer, f"{{{{ {number} + 1 }}}}"), range(40)))
    assert made == [str(number + 1) for number in range(40)]


def test_a_worker_that_vanished_is_replaced(renderer: Renderer) -> None:
    assert text_of(renderer, "a") == "a"
    process = renderer._process
    assert process is not None
    process.kill()
    process.wait()
    assert text_of(renderer, "a") == "a"


def test_the_worker_is_light() -> None:
    """It starts in less than a second as long as it does not import torch."""
    code = "import playground.text.render_worker, sys; print('torch' in sys.modules)"
    root = Path(__file__).parents[2]
    made = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "False"
