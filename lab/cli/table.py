"""Prints the results of a run as tables of at most 100 columns, without wrapping a cell."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from streamlab.lab.cli.output import stdout
from streamlab.lab.runner.search.state import State
from streamlab.reports.baseline import ALONE, SHORT, SHORTEST_S, UNDECLARED
from streamlab.reports.numbers import (
    UNCLEAR,
    Quantity,
    latency,
    low_end,
    number_of,
    rate,
    unit_words,
)
from streamlab.reports.run_warnings import warnings_of
from streamlab.reports.searches import as_cell
from streamlab.reports.summary import WITHOUT_ORACLE, Cell, rounded_answers, summarise
from streamlab.reports.table import HeadlineRow, classes_of, group_of, in_groups, title
from streamlab.reports.troubleshooting import DOCUMENT, advice_on
from streamlab.results.query import Spread, by_cell, by_search
from streamlab.results.schema import TrialRow

LONGEST_REASON = 400
"""Longest reason in characters; the log and the report have the full text."""
WIDEST = 100
"""Maximum width of a table of results in characters; the report has all values."""

_SHORTEST_NAME = 8
"""Minimum width in characters of a column of names that is cut to fit."""
_DROPPED = ("RSS", "CPU s/M", "p50", "not timed", "p99", "n", "min - max")
"""Columns to leave out on a narrow terminal, in this order."""
_MARKS = {
    ALONE: "no ratio, since no other row of its group has a rate",
    UNDECLARED: "no ratio, since the engine does not declare what its rate includes",
    SHORT: f"no ratio, since the timed part took less than {SHORTEST_S * 1e3:g} ms",
}
_LOADS_DROPPED = ("service p99", "p50", "p99.9", "n", "emitted")
_SEARCHES_DROPPED = ("trials", "probes", "within")
_TEXT_COLUMNS = ("engine", "workers", "load", "compared", "status")
"""Columns of texts. All but `workers` are cut to fit if a line would be too long."""
_KEY_COLUMNS = ("engine", "events/s", "offered", "sustained")
"""Columns that are shown even if all rows have the same value."""

Line = Mapping[str, str]
"""The texts of a row by column."""

Groups = Sequence[tuple[str, Sequence[Line]]]
"""Pairs of a heading and the rows below it."""


def print_results(
    rows: Iterable[TrialRow], searches: Mapping[str, State], console: Console | None = None
) -> None:
    """Print one table for catch-up, one for offered loads and one for searches; omit tables without cells.

    Then print the trials' warnings, each kind once, and where to find remedies.
    """
    console = console or Console(file=stdout())
    if not console.is_terminal:
        console.width = max(console.width, WIDEST)
    rows = tuple(rows)
    print_table([row for row in rows if row.load is None], console)
    print_loads(rows, console)
    print_searches(rows, searches, console)
    weak = {row.workload: row.checked_by for row in rows if row.checked_by in WITHOUT_ORACLE}
    for workload, origin in weak.items():
        console.print(f"{workload}: {WITHOUT_ORACLE[origin or '']}", highlight=False)
    for workload, floats in rounded_answers(rows).items():
        console.print(f"{workload}: floats compared: {escape(floats)}", highlight=False)
    warnings = warnings_of(rows)
    for warning in warnings:
        place = f" ({warning.where})" if warning.where else ""
        words = (
            f"warning, {warning.trials} of {number_of(len(rows), 'trial')}{place}: {warning.text}"
        )
        console.print(escape(_shorten(words)), highlight=False)
    bounds = [state.bracket.reason or "" for state in searches.values()]
    advice = advice_on(rows, [*(warning.text for warning in warnings), *bounds])
    if advice:
        anchors = ", ".join(f"#{remedy.anchor}" for remedy in advice)
        console.print(
            f"causes and remedies: the page of `lab report`, or {DOCUMENT}: {anchors}",
            highlight=False,
        )


def print_table(rows: Iterable[TrialRow], console: Console) -> None:
    """Print one line per catch-up cell, grouped by what the rates include, and reasons below the table."""
    classes = [
        (f"{title(group)}, {words or 'conditions not declared'}", part)
        for group, members in in_groups(summarise(rows))
        for words, part in classes_of(members)
    ]
    if not classes:
        return
    _print_groups(
        console,
        [(heading, [_cell_line(row) for row in part]) for heading, part in classes],
        _DROPPED,
    )
    headline_rows = [row for _, part in classes for row in part]
    for row in headline_rows:
        if row.reason:
            reason = _shorten(row.reason.splitlines()[0])
            console.print(escape(f"{row.cell.name}: {row.status}: {reason}"), highlight=False)
    for mark, meaning in _MARKS.items():
        if any(row.no_ratio == mark for row in headline_rows):
            console.print(f"{mark}: {meaning}", highlight=False)
    if not all(row.is_clear for row in headline_rows):
        text = f"{UNCLEAR}: the ranges of the repetitions overlap (a single one: 30 %), so no difference is shown"
        console.print(text, highlight=False)
    if any(row.cell.oversubscribed for row in headline_rows):
        console.print("* more workers than cores", highlight=False)


def print_columns(columns: Mapping[str, Sequence[object]], console: Console | None = None) -> None:
    """Print columns as a table; align numbers to the right, and show floats with 6 digits."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, values in columns.items():
        is_text = any(isinstance(value, str) for value in values)
        table.add_column(name, justify="left" if is_text else "right", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(escape(f"{v:.6g}" if isinstance(v, float) else str(v)) for v in row))
    print_fitting(console or Console(file=stdout()), lambda shown: table, tuple(columns), ())


