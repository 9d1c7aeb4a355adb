"""Prints the results of a run as a table on standard output."""

from collections.abc import Iterable, Mapping
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from streamlab.lab.cli.load_table import print_loads, print_searches
from streamlab.lab.cli.output import stdout
from streamlab.lab.cli.table_width import print_fitting
from streamlab.lab.runner.search.state import State
from streamlab.reports.baseline import ALONE, SHORT, SHORTEST_S, UNDECLARED
from streamlab.reports.numbers import Quantity, number_of
from streamlab.reports.run_warnings import warnings_of
from streamlab.reports.summary import BY_REFERENCE, REFERENCE, Cell, rounded_answers
from streamlab.reports.table import HeadlineRow, headline_table
from streamlab.results.schema import TrialRow

# Longest reason in characters; the log and the report have the full text.
LONGEST_REASON = 400

_TEXTS = ("workload", "engine", "workers", "unit", "from", "also timed", "status")
_NUMBERS = ("not timed", "events/s", "min - max", "ratio", "p50", "p99", "CPU s/M", "RSS", "n")
_COLUMNS = (*_TEXTS, *_NUMBERS)
_DROPPED = (
    *("min - max", "RSS", "CPU s/M", "p50", "n", "ratio"),
    *("not timed", "also timed", "from", "unit"),
)
_MARKS = {
    ALONE: "no ratio: no other row has the same unit, origin of input and timed steps",
    UNDECLARED: "no ratio: the engine does not declare what its rate includes",
    SHORT: f"no ratio: the timed part took less than {SHORTEST_S * 1e3:g} ms",
}


def print_results(
    rows: Iterable[TrialRow], searches: Mapping[str, State], console: Console | None = None
) -> None:
    """Print a table each for catch-up, offered loads and searches, if there are such cells.

    The warnings of the trials follow, each kind once.
    """
    console = console or Console(file=stdout())
    rows = tuple(rows)
    print_table([row for row in rows if row.load is None], console)
    print_loads(rows, console)
    print_searches(searches, console)
    weak = dict.fromkeys(row.workload for row in rows if row.checked_by == REFERENCE)
    for workload in weak:
        console.print(f"{workload}: {BY_REFERENCE}", highlight=False)
    for workload, floats in rounded_answers(rows).items():
        console.print(f"{workload}: floats compared: {escape(floats)}", highlight=False)
    for warning in warnings_of(rows):
        where = f" ({warning.where})" if warning.where else ""
        words = (
            f"warning, {warning.trials} of {number_of(len(rows), 'trial')}{where}: {warning.text}"
        )
        console.print(escape(_short(words)), highlight=False)


def print_table(rows: Iterable[TrialRow], console: Console) -> None:
    """Print one line per catch-up cell, and below the table the reasons for missing or doubtful numbers.

    A narrow terminal drops the columns of `_DROPPED`. The report has all columns.
    """
    headline_rows = headline_table(rows)
    if not headline_rows:
        return
    print_fitting(console, lambda columns: _table(headline_rows, columns), _COLUMNS, _DROPPED)
    for row in headline_rows:
        if row.reason:
            short = _short(row.reason.splitlines()[0])
            console.print(escape(f"{row.cell.name}: {row.status}: {short}"), highlight=False)
    for mark, meaning in _MARKS.items():
        if any(row.no_ratio == mark for row in headline_rows):
            console.print(f"{mark}: {meaning}", highlight=False)
    if any(row.base for row in headline_rows):
        console.print(
            "ratios refer to the base of the same letter within a workload: same unit, origin of "
            "input and timed steps",
            highlight=False,
        )
    if any(row.cell.oversubscribed for row in headline_rows):
        console.print("* more workers than cores", highlight=False)


def _short(words: str) -> str:
    return words if len(words) <= LONGEST_REASON else words[: LONGEST_REASON - 3] + "..."


def _table(rows: Iterable[HeadlineRow], columns: tuple[str, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="left" if name in _TEXTS else "right", no_wrap=True)
    for _, group in groupby(rows, key=lambda row: (row.cell.workload, row.cell.label)):
        for index, row in enumerate(group):
            cells = _cells(row, first=index == 0)
            table.add_row(*(escape(cells[name]) for name in columns))
        table.add_row()
    return table


def _cells(row: HeadlineRow, *, first: bool) -> dict[str, str]:
    cell = row.cell
    name = f"{cell.workload}@{cell.label}" if cell.label else cell.workload
    spread = f"{row.low.text} - {row.high.text}" if row.low and row.high and row.n > 1 else ""
    return {
        "workload": name if first else "",
        "engine": _engine(cell),
        "workers": f"{cell.workers}{'*' if cell.oversubscribed else ''}",
        "unit": row.unit,
        "from": row.origin,
        "also timed": row.also_timed,
        "not timed": _text(row.untimed),
        "status": row.status,
        "events/s": _text(row.throughput),
        "min - max": spread,
        "ratio": _ratio(row),
        "p50": _text(row.p50),
        "p99": _text(row.p99),
        "CPU s/M": _text(row.cpu_per_million),
        "RSS": _text(row.peak_rss),
        "n": str(row.n) if row.n else "",
    }


def _engine(cell: Cell) -> str:
    """Return engine and variant, and the label of the matrix table, which ends the cell's id."""
    rest = cell.name.split("/")[4 if cell.batch is None else 5 :]
    return f"{cell.engine}/{cell.variant}" + (f" ({rest[0]})" if rest else "")


def _ratio(row: HeadlineRow) -> str:
    if row.is_baseline:
        return f"base {row.base}"
    return f"{row.ratio.text} {row.base}" if row.ratio else row.no_ratio


def _text(quantity: Quantity | None) -> str:
    return "" if quantity is None else quantity.text
