"""Prints a table without cutting off values."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table


def print_fitting(
    console: Console,
    build: Callable[[tuple[str, ...]], Table],
    columns: Sequence[str],
    dropped: Sequence[str],
) -> None:
    """Print a table with as many columns as fit on the terminal.

    Without a terminal, all columns are printed, and the console becomes as wide as the table.
    `build` returns the table with some columns; those in `dropped` may be left out, the first one
    first.
    """
    shown = tuple(columns)
    table = build(shown)
    if console.is_terminal:
        for name in dropped:
            if _width(console, table) <= console.width:
                break
            shown = tuple(column for column in shown if column != name)
            table = build(shown)
    else:
        console.width = max(console.width, _width(console, table))
    console.print(table)


def _width(console: Console, table: Table) -> int:
    unbounded = console.options.update(max_width=10_000)
    return Measurement.get(console, unbounded, table).maximum
