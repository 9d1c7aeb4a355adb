"""The figures that the project holds itself to: what they are, and whether a run reaches them.

Pure functions of what was measured (`benchmarks.evidence`); the kinds are told in targets.toml.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any

from results.query import CellSummary, by_cell
from results.schema import VERIFIED
from results.store import Row

AT_LEAST, AT_MOST = "at least", "at most"
LEVEL = "level"
"""What a sustainable-rate search calls the trials in which it measures latency."""

ORDER = "order"
"""The form of the ordered log that the figures are of, as `benchmarks.ordered_log` calls it."""

UNORDERED = "none"
"""The reordering scheme that others are compared with, as `benchmarks.reordering` calls it."""

Setting = tuple[int, int, int]
"""Of a trial of the ordered log: sources and readers, batch, rows of a source at a time."""

# By kind: the bound, and the keys besides name, kind and wanted.
KINDS: Mapping[str, tuple[str, frozenset[str]]] = {
    "rate": (AT_LEAST, frozenset({"cell"})),
    "ratio": (AT_LEAST, frozenset({"cell", "over"})),
    "scatter": (AT_LEAST, frozenset({"cell"})),
    "share": (AT_LEAST, frozenset({"cell"})),
    "counter": (AT_MOST, frozenset({"cell", "counter"})),
    "counter_rate": (AT_LEAST, frozenset({"cell", "counter"})),
    "counter_ratio": (AT_LEAST, frozenset({"cell", "over", "counter"})),
    "counter_share": (AT_MOST, frozenset({"cell", "over", "counter"})),
    "list_rate": (AT_LEAST, frozenset({"cell", "list_column"})),
    "latency": (AT_MOST, frozenset({"cell", "column"})),
    "generator": (AT_LEAST, frozenset()),
    "send_lag": (AT_MOST, frozenset()),
    "false_alarms": (AT_MOST, frozenset()),
    "power": (AT_LEAST, frozenset()),
    "log": (AT_LEAST, frozenset({"ways", "batch", "run"})),
    "log_ratio": (AT_LEAST, frozenset({"ways", "batch", "run", "form"})),
    "reconfiguration": (AT_MOST, frozenset({"before", "after"})),
    "reordering": (AT_MOST, frozenset({"scheme", "threads", "batch", "spins"})),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One figure; the keys are those of targets.toml, empty or 0 where a kind has no such key."""

    name: str
    kind: str
    wanted: float
    cell: str = ""
    over: str = ""
    counter: str = ""
    column: str = ""
    list_column: str = ""
    ways: int = 0
    batch: int = 0
    run: int = 0
    form: str = ""
    before: int = 0
    after: int = 0
    scheme: str = ""
    threads: int = 0
    spins: int = 0

    @property
    def bound(self) -> str:
        """How the measured value must lie to the wanted one."""
        return KINDS[self.kind][0]

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells that must be run for it."""
        return tuple(cell for cell in (self.cell, self.over) if cell)

    @property
    def setting(self) -> Setting:
        """In which the ordered log must be tried for it."""
        return self.ways, self.batch, self.run

    def reached(self, value: float) -> bool:
        """Return whether a value is good enough."""
        return value <= self.wanted if self.bound == AT_MOST else value >= self.wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was measured; what nobody asked for is empty.

    Attributes:
        rows: of all runs.
        lists: by dataset and name of a list column, the values of all its lists.
        logs_eps: by form of the ordered log and (ways, batch, run), tuples/s of each process.
        switches_ns: by numbers of instances before and after, the 99th percentile of the
            reconfiguration time in each process.
        reordering_ns: by reordering scheme, threads and spins of work on a unit, CPU ns per unit of
            each process.
        loops_eps: rates of the Numba loop, events/s.
        generators_eps: rates of the generator into a null engine, events/s.
        send_lags_ns: 99th percentiles of its send lag at 1 M events/s.
        alarms: by suite of instruction counts without a change, whether the gate failed it.
        seen: by benchmark with 5 % of planted work, whether the gate called it.
    """

    rows: Sequence[Row] = ()
    loops_eps: Sequence[float] = ()
    generators_eps: Sequence[float] = ()
    send_lags_ns: Sequence[float] = ()
    alarms: Sequence[bool] = ()
    seen: Sequence[bool] = ()
    lists: Mapping[tuple[str, str], int] = field(default_factory=dict)
    logs_eps: Mapping[tuple[str, Setting], Sequence[float]] = field(default_factory=dict)
    switches_ns: Mapping[tuple[int, int], Sequence[float]] = field(default_factory=dict)
    reordering_ns: Mapping[tuple[str, int, int], Sequence[float]] = field(default_factory=dict)


def read_targets(path: Path, only: Sequence[str] = ()) -> tuple[Target, ...]:
    """Read the figures, those whose name matches a pattern where there are any.

    Raises:
        ValueError: a kind is unknown, a key is missing or unknown, or a pattern matches nothing.
    """
    targets = tuple(
        _target(path, table) for table in tomllib.loads(path.read_text(encoding="utf-8"))["target"]
    )
    for pattern in only:
        if not any(fnmatchcase(target.name, pattern) for target in targets):
            names = "; ".join(target.name for target in targets)
            raise ValueError(f"--only {pattern!r} matches no figure; there are {names}")
    if not only:
        return targets
    return tuple(t for t in targets if any(fnmatchcase(t.name, pattern) for pattern in only))


def _target(path: Path, table: Mapping[str, Any]) -> Target:
    where = f"{path.name}: target {table.get('name', '(no name)')!r}"
    if table.get("kind") not in KINDS:
        raise ValueError(f"{where} has kind {table.get('kind')!r}; there are {', '.join(KINDS)}")
    wanted = KINDS[table["kind"]][1] | {"name", "kind", "wanted"}
    if set(table) != wanted:
        raise ValueError(f"{where} has keys {sorted(table)}, expected {sorted(wanted)}")
    return Target(**{**table, "wanted": float(table["wanted"])})


def measured(target: Target, evidence: Evidence) -> float | None:
    """Return the value of a figure, None when what it needs has no number."""
    match target.kind:
        case "generator":
            return _median(evidence.generators_eps)
        case "send_lag":
            return _median(evidence.send_lags_ns)
        case "false_alarms":
            return _share(evidence.alarms)
        case "power":
            return _share(evidence.seen)
        case "latency":
            return _latency(target, evidence.rows)
        case "log":
            return _log(target, evidence, ORDER)
        case "log_ratio":
            return _quotient(_log(target, evidence, ORDER), _log(target, evidence, target.form))
        case "reconfiguration":
            return _median(evidence.switches_ns.get((target.before, target.after), ()))
        case "reordering":
            return _reordering(target, evidence)
    return _of_cells(target, evidence)


def _of_cells(target: Target, evidence: Evidence) -> float | None:
    """Return a value that comes from catch-up cells."""
    cells = {summary.cell: summary for summary in by_cell(evidence.rows)}
    mine = _throughput(cells, target.cell)
    if mine is None:
        return None
    match target.kind:
        case "scatter":
            return _slowest_over_median(cells[target.cell])
        case "share":
            return _quotient(mine, _median(evidence.loops_eps))
        case "ratio":
            return _quotient(mine, _throughput(cells, target.over))
        case "counter":
            return _counter(cells, target.cell, target.counter)
        case "counter_share":
            return _quotient(
                _counter(cells, target.cell, target.counter),
                _counter(cells, target.over, target.counter),
            )
        case "counter_rate":
            return _counter_rate(cells, target.cell, target.counter)
        case "counter_ratio":
            return _quotient(
                _counter_rate(cells, target.cell, target.counter),
                _counter_rate(cells, target.over, target.counter),
            )
        case "list_rate":
            values = [_list_rate(row, target, evidence.lists) for row in cells[target.cell].rows]
            return _median(values)
    return mine


def _slowest_over_median(cell: CellSummary) -> float | None:
    """Return how near the slowest process of a cell comes to its median."""
    found = cell.spread("throughput_eps")
    return None if found is None or not found.median else found.min / found.median


def _counter(cells: Mapping[str, CellSummary], cell: str, counter: str) -> float | None:
    """Return the median of a counter."""
    if _throughput(cells, cell) is None:
        return None
    return _median([json.loads(row["counters"])[counter] for row in cells[cell].rows])


def _counter_rate(cells: Mapping[str, CellSummary], cell: str, counter: str) -> float | None:
    """Return the median of a counter in a second of the timed part."""
    if _throughput(cells, cell) is None:
        return None
    rows = cells[cell].rows
    return _median([json.loads(row["counters"])[counter] / row["duration_s"] for row in rows])


def _list_rate(row: Row, target: Target, lists: Mapping[tuple[str, str], int]) -> float:
    """Return how many values of a list column a trial took in a second on each of its workers."""
    values: float = lists[row["dataset"], target.list_column]
    return values / float(row["duration_s"]) / int(row["workers"])


def _log(target: Target, evidence: Evidence, form: str) -> float | None:
    return _median(evidence.logs_eps.get((form, target.setting), ()))


def _reordering(target: Target, evidence: Evidence) -> float | None:
    """Return what a scheme takes beyond no order, in ns of CPU per record."""
    at = (target.threads, target.spins)
    mine = _median(evidence.reordering_ns.get((target.scheme, *at), ()))
    none = _median(evidence.reordering_ns.get((UNORDERED, *at), ()))
    return None if mine is None or none is None else (mine - none) / target.batch


def _latency(target: Target, rows: Sequence[Row]) -> float | None:
    """Return the median of a percentile over the processes at the search's level."""
    found = [row for row in rows if row["cell"] == target.cell and row["purpose"] == LEVEL]
    if not found or any(row["status"] not in VERIFIED for row in found):
        return None
    values = [row[target.column] for row in found]
    return None if None in values else _median(values)


def _throughput(cells: Mapping[str, CellSummary], cell: str) -> float | None:
    spread = cells[cell].spread("throughput_eps") if cell in cells else None
    return spread.median if spread else None


def _quotient(mine: float | None, other: float | None) -> float | None:
    return mine / other if mine is not None and other else None


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
