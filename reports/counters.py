"""Arranges the engines' own counters in tables; docs/engines explains each counter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamlab.reports.engine_traits import variant_label
from streamlab.reports.summary import Cell
from streamlab.reports.table import in_groups, title
from streamlab.results.query import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterTable:
    """The counters of all cells with the same engine variant, workload and input.

    Attributes:
        name: engine, variant and workload.
        cells: the columns.
        rows: pairs of a counter and its value for each column; None if a cell lacks the counter.
    """

    name: str
    cells: Sequence[Cell]
    rows: Sequence[tuple[str, Sequence[Spread | None]]]


def counter_tables(cells: Sequence[Cell]) -> list[CounterTable]:
    """Return the counters of all cells, one table per variant, workload and input."""
    tables: dict[tuple[str, str], list[Cell]] = {}
    for group, members in in_groups(cells):
        for cell in members:
            if cell.counters:
                name = variant_label(cell.engine, cell.variant)
                tables.setdefault((title(group), name), []).append(cell)
    return [
        CounterTable(name=f"{engine} on {workload}", cells=columns, rows=_counter_rows(columns))
        for (workload, engine), columns in tables.items()
    ]


def _counter_rows(columns: Sequence[Cell]) -> list[tuple[str, Sequence[Spread | None]]]:
    names: Mapping[str, None] = dict.fromkeys(name for cell in columns for name in cell.counters)
    return [(name, [cell.counters.get(name) for cell in columns]) for name in names]
