"""Progress of long work: a callback (what, fraction), and a bar on stderr for whoever gives none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

# What is being done, in plain words, and how much of that is done: 0 … 1.
Report = Callable[[str, float], None]


@contextmanager
def bar_on_stderr() -> Iterator[Report]:
    """A Report that draws a bar; without a terminal, each piece of work is one line when it begins.

    Nothing is written before the first report, so quick work stays silent.
    """
    console = Console(file=sys.stderr)  # this very stream: others may redirect stderr meanwhile
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    bars = Progress(*columns, console=console)
    tasks: dict[str, TaskID] = {}

    def report(what: str, fraction: float) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=1.0)
            if not console.is_terminal:
                console.print(f"{what} …", markup=False, highlight=False)
            elif len(tasks) == 1:
                bars.start()
        bars.update(tasks[what], completed=fraction)

    try:
        yield report
    finally:
        if bars.live.is_started:
            bars.stop()
