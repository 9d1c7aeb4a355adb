"""Defines the figures that the project must reach, and judges whether a run reaches them.

Verdicts are pure functions of the evidence (`benchmarks.evidence`). targets.toml explains the notation.
Each figure is judged like the claim of a paper (`streamlab.lab.figures.judge`), by its own interval.
"""

import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from streamlab.lab.figures.judge import PublishedClaim, judge
from streamlab.lab.figures.measurements import quotient
from streamlab.lab.figures.verdict import Claim
from streamlab.lab.matrix.cells import CELL
from streamlab.reports.searches import LEVEL
from streamlab.results.schema import INVALID, NAMES, VERIFIED, TrialRow
from streamlab.results.stats.estimates import Estimate, Monotone, Product, cell_median

LISTS = "lists."
"""Prefix of a list column's name; the quantity is the number of values in the column's lists."""
SLOWEST = "slowest"
"""Name of a quantity: the throughput of the slowest process instead of the median."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measured quantity: its name, and its source, a cell or a program with arguments."""

    source: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "Quantity":
        """Parse `SOURCE: NAME`; the default name is a cell's throughput."""
        source, _, name = text.partition(": ")
        return cls(source, name or "throughput_eps")

    @property
    def is_of_cell(self) -> bool:
        """Whether the source is a cell of a matrix; else it is a program."""
        return "/" in self.source


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One figure; the attributes are the keys of targets.toml."""

    name: str
    value: Quantity
    over: Quantity | None = None
    beyond: Quantity | None = None
    per: int = 1
    at_least: float | None = None
    at_most: float | None = None

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The quantities that the figure needs."""
        return tuple(q for q in (self.value, self.over, self.beyond) if q is not None)

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells that the figure needs."""
        return tuple(q.source for q in self.quantities if q.is_of_cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The measurements; a part is empty if no figure needs it.

    Attributes:
        rows: trials of all runs.
        programs: numbers of each process, by program with arguments; empty if a process failed.
        lists: number of values in all lists of a column, by dataset and column.
    """

    rows: Sequence[TrialRow] = ()
    programs: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    lists: Mapping[tuple[str, str], int] = field(default_factory=dict)


def read_targets(path: Path, only: Sequence[str] = ()) -> tuple[Target, ...]:
    """Read the figures; with patterns, only figures whose names match a pattern.

    Raises:
        ValueError: a key is missing or unknown, or a pattern matches nothing.
    """
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["target"]
    targets = tuple(_target(path, expanded) for table in tables for expanded in _expand(table))
    for pattern in only:
        if not any(fnmatchcase(target.name, pattern) for target in targets):
            names = "; ".join(target.name for target in targets)
            raise ValueError(f"--only {pattern!r} matches no figure; there are {names}")
    if not only:
        return targets
    return tuple(t for t in targets if any(fnmatchcase(t.name, pattern) for pattern in only))


def _expand(table: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a table for each value of `for_each`; the value replaces {each} in the texts."""
    if not isinstance(table.get("for_each", []), list):
        raise ValueError(f"target {table.get('name')!r}: for_each is not a list of values")
    texts = {key: value for key, value in table.items() if key != "for_each"}
    for each_value in table.get("for_each", [""]):
        yield {
            key: value.replace("{each}", str(each_value)) if isinstance(value, str) else value
            for key, value in texts.items()
        }


def _target(path: Path, table: Mapping[str, Any]) -> Target:
    all_keys = {"name", "value", "over", "beyond", "per", "at_least", "at_most"}
    if (
        not {"name", "value"} <= set(table) <= all_keys
        or ("at_least" in table) == ("at_most" in table)
        or {"over", "beyond"} <= set(table)
    ):
        raise ValueError(
            f"{path.name}: target {table.get('name', '(no name)')!r} has keys {sorted(table)}; "
            "expected name, value, one of at_least and at_most, and perhaps per and one of over "
            "and beyond"
        )
    quantities = {
        key: Quantity.parse(table[key]) for key in ("value", "over", "beyond") if key in table
    }
    return Target(**{**table, **quantities})


def judge_target(target: Target, evidence: Evidence) -> Claim:
    """Return the verdict on a figure: a claim that is met, missed, inconclusive, or without a number."""
    claim = PublishedClaim(text=target.name, published="", source="targets.toml")
    measured = estimate(target, evidence)
    if target.at_least is not None:
        bounded = claim.at_least(measured, target.at_least)
    else:
        assert target.at_most is not None
        bounded = claim.at_most(measured, target.at_most)
    return judge([bounded], fewest=1)[0]


def estimate(target: Target, evidence: Evidence) -> Estimate | None:
    """Return the measured value of a figure; None if a quantity that it needs has no number."""
    value = _measure(target.value, evidence)
    if target.over is not None:
        return quotient(value, _measure(target.over, evidence))
    if target.beyond is None or value is None:
        return value
    base = _measure(target.beyond, evidence)
    if base is None:
        return None
    return Monotone(lambda both: (both[0] - both[1]) / target.per, (value,), (base,))


def _measure(quantity: Quantity, evidence: Evidence) -> Product | None:
    if quantity.is_of_cell:
        values = _cell_values(quantity, evidence)
    else:
        values = [numbers[quantity.name] for numbers in evidence.programs.get(quantity.source, ())]
    if not values or None in values:
        return None
    numbers = [float(value) for value in values if value is not None]
    return cell_median([min(numbers)] if quantity.name == SLOWEST else numbers)


def _cell_values(quantity: Quantity, evidence: Evidence) -> list[float | None]:
    """Return a value per process of a cell, or per process at the levels of a search.

    A wrong answer invalidates all values. Levels exclude invalid probes: their events were late, and
    the search repeated these probes.
    """
    rows = [
        row
        for row in evidence.rows
        if row.cell == quantity.source
        and (row.purpose == CELL or (row.purpose == LEVEL and row.status != INVALID))
    ]
    if any(row.status not in VERIFIED for row in rows):
        return []
    return [_row_value(quantity.name, row, evidence.lists) for row in rows]


def _row_value(name: str, row: TrialRow, lists: Mapping[tuple[str, str], int]) -> float | None:
    if name == SLOWEST:
        return row.throughput_eps  # type: ignore[no-any-return]
    bare, *units = name.split("/")
    if bare.startswith(LISTS):
        value = lists[row.dataset, bare.removeprefix(LISTS)]
    elif bare in NAMES:
        value = getattr(row, bare)
    else:
        value = json.loads(row.counters or "{}").get(bare)
    divisor = math.prod({"s": row.duration_s, "worker": row.workers}[unit] for unit in units)
    return None if value is None else float(value) / divisor