def print_loads(rows: Iterable[TrialRow], console: Console) -> None:
    """Print one line per cell with an offered load of a fixed rate; nothing without such cells."""
    rows = [row for row in rows if row.load is not None and row.probe is None]
    if not rows:
        return
    summaries = {summary.cell: summary for summary in by_cell(rows)}
    groups = [
        (title(group), [_load_line(cell, summaries[cell.name].spread) for cell in members])
        for group, members in in_groups(summarise(rows))
    ]
    _print_groups(console, groups, _LOADS_DROPPED)


def print_searches(rows: Iterable[TrialRow], states: Mapping[str, State], console: Console) -> None:
    """Print the bracket of each search, and the reasons below the table."""
    if not states:
        return
    cells = {cell.name: cell for cell in map(as_cell, by_search(rows).values())}
    lines = [
        (
            title(group_of(cells[name])) if name in cells else "",
            _search_line(name, cells.get(name), state),
        )
        for name, state in states.items()
    ]
    groups = [
        (heading, [line for _, line in pairs])
        for heading, pairs in groupby(lines, key=lambda pair: pair[0])
    ]
    _print_groups(console, groups, _SEARCHES_DROPPED)
    for cell, state in states.items():
        if state.bracket.reason:
            console.print(escape(f"{cell}: {state.bracket.reason}"), highlight=False)


def _cell_line(row: HeadlineRow) -> Line:
    spread = ""
    if row.low and row.high and row.n > 1:
        spread = f"{low_end(row.low, row.high).text} - {row.high.text}"
    return {
        "engine": row.cell.engine_label,
        "workers": _workers_text(row.cell),
        "events/s": _text(row.throughput),
        "min - max": spread,
        "compared": _comparison_text(row),
        "p50": _text(row.p50),
        "p99": _text(row.p99),
        "CPU s/M": _text(row.cpu_per_million),
        "RSS": _text(row.peak_rss),
        "not timed": _text(row.untimed),
        "n": str(row.n) if row.n else "",
        "status": row.status,
    }


def _load_line(cell: Cell, spread: Callable[[str], Spread | None]) -> Line:
    percentiles = {
        name: _latency(spread(f"latency_{column}_ns"))
        for name, column in (("p50", "p50"), ("p99", "p99"), ("p99.9", "p999"))
    }
    return {
        "engine": _engine_text(cell),
        "workers": _workers_text(cell),
        "load": cell.load.label if cell.load else "",
        "offered": _rate(spread("offered_eps")),
        "emitted": _rate(spread("emitted_eps")),
        **percentiles,
        "service p99": _latency(spread("service_p99_ns")),
        "n": str(sum(cell.statuses.values())),
        "status": cell.status,
    }


def _search_line(name: str, cell: Cell | None, state: State) -> Line:
    low, high = state.bracket.r_pass_eps, state.bracket.r_fail_eps
    if state.next is not None:
        status = "unfinished"
    elif low is None:
        status = "none found"
    else:
        status = "confirmed" if state.bracket.confirmed else "not confirmed"
    return {
        "engine": _engine_text(cell) if cell else name,
        "workers": _workers_text(cell) if cell else "",
        "sustained": "" if low is None else rate(low).text,
        "not sustained": "" if high is None else rate(high).text,
        "within": "" if low is None or high is None else f"{(high - low) / low:.1%}",
        "probes": str(len(state.probes)),
        "trials": str(sum(len(probe.votes) for probe in state.probes)),
        "status": status,
    }


