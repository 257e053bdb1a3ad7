"""Runs JavaScript in node, such as the pure functions of the board, as the page would."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from playground.ui.assets import PURE, script

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def run_node(code: str, values: Any) -> Any:
    """What `code` prints as JSON; its `input` are the `values`."""
    done = subprocess.run(
        ["node", "-e", f"const input = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n{code}"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def evaluate(expression: str, **values: Any) -> Any:
    """The value of a JavaScript expression over the board's pure functions; `values` are its variables."""
    names = ", ".join(values)
    code = f"""
        {script(*PURE)}
        const {{ {names} }} = input;
        const plain = (key, value) => (value === Infinity || value === -Infinity ? String(value) : value);
        console.log(JSON.stringify({expression}, plain));
    """
    return run_node(code, values)
