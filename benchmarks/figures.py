"""The figures that the project holds itself to: what they are, and whether a run reaches them.

Pure functions of what was measured (`benchmarks.evidence`); the kinds are told in targets.toml.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

# By kind: the bound, and the keys besides name, kind and wanted.
KINDS: Mapping[str, tuple[str, frozenset[str]]] = {
    "rate": (AT_LEAST, frozenset({"cell"})),
    "ratio": (AT_LEAST, frozenset({"cell", "over"})),
    "share": (AT_LEAST, frozenset({"cell"})),
    "counter": (AT_MOST, frozenset({"cell", "counter"})),
    "latency": (AT_MOST, frozenset({"cell", "column"})),
    "generator": (AT_LEAST, frozenset()),
    "send_lag": (AT_MOST, frozenset()),
    "false_alarms": (AT_MOST, frozenset()),
    "power": (AT_LEAST, frozenset()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One figure; the keys are those of targets.toml, empty where a kind has no such key."""

    name: str
    kind: str
    wanted: float
    cell: str = ""
    over: str = ""
    counter: str = ""
    column: str = ""

    @property
    def bound(self) -> str:
        """How the measured value must lie to the wanted one."""
        return KINDS[self.kind][0]

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells that must be run for it."""
        return tuple(cell for cell in (self.cell, self.over) if cell)

    def reached(self, value: float) -> bool:
        """Return whether a value is good enough."""
        return value <= self.wanted if self.bound == AT_MOST else value >= self.wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was measured; what nobody asked for is empty.

    Attributes:
        rows: of all runs.
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
    cells = {summary.cell: summary for summary in by_cell(evidence.rows)}
    mine = _throughput(cells, target.cell)
    if mine is None:
        return None
    match target.kind:
        case "share":
            loop = _median(evidence.loops_eps)
            return None if loop is None else mine / loop
        case "ratio":
            other = _throughput(cells, target.over)
            return mine / other if other else None
        case "counter":
            rows = cells[target.cell].rows
            return _median([json.loads(row["counters"])[target.counter] for row in rows])
    return mine


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


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
