"""What the page's own JavaScript and CSS are made of: small files under strip/, joined. Needs no Gradio, so
that a page without a server is made of the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STRIP = Path(__file__).parent / "strip"
PURE = (
    "numbers",
    "text",
    "records",
    "color",
    "decision",
    "arithmetic",
    "thought",
    "watchdata",
    "passes",
    "plotdata",
    "paragraphs",
    "meters",
    "rewrite",
    "compare/settings",
    "compare/align",
    "compare/columns",
    "compare/branching",
    "share/setup",
    "share/links",
    "share/fields",
    "share/layout",
    "inside/looking",
    "prompt/layout",
    "guide/progress",
    "guide/sums",
    "labs/command",
)  # need no page
VIEWS = (
    "dom",
    "lent",
    "notice",
    "silence",
    "receive",
    "chips",
    "marks",
    "popover",
    "ask",
    "rivals",
    "softmax",
    "funnel",
    "dice",
    "whatif",
    "find",
    "inspector",
    "lane",
    "turns",
    "watch",
    "think",
    "ribbon",
    "timeline",
    "looptable",
    "timing",
    "branches",
    "tree",
    "edit",
    "hand",
    "board",
    "header",
    "compare/figure",
    "compare/editor",
    "compare/card",
    "compare/lanes",
    "compare/form",
    "compare/numbers",
    "compare/parting",
    "compare/overview",
    "compare/files",
    "compare/standing",
    "compare/results",
    "compare/drawer",
    "compare/board",
    "share/owner",
    "share/form",
    "share/picture",
    "share/figures",
    "share/shown",
    "share/last",
    "share/panel",
    "share/share",
    "inside/slot",
    "inside/strip",
    "inside/picker",
    "inside/embeddings",
    "inside/positions",
    "inside/attention",
    "inside/lens",
    "inside/influence",
    "inside/cache",
    "inside/board",
    "prompt/messages",
    "prompt/rendered",
    "prompt/facts",
    "prompt/both",
    "prompt/tokenizer",
    "prompt/board",
    "guide/question",
    "guide/odds",
    "guide/dock",
    "guide/pages/story",
    "guide/pages/template",
    "guide/pages/tokens",
    "guide/pages/embeddings",
    "guide/pages/attention",
    "guide/pages/cache",
    "guide/pages/forgetting",
    "guide/pages/logits",
    "guide/pages/temperature",
    "guide/pages/passes",
    "guide/pages/stopping",
    "guide/pages/loop",
    "guide/pages/cost",
    "guide/pages/agents",
    "guide/pages",
    "guide/board",
    "labs/form",
    "labs/blocks",
    "labs/lab",
    "labs/board",
)
STARTERS = (
    "startBoard", "startCompareBoard", "startPromptBoard", "startInsideBoard", "startLabs", "startGuideBoard",
    "startHeader", "startShare", "owner", "press",
)  # fmt: skip
STYLES = (
    "theme", "page", "tabs", "header", "board", "time", "talk", "hand", "look",
    "compare/compare", "compare/results", "share/share", "inside/inside",
    "prompt/prompt", "guide/guide", "labs/labs",
)  # fmt: skip


def script(*names: str) -> str:
    return "\n".join((STRIP / f"{name}.js").read_text(encoding="utf-8") for name in names)


def library(
    plots: Mapping[str, Any], names: tuple[str, ...] = PURE + VIEWS, starters: tuple[str, ...] = STARTERS
) -> str:
    """The JavaScript files `names`, whose functions see each other; all others see `starters` alone, most of
    which start a component.

    `plots`: where the charts' library is and how the figures look (plots.py).
    """
    parts = (f"const PLOTS = {json.dumps(plots)};", script(*names), f"return {{ {', '.join(starters)} }};")
    return "window.tokenPlaygroundParts = (() => {\n" + "\n".join(parts) + "\n})();"


def styles(*names: str) -> str:
    """The CSS files `names`; without any, all that the live page has."""
    return "\n".join((STRIP / f"{name}.css").read_text(encoding="utf-8") for name in names or STYLES)


def template(name: str) -> str:
    """The HTML of a component; it holds no value."""
    return (STRIP / f"{name}.html").read_text(encoding="utf-8")
