"""The files of the page's JavaScript, which share one scope."""

from __future__ import annotations

import re
from collections import Counter

from playground.ui.assets import PURE, VIEWS, script


def test_no_name_is_declared_by_two_files() -> None:
    """A second function of the same name silently takes the place of the first."""
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script(*PURE, *VIEWS), re.MULTILINE)
    assert len(names) > 300
    assert [name for name, times in Counter(names).items() if times > 1] == []
