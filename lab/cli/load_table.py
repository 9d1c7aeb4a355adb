"""Prints the results of offered loads and of searches as tables on standard output."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from streamlab.lab.cli.table_width import print_fitting
from streamlab.lab.runner.search.state import State
from streamlab.reports.numbers import duration, rate
from streamlab.results.query import CellSummary, Spread, by_cell
from streamlab.results.schema import TrialRow

_CELL = "cell"
_LEFT = (_CELL, "status")
_LOADS = (*_LEFT, "offered", "emitted", "p50", "p99", "p99.9", "service p99", "n")
_LOADS_DROPPED = ("service p99", "p50", "p99.9", "n", "emitted")
_SEARCHES = (*_LEFT, "sustained", "not sustained", "within", "probes", "trials")
_SEARCHES_DROPPED = ("trials", "probes", "within")


def print_loads(rows: Iterable[TrialRow], console: Console) -> None:
    """Print one line per cell with an offered load of a fixed rate; nothing without such cells."""
    summaries = [summary for summary in by_cell(rows) if summary.rows[0].load is not None]
    if not summaries:
        return
    _print(console, _LOADS, [_load(summary) for summary in summaries], _LOADS_DROPPED)


def print_searches(states: Mapping[str, State], console: Console) -> None:
    """Print the bracket of each search, and the reasons below the table."""
    if not states:
        return
    lines = [_search(cell, state) for cell, state in states.items()]
    _print(console, _SEARCHES, lines, _SEARCHES_DROPPED)
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


def _print(
    console: Console,
    columns: Sequence[str],
    lines: Sequence[Sequence[str]],
    dropped: Sequence[str],
) -> None:
    def build(shown: tuple[str, ...]) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in shown:
            # A cell's id may wrap, so that no number is cut off.
            table.add_column(
                name,
                justify="left" if name in _LEFT else "right",
                no_wrap=name != _CELL,
                overflow="fold",
            )
        for line in lines:
            values = dict(zip(columns, line, strict=True))
            table.add_row(*(escape(values[name]) for name in shown))
        return table

    print_fitting(console, build, columns, dropped)
    console.print()


def _rate(spread: Spread | None) -> str:
    return "" if spread is None else rate(spread.median).text


def _duration(spread: Spread | None) -> str:
    return "" if spread is None else duration(spread.median).text
