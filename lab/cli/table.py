"""Prints the results of a run as a table on standard output."""

from collections.abc import Iterable
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from reports.numbers import Quantity
from reports.table import HeadlineRow, headline_table
from results.store import Row

# A reason in a table is a hint; the log and the report have all of it.
LONGEST_REASON = 160


def print_table(rows: Iterable[Row], console: Console | None = None) -> None:
    """Print one line a cell; those without a number say why below their group."""
    console = console or Console(soft_wrap=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("workload", "engine", "workers", "batch", "status"):
        table.add_column(name, no_wrap=True, overflow="fold")
    for name in ("median", "min - max", "vs spark", "p50", "p99", "CPU s/M", "RSS", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = headline_table(rows)
    for _, group in groupby(shown, key=lambda row: (row.workload, row.label)):
        for index, row in enumerate(group):
            table.add_row(*(escape(cell) for cell in _cells(row, first=index == 0)))
        table.add_section()
    console.print(table)
    for row in shown:
        if row.reason:
            reason = " ".join(row.reason.split())
            short = (
                reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 3] + "..."
            )
            console.print(escape(f"{row.cell}: {row.status}: {short}"), highlight=False)
    if any(row.oversubscribed for row in shown):
        console.print("* more workers than cores", highlight=False)


def _cells(row: HeadlineRow, *, first: bool) -> tuple[str, ...]:
    name = f"{row.workload}@{row.label}" if row.label else row.workload
    return (
        name if first else "",
        f"{row.engine}/{row.variant}",
        f"{row.workers}{'*' if row.oversubscribed else ''}",
        "" if row.batch is None else str(row.batch),
        row.status,
        _text(row.throughput),
        f"{row.low.text} - {row.high.text}" if row.low and row.high and row.n > 1 else "",
        _text(row.ratio),
        _text(row.p50),
        _text(row.p99),
        _text(row.cpu_per_million),
        _text(row.peak_rss),
        str(row.n) if row.n else "",
    )


def _text(quantity: Quantity | None) -> str:
    return "" if quantity is None else quantity.text
