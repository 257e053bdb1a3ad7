"""Pages of recorded runs: what stands in a file, whatever the trace holds, and what is needed to make it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.pages.markup import day, literal, question, words
from playground.pages.site import Foreign, index_page, page_names, write_site
from playground.pages.standalone import operations, settings_in_words, standalone_page
from playground.params import SamplingParams
from playground.trace import Trace
from playground.ui.plots import LIBRARY
from playground.ui.recorded import recorded_trace
from tests.hostile import HOSTILE, hostile_trace

ROOT = Path(__file__).parents[1]


class Read(HTMLParser):
    """A page as a browser reads it: its scripts by id, its title, its links, attributes that are code."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tags: list[str] = []
        self.title, self.policy = "", ""
        self.links: list[str] = []
        self.code: list[str] = []
        self._in: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append(tag)
        self._in.append(tag)
        self.code += [f"{tag} {name}" for name in named if name.startswith("on")]
        if tag == "script":
            self.scripts.append((named, ""))
        if tag == "a":
            self.links.append(named["href"] or "")
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""

    def handle_data(self, data: str) -> None:
        if self._in[-1:] == ["script"]:
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._in[-1:] == ["title"]:
            self.title += data

    def handle_endtag(self, tag: str) -> None:
        while self._in and self._in.pop() != tag:
            pass

    def by_id(self, name: str) -> str:
        return next(text for named, text in self.scripts if named.get("id") == name)


def run_of(page: str) -> Any:
    return json.loads(Read(page).by_id("run"))["ops"]


def small(text: str) -> Trace:
    """The shipped run, three steps of it, with `text` in every place that holds some."""
    trace = recorded_trace()
    steps = tuple(
        replace(
            step,
            text=text,
            candidates=tuple(replace(item, text=text) for item in step.candidates),
            stages=tuple(replace(stage, setting=text) for stage in step.stages),
        )
        for step in trace.steps[:3]
    )
    prompt = replace(trace.prompt, text=text, segments=(), notes=(text,), tokens=trace.prompt.tokens[:0])
    model = replace(trace.model, name=text, device=text, dtype=text)
    finished = replace(trace.finished, text=text, message=text, detail=text)
    return replace(trace, steps=steps, prompt=prompt, model=model, finished=finished, created=text)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=12)).map(
        "".join
    )
)
def test_b40_any_trace_comes_out_of_its_page_as_it_went_in(text: str) -> None:
    trace = small(text)
    page = standalone_page(trace, plotly="plotly.min.js").encode().decode()  # as a file holds it
    read, plain = Read(page), Read(standalone_page(small("x"), plotly="plotly.min.js"))
    assert json.loads(read.by_id("run"))["ops"] == json.loads(json.dumps(operations(trace)))
    assert gzip.decompress(base64.b64decode(read.by_id("trace"))).decode() == trace.to_json()
    assert read.tags == plain.tags  # no text became an element
    assert read.code == []


@pytest.mark.parametrize("text", HOSTILE)
def test_b38_text_in_html_is_literal(text: str) -> None:
    parser = HTMLParser(convert_charrefs=True)
    shown: list[str] = []
    parser.handle_data = shown.append  # type: ignore[method-assign]
    parser.feed(f"<p>{literal(text)}</p>")
    parser.close()
    wanted = re.sub(r"\s+", " ", text.replace("\ud800", "�")).strip()
    assert "".join(shown) == wanted
    assert not set("<>\"'") & set(literal(text))


