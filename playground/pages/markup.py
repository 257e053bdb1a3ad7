"""The one door through which text of a model, a person or a file enters HTML, and the frame of every page."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from datetime import datetime

from playground.trace import Trace
from playground.ui.assets import STYLES, script, styles

PRODUCT = "Token Playground"
GENERATOR = f'<meta name="generator" content="{PRODUCT}">'  # tells a file of ours from others
# What has a folder of its own belongs to another tab, and these to what stands around the board.
_STYLES = (*(name for name in STYLES if "/" not in name and name not in ("tabs", "header")), "alone")
_SWITCH = (
    '<button type="button" class="theme quiet" aria-label="switch between light and dark" '
    'title="light or dark">◐</button>'
)
_CONTROLS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def literal(text: str) -> str:
    """`text` for HTML, in elements and in attributes: letter for letter, in one line. Halves of UTF-16
    pairs, which no file can hold, come out as �."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return html.escape(_CONTROLS.sub(" ", whole).strip())


def words(text: str, most: int = 80) -> str:
    """The first words of a text, not escaped."""
    line = _CONTROLS.sub(" ", text[: 20 * most]).strip()
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def question(trace: Trace) -> str:
    """What was asked last: a chat's last message of a person, or the raw text."""
    prompt = trace.prompt
    spans = [part for part in prompt.segments if part.kind in ("user", "raw")]
    return prompt.text[spans[-1].start : spans[-1].end] if spans else prompt.text


def day(trace: Trace) -> str:
    """When the run was made: 30 November 2026."""
    try:
        made = datetime.fromisoformat(trace.created)
    except ValueError:
        return trace.created
    return f"{made.day} {made:%B %Y}"


def script_tag(code: str) -> str:
    assert "</script" not in code.lower(), "a script that would close itself"
    assert "<!--" not in code, "a script that would hide its own end"
    return f"<script>{code}</script>"


def policy(*scripts: str, files: bool = False) -> str:
    """A Content-Security-Policy: these scripts, by their hashes, and nothing from any network.

    `files`: also scripts that lie beside the page, on a host or in a folder.
    """
    hashes = [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in scripts]
    sources = [f"'sha256-{each}'" for each in hashes] + ["'self'", "file:"] * files
    return (
        f"default-src 'none'; script-src {' '.join(sources)}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def theme_script() -> str:
    return script("theme")


def page(title: str, scripts: str, header: str, body: str) -> str:
    """A whole file. `scripts`: its policy; `header` and `body` are HTML, `title` is text."""
    return f"""<!doctype html>
<html lang="en" data-page="alone">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{scripts}">
<meta name="viewport" content="width=device-width, initial-scale=1">
{GENERATOR}
<title>{literal(title)}</title>
<link rel="icon" href="data:,">
<style>
{styles(*_STYLES)}
</style>
</head>
<body>
{script_tag(theme_script())}
<header class="top">
<span class="logo" aria-hidden="true"><i></i><i></i><i></i></span>
<h1>{PRODUCT}</h1>
{header}
<span class="gap"></span>
{_SWITCH}
</header>
{body}
</body>
</html>
"""
