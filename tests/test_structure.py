"""The arrows of the architecture: which part of the playground may import which."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "app.py", *sorted((ROOT / "playground").rglob("*.py"))]

# Which parts each part may import, besides itself. `trace` stands for the data types and their codec.
ARROWS = {
    "trace": set(),
    "progress": set(),
    "text": {"trace"},
    "sampling": {"trace"},
    "findings": {"trace"},
    "comparing": {"trace", "findings"},
    "engine": {"trace", "text", "sampling", "findings", "progress"},
    "experiments": {"trace", "text", "sampling", "engine", "findings", "comparing"},
    "packing": set(),
    "links": {"trace", "packing"},
    "store": {"trace", "findings", "packing"},
    "settings": {"trace"},
    "figures": {"trace", "findings", "comparing"},
    "ui": {
        "trace",
        "text",
        "sampling",
        "engine",
        "findings",
        "comparing",
        "experiments",
        "figures",
        "packing",
        "links",
        "store",
        "progress",
        "settings",
        "playground",
    },
    "playground": {"trace", "text", "engine"},
    "files": set(),
    "pages": {"trace", "figures", "files", "ui"},
    "main": {
        "trace",
        "text",
        "engine",
        "findings",
        "experiments",
        "progress",
        "playground",
        "files",
        "pages",
    },
    "app": {"ui", "settings", "engine", "playground", "pages"},
}
PARTS = {
    "codec": "trace", "checks": "trace", "params": "trace", "trace": "trace", "__init__": "playground",
    "__main__": "main", "arguments": "main", "terminal": "main", "saving": "main",
    "lab_command": "main", "interrupt": "main", "terminal_report": "main",
}  # fmt: skip


def part_of(module: str) -> str | None:
    """The part that a module of ours belongs to: 'playground.text.chat' -> 'text'."""
    names = module.split(".")
    if names[0] == "app":
        return "app"
    if names[0] != "playground":
        return None
    name = names[1] if len(names) > 1 else "__init__"
    return PARTS.get(name, name)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_arrows_run_one_way(path: Path) -> None:
    here = part_of(module_of(path))
    assert here in ARROWS
    for module in imports(path):
        there = part_of(module)
        if there not in (None, here):
            assert there in ARROWS[here], f"{path.name} ({here}) imports {module} ({there})"


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_gradio_is_imported_by_the_page_alone(path: Path) -> None:
    if part_of(module_of(path)) != "ui":
        assert not [name for name in imports(path) if name.split(".")[0] == "gradio"]


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_plotly_is_imported_by_the_figures_alone(path: Path) -> None:
    if part_of(module_of(path)) != "figures" and path.name != "plots.py":  # which serves its script
        assert not [name for name in imports(path) if name.split(".")[0] == "plotly"]


@pytest.mark.parametrize(
    "module", ["playground", *(f"playground.{name}" for name in ("trace", "findings", "links", "store"))]
)
def test_reading_a_trace_needs_no_model_library(module: str) -> None:
    heavy = ("torch", "transformers", "gradio", "plotly")
    check = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_is_too_long() -> None:
    """A file past about 300 lines wants to be two."""
    sources = [*FILES, *(ROOT / "playground").rglob("*.js"), *(ROOT / "playground").rglob("*.css")]
    long = {module_of(path): count for path in sources if (count := len(path.read_text().splitlines())) > 350}
    assert not long
