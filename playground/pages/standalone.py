"""A whole run as one HTML file: strip, popovers and inspector, opened from a disk, a mail or any file host.

It is the board of the live page, its operations (ui/recorded.py) in the file itself. Nothing is fetched and
nothing can go on: what-if, dice and find are worked out over the listed tokens (strip/offline.js).
"""

from __future__ import annotations

import base64
import gzip
from functools import cache

from playground.pages.markup import (
    PRODUCT,
    day,
    literal,
    page,
    policy,
    question,
    script_tag,
    theme_script,
    words,
)  # fmt: skip
from playground.params import SamplingParams
from playground.trace import Trace
from playground.ui.assets import PURE, VIEWS, library, template
from playground.ui.plots import LIBRARY, looks
from playground.ui.recorded import WEIGHTS, recorded_trace, replay
from playground.ui.records import Op, compact, settings

_SCRIPTS = (*(name for name in PURE + VIEWS if "/" not in name and name != "header"), "offline", "alone")
_SAVED = "run.trace.json"
_EMPTY = "An empty prompt"
_NO_SCRIPT = "This page shows its run by JavaScript of its own, which is switched off here."
_START = "\nwindow.tokenPlaygroundParts.startAlone();"
_NAMES = {
    "top_k": ("top-k", 0),
    "top_p": ("top-p", 1),
    "min_p": ("min-p", 0),
    "typical_p": ("typical-p", 1),
    "repetition_penalty": ("repetition penalty", 1),
    "presence_penalty": ("presence penalty", 0),
    "frequency_penalty": ("frequency penalty", 0),
}


def standalone_page(trace: Trace, *, plotly: str | None = None, home: str | None = None) -> str:
    """The run as one HTML file, text in UTF-8.

    `plotly`: the relative address of the charts' library; without it the file holds a copy, 2 MB of text.
    `home`: the relative address of a page that lists more runs.
    """
    plots = {"packed": "plotly"} if plotly is None else {"beside": plotly}
    code = library({**plots, **looks()}, _SCRIPTS, ("startAlone",)) + _START
    scripts = [code, theme_script(), *([LIBRARY.read_text("utf-8")] if plotly is None else [])]
    held = _data("trace", _packed(trace.to_json().encode()))
    if plotly is None:
        held += _data("plotly", _packed_plotly())
    asked = words(question(trace)) or _EMPTY
    body = f"""<main class="alone">
{_heading(trace)}
<noscript><p class="card">{_NO_SCRIPT}</p></noscript>
<div id="board">
{template("board")}
</div>
</main>
<script type="application/json" id="run">{message(trace)}</script>
{held}{script_tag(code)}"""
    back = "" if home is None else f'<a class="quiet" href="{literal(home)}">All runs</a>'
    model = trace.model
    chip = (
        f'<span class="chip" title="{literal(model.name)}"><b><bdi>{literal(model.name)}</bdi></b>'
        f'<span class="details"> · {literal(model.device)} · {literal(model.dtype)}</span></span>'
    )
    header = f'{chip}<span class="badge">recorded, read-only</span>{back}'
    return page(f"{asked} · {PRODUCT}", policy(*scripts, files=plotly is not None), header, body)


def message(trace: Trace) -> str:
    """The run as the board's first message: JSON that nothing in a trace can leave."""
    return compact({"run": 1, "n": 1, "ops": operations(trace)}).replace("<", "\\u003c")


def operations(trace: Trace) -> list[Op]:
    reset, *rest = replay(trace)
    same = trace.model.sha256 == recorded_trace().model.sha256
    return [{**reset, "params": settings(trace.params), "weights": WEIGHTS if same else None}, *rest]


def _heading(trace: Trace) -> str:
    asked = literal(words(question(trace), 160) or _EMPTY)
    facts = [*settings_in_words(trace.params), day(trace)]
    items = "".join(f"<li>{literal(fact)}</li>" for fact in facts)
    return f"""<div class="asked">
<div>
<h2><bdi>{asked}</bdi></h2>
<ul class="settings" aria-label="settings of this run">{items}</ul>
</div>
<button type="button" class="save quiet" data-name="{_SAVED}">Save the trace</button>
</div>"""


def settings_in_words(params: SamplingParams) -> list[str]:
    """The settings that were on, each in a few words."""
    told = [f"temperature {params.temperature:g}"]
    for name, (shown, off) in _NAMES.items():
        if getattr(params, name) != off:
            told.append(f"{shown} {getattr(params, name):g}")
    for number, one in ((len(params.logit_bias), "bias"), (len(params.banned), "ban")):
        if number:
            plural = "" if number == 1 else "es" if one == "bias" else "s"
            told.append(f"{number} {one}{plural}")
    if params.seed is not None:
        told.append(f"seed {params.seed}")
    told.append(f"at most {params.max_tokens:,} tokens")
    return told


def _data(name: str, packed: str) -> str:
    return f'<script type="text/plain" id="{name}">{packed}</script>\n'


def _packed(data: bytes) -> str:
    """gzip in base64: two thirds of a trace's size less, and nothing that could be read as HTML."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


@cache
def _packed_plotly() -> str:
    return _packed(LIBRARY.read_bytes())
