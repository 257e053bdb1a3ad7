"""The page's scripts share one scope."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import playground.ui

STRIP = Path(playground.ui.__file__ or "").parent / "strip"
NAMED = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)


def test_no_two_scripts_give_the_same_name() -> None:
    files = sorted(STRIP.rglob("*.js"))
    names = Counter(name for file in files for name in set(NAMED.findall(file.read_text("utf-8"))))
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []
