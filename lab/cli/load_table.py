"""Prints what came of offered loads and of searches as tables on standard output."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lab.search.state import State
from reports.numbers import duration, rate
from results.query import CellSummary, Spread, by_cell
from results.store import Row

_LEFT = 2
_LOADS = ("cell", "status", "offered", "emitted", "p50", "p99", "p99.9", "service p99", "n")
_SEARCHES = ("cell", "status", "sustained", "not sustained", "within", "probes", "trials")


def print_loads(rows: Iterable[Row], console: Console) -> None:
    """Print one line a cell with an offered load whose rate was given; nothing without any."""
    found = [summary for summary in by_cell(rows) if summary.rows[0]["load"] is not None]
    if not found:
        return
    table = _table(_LOADS)
    for summary in found:
        table.add_row(*(escape(text) for text in _load(summary)))
    _print(console, table)


def print_searches(states: Mapping[str, State], console: Console) -> None:
    """Print the bracket of every search, and below it what is to be said about it."""
    if not states:
        return
    table = _table(_SEARCHES)
    for cell, state in states.items():
        table.add_row(*(escape(text) for text in _search(cell, state)))
    _print(console, table)
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


def _table(columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        table.add_column(name, justify="left" if index < _LEFT else "right", no_wrap=True)
    return table


def _print(console: Console, table: Table) -> None:
    console.print(table)
    console.print()


def _rate(found: Spread | None) -> str:
    return "" if found is None else rate(found.median).text


def _duration(found: Spread | None) -> str:
    return "" if found is None else duration(found.median).text
