"""Recorded runs as a static site: a list, a page for each run, and the charts' library once. Every address in
it is relative, so that it opens from a folder and from any file host, under any path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from playground.files import replace
from playground.pages.markup import (
    GENERATOR,
    PRODUCT,
    day,
    literal,
    page,
    policy,
    question,
    theme_script,
    words,
)  # fmt: skip
from playground.pages.standalone import standalone_page
from playground.trace import Trace
from playground.ui.plots import LIBRARY
from playground.ui.recorded import recorded_trace

INDEX, RUNS, CHARTS = "index.html", "runs", "plotly.min.js"
_OURS = 4096  # so many bytes from its start tell whether a file is ours


class Foreign(ValueError):
    """A file that is not ours stands where one of ours should go; the message is one sentence."""


def write_site(folder: Path, runs: Sequence[tuple[str, Trace]]) -> None:
    """Write the site of `runs`, pairs of a name and a trace, into `folder`, made if there is none.

    Without any run it shows the shipped one.

    Files of ours from an earlier call are replaced, each at once and whole; no other file is touched. Raises
    Foreign before anything is written, and OSError.
    """
    runs = runs or [("recorded run", recorded_trace())]
    names = page_names(name for name, _ in runs)
    files = {f"{RUNS}/{CHARTS}": LIBRARY.read_bytes()}
    for name, (_, trace) in zip(names, runs, strict=True):
        text = standalone_page(trace, plotly=CHARTS, home=f"../{INDEX}")
        files[f"{RUNS}/{name}"] = text.encode()
    addresses = [f"{RUNS}/{name}" for name in names]
    files[INDEX] = index_page(list(zip(addresses, (trace for _, trace in runs), strict=True))).encode()
    for address in files:
        _check_ours(folder / address)
    (folder / RUNS).mkdir(parents=True, exist_ok=True)
    for address, data in files.items():
        replace(folder / address, data)


def page_names(names: Iterable[str]) -> list[str]:
    """A file name for each of `names`, of letters that no system and no address minds, each once."""
    made: list[str] = []
    for name in names:
        base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "run"
        number, file = 1, f"{base}.html"
        while file in made:
            number += 1
            file = f"{base}-{number}.html"
        made.append(file)
    return made


def index_page(runs: Sequence[tuple[str, Trace]]) -> str:
    """The list: `runs` are pairs of a relative address and the trace of the page there."""
    begin = "One recorded run. Open it" if len(runs) == 1 else f"{len(runs)} recorded runs. Open one"
    cards = "\n".join(_card(address, trace) for address, trace in runs)
    body = f"""<main class="alone">
<div class="asked"><h2>How a language model chose its words</h2></div>
<p class="lead">{begin} to see every token: what else it could have been, what each setting cut, and where \
the dice fell.</p>
<ul class="runs">
{cards}
</ul>
</main>"""
    return page(PRODUCT, policy(theme_script()), '<span class="badge">recorded, read-only</span>', body)


def _card(address: str, trace: Trace) -> str:
    number = len(trace.steps)
    tokens = f"{number:,} token{'' if number == 1 else 's'}"
    model, made = literal(trace.model.name), literal(day(trace))
    return f"""<li><a class="card" href="{literal(address)}">
<b><bdi>{literal(words(question(trace), 110)) or "An empty prompt"}</bdi></b>
<p><bdi>{literal(words(trace.text, 180)) or "An empty answer"}</bdi></p>
<small><span><bdi>{model}</bdi></span><span>{tokens} · {made}</span></small>
</a></li>"""


def _check_ours(path: Path) -> None:
    if not path.exists():
        return
    start = b""
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(_OURS)
    ours = start.startswith(b"/**\n* plotly.js") if path.name == CHARTS else GENERATOR.encode() in start
    if not ours:
        raise Foreign(f"{path} is not a file of this program's: choose another folder, or move it away")
