"""Lanes of one prompt held against each other: from traces to findings, by pure functions."""

from playground.comparing.partings import first_difference, parting, parting_of
from playground.comparing.sweep import sweep_of
from playground.comparing.table import csv_of, csv_of_steps, numbers
from playground.comparing.tree import sample_tree

__all__ = [
    "csv_of",
    "csv_of_steps",
    "first_difference",
    "numbers",
    "parting",
    "parting_of",
    "sample_tree",
    "sweep_of",
]
