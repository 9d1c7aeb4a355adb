"""Chooses what ratios refer to: a baseline among rows that were measured under equal conditions.

A ratio of rates says something only where both rows handed events over in the same unit, took their
input from the same place, and had the same things inside the clock. Elsewhere there is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamlab.reports.conditions import Conditions
from streamlab.reports.numbers import counted_workers
from streamlab.reports.summary import Cell

SIMPLE, SPARK = "dataframe", "spark"
"""Engines that others are measured by, the first that a class has: what a user would write in a few
lines with a data-frame library, then what is commonly used."""

ALONE, UNDECLARED, SHORT = "alone", "undeclared", "short"

SHORTEST_S = 1e-3
"""A shorter timed part is mostly threads that begin: `lab run` calls its rate doubtful."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The cell that the ratios of a class refer to.

    Attributes:
        letter: names the class within its workload and input.
        cell: its id.
        label: its engine, variant, batch and workers in words.
        eps: its median rate.
        why: how it was chosen, as a phrase.
    """

    letter: str
    cell: str
    label: str
    eps: float
    why: str


def baselines(cells: Sequence[Cell]) -> Mapping[Conditions, Baseline]:
    """Return the baseline of each class with at least two rates, of one workload and input.

    Rates of timed parts below a millisecond are none to compare.

    It is the fastest cell of the data-frame engine where the class has one, since a weak opponent
    proves nothing; else the fastest of Spark; else, among the cells with the fewest workers, the
    slowest.
    """
    classes: dict[Conditions, list[tuple[float, Cell]]] = {}
    for cell in cells:
        if cell.conditions is not None and cell.throughput_eps and not too_short(cell):
            rated = classes.setdefault(cell.conditions, [])
            rated.append((cell.throughput_eps.median, cell))
    several = {found: rated for found, rated in classes.items() if len(rated) > 1}
    return {
        found: _baseline(_letter(index), rated)
        for index, (found, rated) in enumerate(several.items())
    }


def why_none(cell: Cell, found: Mapping[Conditions, Baseline]) -> str:
    """Return why a cell with a rate has no ratio, in a word, or empty: it has one."""
    if cell.throughput_eps is None:
        return ""
    if cell.conditions is None:
        return UNDECLARED
    if too_short(cell):
        return SHORT
    return "" if cell.conditions in found else ALONE


def too_short(cell: Cell) -> bool:
    """Return whether a cell's rate is doubtful, as its timed part took less than a millisecond."""
    if not cell.events or cell.throughput_eps is None:
        return False
    return cell.events / cell.throughput_eps.median < SHORTEST_S


def label(cell: Cell) -> str:
    """Return a cell's engine, variant, batch and workers in words."""
    parts = [f"{cell.engine} {cell.variant}".strip() + (f" ({cell.tag})" if cell.tag else "")]
    if cell.batch is not None:
        parts.append(f"batch {cell.batch:,}")
    parts.append(counted_workers(cell.workers))
    return ", ".join(parts)


def _baseline(letter: str, rated: Sequence[tuple[float, Cell]]) -> Baseline:
    for engine in (SIMPLE, SPARK):
        own = [(eps, cell) for eps, cell in rated if cell.engine == engine]
        if own:
            eps, cell = max(own, key=lambda item: item[0])
            why = f"the fastest of {engine}" if len(own) > 1 else f"the only one of {engine}"
            return _named(letter, eps, cell, why)
    fewest = min(cell.workers for _, cell in rated)
    least = [(eps, cell) for eps, cell in rated if cell.workers == fewest]
    eps, cell = min(least, key=lambda item: item[0])
    why = "the fewest workers" if len(least) == 1 else "the slowest of those with fewest workers"
    return _named(letter, eps, cell, why)


def _named(letter: str, eps: float, cell: Cell, why: str) -> Baseline:
    return Baseline(letter=letter, cell=cell.name, label=label(cell), eps=eps, why=why)


def _letter(index: int) -> str:
    return chr(ord("A") + index % 26) * (1 + index // 26)
