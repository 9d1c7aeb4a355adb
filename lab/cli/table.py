"""Prints the results of a run as tables, and tables in general, without cutting off values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from streamlab.lab.cli.output import stdout
from streamlab.lab.runner.search.state import State
from streamlab.reports.baseline import ALONE, SHORT, SHORTEST_S, UNDECLARED
from streamlab.reports.numbers import Quantity, duration, number_of, rate
from streamlab.reports.run_warnings import warnings_of
from streamlab.reports.summary import BY_REFERENCE, REFERENCE, Cell, rounded_answers
from streamlab.reports.table import HeadlineRow, headline_table
from streamlab.reports.troubleshooting import DOCUMENT, advice_on
from streamlab.results.query import CellSummary, Spread, by_cell
from streamlab.results.schema import TrialRow

# Longest reason in characters; the log and the report have the full text.
LONGEST_REASON = 400

_LEFT = ("cell", "workload", "engine", "workers", "unit", "from", "also timed", "status")
_NUMBERS = ("not timed", "events/s", "min - max", "ratio", "p50", "p99", "CPU s/M", "RSS", "n")
_COLUMNS = (*_LEFT[1:], *_NUMBERS)
_DROPPED = (
    *("min - max", "RSS", "CPU s/M", "p50", "n", "ratio"),
    *("not timed", "also timed", "from", "unit"),
)
_MARKS = {
    ALONE: "no ratio: no other row has the same unit, origin of input and timed steps",
    UNDECLARED: "no ratio: the engine does not declare what its rate includes",
    SHORT: f"no ratio: the timed part took less than {SHORTEST_S * 1e3:g} ms",
}
_CELL = "cell"
_LOADS = (_CELL, "status", "offered", "emitted", "p50", "p99", "p99.9", "service p99", "n")
_LOADS_DROPPED = ("service p99", "p50", "p99.9", "n", "emitted")
_SEARCHES = (_CELL, "status", "sustained", "not sustained", "within", "probes", "trials")
_SEARCHES_DROPPED = ("trials", "probes", "within")


def print_results(
    rows: Iterable[TrialRow], searches: Mapping[str, State], console: Console | None = None
) -> None:
    """Print a table each for catch-up, offered loads and searches, if there are such cells.

    The warnings of the trials follow, each kind once, and where to read their remedies.
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
    warnings = warnings_of(rows)
    for warning in warnings:
        where = f" ({warning.where})" if warning.where else ""
        words = (
            f"warning, {warning.trials} of {number_of(len(rows), 'trial')}{where}: {warning.text}"
        )
        console.print(escape(_short(words)), highlight=False)
    bounds = [state.bracket.reason or "" for state in searches.values()]
    advice = advice_on(rows, [*(warning.text for warning in warnings), *bounds])
    if advice:
        anchors = ", ".join(f"#{each.anchor}" for each in advice)
        console.print(
            f"causes and remedies: the page of `lab report`, or {DOCUMENT}: {anchors}",
            highlight=False,
        )


def print_table(rows: Iterable[TrialRow], console: Console) -> None:
    """Print one line per catch-up cell, and below the table the reasons for missing or doubtful numbers.

    A narrow terminal drops the columns of `_DROPPED`. The report has all columns.
    """
    headline_rows = headline_table(rows)
    if not headline_rows:
        return
    lines: list[Mapping[str, str] | None] = []
    for _, group in groupby(headline_rows, key=lambda row: (row.cell.workload, row.cell.label)):
        lines += [_cells(row, first=index == 0) for index, row in enumerate(group)]
        lines.append(None)
    _print_lines(console, _COLUMNS, lines, _DROPPED)
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


def print_loads(rows: Iterable[TrialRow], console: Console) -> None:
    """Print one line per cell with an offered load of a fixed rate; nothing without such cells."""
    summaries = [summary for summary in by_cell(rows) if summary.rows[0].load is not None]
    if not summaries:
        return
    lines = [dict(zip(_LOADS, _load(summary), strict=True)) for summary in summaries]
    _print_lines(console, _LOADS, lines, _LOADS_DROPPED)
    console.print()


def print_searches(states: Mapping[str, State], console: Console) -> None:
    """Print the bracket of each search, and the reasons below the table."""
    if not states:
        return
    lines = [
        dict(zip(_SEARCHES, _search(cell, state), strict=True)) for cell, state in states.items()
    ]
    _print_lines(console, _SEARCHES, lines, _SEARCHES_DROPPED)
    console.print()
    for cell, state in states.items():
        if state.bracket.reason:
            console.print(escape(f"{cell}: {state.bracket.reason}"), highlight=False)


def _load(summary: CellSummary) -> list[str]:
    return [
        summary.cell,
        summary.status,
        _rate(summary.spread("offered_eps")),
        _rate(summary.spread("emitted_eps")),
        *(
            _duration(summary.spread(column))
            for column in ("latency_p50_ns", "latency_p99_ns", "latency_p999_ns", "service_p99_ns")
        ),
        str(summary.repetitions),
    ]


def _search(cell: str, state: State) -> list[str]:
    low, high = state.bracket.r_pass_eps, state.bracket.r_fail_eps
    if state.next is not None:
        status = "unfinished"
    elif low is None:
        status = "none found"
    else:
        status = "confirmed" if state.bracket.confirmed else "not confirmed"
    return [
        cell,
        status,
        "" if low is None else rate(low).text,
        "" if high is None else rate(high).text,
        "" if low is None or high is None else f"{(high - low) / low:.1%}",
        str(len(state.probes)),
        str(sum(len(probe.votes) for probe in state.probes)),
    ]


def _short(words: str) -> str:
    return words if len(words) <= LONGEST_REASON else words[: LONGEST_REASON - 3] + "..."


def _print_lines(
    console: Console,
    columns: Sequence[str],
    lines: Sequence[Mapping[str, str] | None],
    dropped: Sequence[str],
) -> None:
    """Print lines of texts by column; None is an empty line."""

    def build(shown: tuple[str, ...]) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in shown:
            # A cell's id may wrap, so that no number is cut off.
            table.add_column(
                name,
                justify="left" if name in _LEFT else "right",
                no_wrap=name != _CELL,
                overflow="fold" if name == _CELL else "ellipsis",
            )
        for line in lines:
            table.add_row(*([] if line is None else (escape(line[name]) for name in shown)))
        return table

    print_fitting(console, build, columns, dropped)


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


def _rate(spread: Spread | None) -> str:
    return "" if spread is None else rate(spread.median).text


def _duration(spread: Spread | None) -> str:
    return "" if spread is None else duration(spread.median).text


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
