"""Reads the energy of a run, grouped by comparable cells: cells with equal work and the same offered rate.

A missing value is None and has a reason.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from streamlab.reports.numbers import rate
from streamlab.reports.searches import Search, confirming_trials
from streamlab.reports.summary import Cell
from streamlab.reports.table import in_groups, title
from streamlab.results.query import Spread, group_by, spread_of
from streamlab.results.schema import TrialRow

CATCH_UP = "catch-up"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyUse:
    """The energy of one cell at one load.

    Attributes:
        workload: workload and input in words.
        load: the load in words: `offered 50.0 k/s`, `sustainable rate, 61.2 k/s`, or catch-up (full speed).
        cell: the cell, whose status may need a mark.
        gross_j, net_j: joules per 1,000 input events.
        power_w, idle_w: watts.
        source: the counters that were read; empty without any.
        reason: why a value is missing, or which readings were lost.
    """

    workload: str
    load: str
    cell: Cell
    gross_j: Spread | None
    net_j: Spread | None
    power_w: Spread | None
    idle_w: Spread | None
    source: str
    reason: str


def energy(
    rows: Iterable[TrialRow], cells: Sequence[Cell], searches: Sequence[Search]
) -> list[EnergyUse]:
    """Return the energy of every cell with verified numbers; comparable cells are adjacent.

    Also returns the energy at sustainable rates, from the trials that confirmed these rates.
    """
    by_cell = group_by(rows, lambda row: (row.cell, row.probe is None))
    uses = [
        _make_use(by_cell[cell.name, True], cell, _describe_load(cell))
        for cell in cells
        if cell.has_numbers
    ]
    for search in searches:
        if (
            search.pass_eps is not None
            and search.confirming_cell is not None
            and search.confirming_cell.has_numbers
        ):
            trials = confirming_trials(by_cell[search.name, False], search.pass_eps)
            load = f"sustainable rate, {rate(search.pass_eps).text}"
            uses.append(_make_use(trials, search.confirming_cell, load))
    places = [group for group, _ in in_groups([use.cell for use in uses])]
    order = {title(group): index for index, group in enumerate(places)}
    return sorted(uses, key=lambda use: (order[use.workload], _rank(use), use.cell.name))


def reasons(rows: Iterable[TrialRow]) -> list[str]:
    """Return the distinct reasons why trials have no energy."""
    texts = [row.energy_reason for row in rows if row.energy_gross_j is None]
    return list(dict.fromkeys(text for text in texts if text))


def _rank(use: EnergyUse) -> tuple[int, float]:
    """Return a sort key: offered rates first, then sustainable rates, both ascending, then catch-up."""
    load = use.cell.load
    if load is None:
        return (2, 0.0)
    return (0 if use.load.startswith("offered") else 1, load.requested_eps or 0.0)


def _describe_load(cell: Cell) -> str:
    if cell.load is None:
        return CATCH_UP
    offered = cell.load.offered_eps
    requested_eps = cell.load.requested_eps or (offered.median if offered else None)
    eps = "" if requested_eps is None else f"{rate(requested_eps).text}, "
    return f"offered {eps}{cell.load.arrival}"


def _make_use(rows: Sequence[TrialRow], cell: Cell, load: str) -> EnergyUse:
    sources = dict.fromkeys(
        str(row.energy_source) for row in rows if row.energy_gross_j is not None
    )
    reasons = dict.fromkeys(row.energy_reason for row in rows if row.energy_reason)
    return EnergyUse(
        workload=title((cell.workload, cell.label)),
        load=load,
        cell=cell,
        gross_j=spread_of(rows, "energy_j_per_1000"),
        net_j=spread_of(rows, "energy_net_j_per_1000"),
        power_w=spread_of(rows, "power_w"),
        idle_w=spread_of(rows, "idle_w"),
        source=", ".join(sources),
        reason="; ".join(reasons),
    )