def test_the_policy_names_exactly_the_scripts_and_no_network() -> None:
    read = Read(standalone_page(recorded_trace()))
    code = [text for named, text in read.scripts if "type" not in named]
    plotly = gzip.decompress(base64.b64decode(read.by_id("plotly"))).decode()
    assert plotly == LIBRARY.read_text("utf-8")
    hashes = {"'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
              for text in (*code, plotly)}  # fmt: skip
    rules = dict(rule.split(" ", 1) for rule in read.policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert set(rules["script-src"].split()) == hashes
    assert rules["img-src"] == "data:"
    assert "connect-src" not in rules
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", standalone_page(recorded_trace()))
    assert run_of(standalone_page(recorded_trace())) == json.loads(json.dumps(operations(recorded_trace())))


def test_what_stands_above_the_run() -> None:
    trace = recorded_trace()
    assert (question(trace), day(trace)) == ("What is the capital of France?", "30 November 2026")
    assert day(replace(trace, created="soon")) == "soon"
    assert words("a\n\tb  c") == "a b c"
    assert words("x" * 200) == "x" * 79 + "…"
    params = SamplingParams(
        top_k=5, presence_penalty=0.5, logit_bias={1: 2.0}, banned=(3, 4), max_tokens=1000
    )
    told = settings_in_words(params)
    assert told == [
        "temperature 1", "top-k 5", "presence penalty 0.5", "1 bias", "2 bans", "at most 1,000 tokens",
    ]  # fmt: skip


def test_a_seed_that_javascript_cannot_hold_goes_as_text() -> None:
    trace = replace(recorded_trace(), params=SamplingParams(seed=2**63))
    assert operations(trace)[0]["params"]["seed"] == str(2**63)


def test_only_the_shipped_model_is_known_to_read_so_many_bytes() -> None:
    trace = recorded_trace()
    other = replace(trace, model=replace(trace.model, sha256="0" * 64))
    assert operations(trace)[0]["weights"] > 0
    assert operations(other)[0]["weights"] is None


def test_page_names_are_plain_and_each_once() -> None:
    names = page_names(["A run", "a-run", "../../etc", "con.trace", "日本", "", "x" * 300])
    assert names == [
        "a-run.html", "a-run-2.html", "etc.html", "con-trace.html", "run.html", "run-2.html",
        "x" * 60 + ".html",
    ]  # fmt: skip


def test_a_site_replaces_its_own_files_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "other.html").write_text("<p>mine too</p>")
    write_site(tmp_path, [("one", recorded_trace())])
    write_site(tmp_path, [("two", hostile_trace()), ("one", recorded_trace())])
    kept = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert kept == {
        "index.html", "notes.txt", "runs/one.html", "runs/two.html", "runs/other.html", "runs/plotly.min.js",
    }  # fmt: skip
    assert (tmp_path / "runs" / "other.html").read_text() == "<p>mine too</p>"
    read = Read((tmp_path / "index.html").read_text("utf-8"))
    assert read.links == ["runs/two.html", "runs/one.html"]
    assert Read((tmp_path / "runs" / "one.html").read_text("utf-8")).links == ["../index.html"]


@pytest.mark.parametrize("name", ["index.html", "runs/one.html", "runs/plotly.min.js"])
def test_a_site_leaves_a_foreign_file_alone_and_writes_nothing(tmp_path: Path, name: str) -> None:
    foreign = tmp_path / name
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("<p>mine</p>")
    with pytest.raises(Foreign, match="is not a file of this program's"):
        write_site(tmp_path, [("one", recorded_trace())])
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [foreign.name]
    assert foreign.read_text() == "<p>mine</p>"


def test_cards_of_empty_and_hostile_runs() -> None:
    trace = recorded_trace()
    empty = replace(
        trace, steps=(), finished=replace(trace.finished, text=""), prompt=replace(trace.prompt, text="")
    )
    page = index_page([("runs/a.html", empty), ("runs/b.html", hostile_trace())])
    assert "An empty answer" in page
    assert "0 tokens" in page
    assert Read(page).tags.count("script") == 1
    assert Read(page).code == []


def test_pages_are_made_without_gradio_and_without_a_model_library() -> None:
    heavy = ("torch", "transformers", "gradio", "tokenizers")
    code = (
        "import sys; sys.modules.update(dict.fromkeys(" + repr(heavy) + "))\n"
        "import playground.pages.site, playground.pages.standalone, playground.ui.assets\n"
        "from playground.ui.recorded import recorded_trace\n"
        "print(len(playground.pages.standalone.standalone_page(recorded_trace())) > 100000)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
