"""Blocks of a report as the board reads them. Numbers are written here, as the terminal writes them."""

from __future__ import annotations

from typing import Any

from playground.figures.report import chart
from playground.findings.report import Block, Chart, Chip, Part, Quote, Say, Strips, Table, table_of
from playground.findings.written import written
from playground.ui.compared import both_themes
from playground.ui.records import Op


def shown(block: Block) -> Op:
    """A block as JSON: texts and figures, no number that is still to be written."""
    return _SHOWN[type(block)](block)


def _say(block: Say) -> Op:
    return {"kind": "say", "parts": [_part(part) for part in block.parts]}


def _part(part: Part) -> str | dict[str, str]:
    return part.text if part.kind == "plain" else {part.kind: part.text}


def _table(block: Table) -> Op:
    rows = [
        [written(cell, column.unit) for cell, column in zip(row, block.columns, strict=True)]
        for row in block.rows
    ]
    columns = [[column.name, column.unit] for column in block.columns]
    return {"kind": "table", "title": block.title, "columns": columns, "rows": rows, "note": block.note}


def _chart(block: Chart) -> Op:
    return {
        "kind": "chart", "title": block.title, "note": block.note, "figure": both_themes(chart, block),
        "points": _table(table_of(block)),
    }  # fmt: skip


def _strips(block: Strips) -> Op:
    lanes = [
        {"name": lane.name, "note": lane.note, "chips": [_chip(chip) for chip in lane.chips]}
        for lane in block.lanes
    ]
    return {"kind": "strips", "title": block.title, "shade": block.shade, "note": block.note, "lanes": lanes}


def _chip(chip: Chip) -> list[int | float | str]:
    return [chip.token_id, chip.text, round(chip.shade, 4), chip.mark, chip.told]


def _quote(block: Quote) -> Op:
    return {"kind": "quote", "title": block.title, "texts": [list(text) for text in block.texts]}


_SHOWN: dict[type, Any] = {Say: _say, Table: _table, Chart: _chart, Strips: _strips, Quote: _quote}