def _engine_text(cell: Cell) -> str:
    """Return the engine and its unit of hand-over."""
    return ", ".join(filter(None, (cell.engine_label, unit_words(cell.batch))))


def _workers_text(cell: Cell) -> str:
    return f"{cell.workers}{'*' if cell.oversubscribed else ''}"


def _comparison_text(row: HeadlineRow) -> str:
    if row.ratio:
        return row.ratio.text if row.is_clear else f"{UNCLEAR} {row.ratio.text}"
    return "base" if row.is_baseline else row.no_ratio


def _shorten(words: str) -> str:
    return words if len(words) <= LONGEST_REASON else words[: LONGEST_REASON - 3] + "..."


def _text(quantity: Quantity | None) -> str:
    return "" if quantity is None else quantity.text


def _rate(spread: Spread | None) -> str:
    return "" if spread is None else rate(spread.median).text


def _latency(spread: Spread | None) -> str:
    return "" if spread is None else latency(spread.median).text


def _print_groups(console: Console, groups: Groups, dropped: Sequence[str]) -> None:
    """Print rows below their headings, in the columns whose values differ.

    A value that all rows share is stated once, below the table. Columns in `dropped` are left out in
    this order, until a line fits into `WIDEST` characters, or fewer on a narrow terminal.
    """
    lines = [line for _, part in groups for line in part]
    columns = [
        name
        for name in lines[0]
        if name in _KEY_COLUMNS or len({line[name] for line in lines}) > 1 or len(lines) == 1
    ]
    constant_columns = [name for name in lines[0] if name not in columns and lines[0][name]]
    widest = min(console.width, WIDEST) if console.is_terminal else WIDEST
    widths = {
        name: max(cell_len(name), *(cell_len(line[name]) for line in lines)) for name in columns
    }
    for name in dropped:
        if _line_width(widths) > widest:
            widths.pop(name, None)
    names = [name for name in widths if name in _TEXT_COLUMNS and name != "workers"]
    while _line_width(widths) > widest and max(widths[name] for name in names) > _SHORTEST_NAME:
        widths[max(names, key=widths.__getitem__)] -= 1
    _print_line(console, _line_text({name: name for name in widths}, widths), "bold")
    for heading, part in groups:
        if heading:
            _print_line(console, _cut(heading, widest), "dim")
        for line in part:
            _print_line(console, _line_text(line, widths), "")
    if constant_columns:
        texts = ", ".join(f"{name} {lines[0][name]}" for name in constant_columns)
        _print_line(console, _cut(f"all rows: {texts}", widest), "")
    console.print()


def _line_width(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + 2 * (len(widths) - 1) + 2


def _line_text(line: Line, widths: Mapping[str, int]) -> str:
    texts = []
    for name, width in widths.items():
        text = _cut(line[name], width)
        pad = " " * (width - cell_len(text))
        texts.append(text + pad if name in _TEXT_COLUMNS else pad + text)
    return "  " + "  ".join(texts).rstrip()


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "\u2026"


def _print_line(console: Console, text: str, style: str) -> None:
    console.print(Text(text, style=style), soft_wrap=True)


def print_fitting(
    console: Console,
    build: Callable[[tuple[str, ...]], Table],
    columns: Sequence[str],
    dropped: Sequence[str],
) -> None:
    """Print a table with as many columns as fit on the terminal.

    Without a terminal, all columns are printed, and the console becomes as wide as the table.
    `build` returns the table with the given columns. On a terminal, the columns in `dropped` are left out one by one,
    in this order, until the table fits.
    """
    shown_columns = tuple(columns)
    table = build(shown_columns)
    if console.is_terminal:
        for name in dropped:
            if _table_width(console, table) <= console.width:
                break
            shown_columns = tuple(column for column in shown_columns if column != name)
            table = build(shown_columns)
    else:
        console.width = max(console.width, _table_width(console, table))
    console.print(table)


def _table_width(console: Console, table: Table) -> int:
    options = console.options.update(max_width=10_000)
    return Measurement.get(console, options, table).maximum
