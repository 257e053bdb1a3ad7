"""The report of a lab in a terminal: sentences, tables, charts as tables of their points, answers."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from playground.experiments import Lab
from playground.findings.report import (
    Cell,
    Chart,
    Column,
    LabResult,
    Quote,
    Say,
    Strips,
    Table,
    Unit,
    table_of,
)
from playground.findings.written import written
from playground.terminal import safe_text

_LONGEST_WORD = 12  # characters; longer ones may be broken
_MARKS = {"forced": "«{}»", "parted": "≠{}", "end": "{}", "cut": "({})", "": "{}"}


def print_report(console: Console, lab: Lab, result: LabResult) -> None:
    """Raises OSError where it cannot be written."""
    console.print(Text(lab.question, "bold"))
    for block in lab.report(result.found):
        console.print()
        _PRINTERS[type(block)](console, block)
    console.print()
    for sentence in (*lab.method, *lab.bounds):
        console.print(Text(sentence, "dim"))
    model, ended = result.model, "" if result.complete else " · stopped: what was measured until then"
    where = f"{model.name} · {model.dtype} on {model.device} · {result.seconds:.1f} s"
    console.print(Text(safe_text(where) + ended, "dim"))


def _say(console: Console, block: Say) -> None:
    line = Text()
    for part in block.parts:
        shown = safe_text(part.text)
        line.append(f"‹{shown}›" if part.kind == "token" else shown, "" if part.kind == "plain" else "bold")
    console.print(line)


def _table(console: Console, block: Table) -> None:
    grid = _grid(block.title)
    for place, column in enumerate(block.columns):
        grid.add_column(
            Text(safe_text(column.name)),
            justify="left" if column.unit in ("text", "token", "yes") or not place else "right",
            overflow="fold",
            min_width=_widest_word(column, [row[place] for row in block.rows]),
        )
    for row in block.rows:
        grid.add_row(
            *(Text(_shown(cell, column.unit)) for cell, column in zip(row, block.columns, strict=True))
        )
    console.print(grid)
    _note(console, block.note)


def _widest_word(column: Column, cells: list[Cell]) -> int:
    """What a column needs so that no usual word of it is broken."""
    texts = [safe_text(column.name), *(_shown(cell, column.unit) for cell in cells)]
    return min(_LONGEST_WORD, max(len(word) for text in texts for word in text.split() or [""]))


def _chart(console: Console, block: Chart) -> None:
    _table(console, table_of(block))


def _strips(console: Console, block: Strips) -> None:
    _heading(console, block.title)
    for lane in block.lanes:
        shown = "│".join(_MARKS[chip.mark].format(chip.text) for chip in lane.chips)
        console.print(Text(f"{safe_text(lane.name)}: ", "bold").append(safe_text(shown), "not bold"))
        _note(console, lane.note)
    _note(console, block.note)


def _quote(console: Console, block: Quote) -> None:
    _heading(console, block.title)
    for name, text in block.texts:
        console.print(Text(f"{safe_text(name)}: ", "bold").append(safe_text(text), "not bold"))


def _grid(title: str) -> Grid:
    return Grid(
        title=Text(safe_text(title), "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )


def _heading(console: Console, title: str) -> None:
    console.print(Text(safe_text(title), "bold"))


def _note(console: Console, note: str) -> None:
    if note:
        console.print(Text(safe_text(note), "dim"))


_PRINTERS: dict[type, Any] = {Say: _say, Table: _table, Chart: _chart, Strips: _strips, Quote: _quote}


def _shown(value: Cell, unit: Unit) -> str:
    return safe_text(written(value, unit))
