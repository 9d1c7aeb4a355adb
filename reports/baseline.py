"""Chooses the baseline of ratios among cells that were measured under equal conditions.

A ratio of rates is meaningful only if both cells have the same batches, input origin and timed work.
Other cells get no ratio.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamlab.reports.engine_traits import baseline_rank
from streamlab.reports.numbers import counted_workers, unit_words
from streamlab.reports.summary import Cell, Conditions
from streamlab.results.query import Spread, group_by

ALONE, UNDECLARED, SHORT = "alone", "undeclared", "short"

SHORTEST_S = 1e-3
"""Timed parts below this consist mostly of starting threads; `lab run` also calls their rates doubtful."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The cell to which the ratios of a class refer; a class has all cells with equal conditions.

    Attributes:
        cell: the cell.
        name: the cell's engine, and its workers if they distinguish the cell in the class.
        eps: the cell's rates, events/s.
    """

    cell: Cell
    name: str
    eps: Spread

    def name_for(self, cell: Cell) -> str:
        """Return the baseline's name in the ratio of a cell: only its workers if the cells differ only in workers."""
        differs_only_in_workers = (
            cell.series == self.cell.series and cell.workers != self.cell.workers
        )
        return counted_workers(self.cell.workers) if differs_only_in_workers else self.name


def baselines(cells: Sequence[Cell]) -> Mapping[Conditions, Baseline]:
    """Return the baseline of each class with at least two rates.

    The baseline is the fastest cell of the engine that ranks first (`Variant.baseline`), since a weak
    opponent proves nothing. Without a ranked engine, the baseline is the slowest cell with the fewest workers.
    Rates of timed parts below a millisecond are not compared.
    """
    rated = [(c.throughput_eps, c) for c in cells if c.throughput_eps and not is_too_short(c)]
    classes = group_by(rated, lambda pair: pair[1].conditions)
    return {
        conditions: _choose_baseline(pairs)
        for conditions, pairs in classes.items()
        if conditions is not None and len(pairs) > 1
    }


def missing_ratio_reason(cell: Cell, bases: Mapping[Conditions, Baseline]) -> str:
    """Return in one word why a cell with a rate has no ratio; empty if it has a ratio, or no rate."""
    if cell.throughput_eps is None:
        return ""
    if cell.conditions is None:
        return UNDECLARED
    if is_too_short(cell):
        return SHORT
    return "" if cell.conditions in bases else ALONE


def is_too_short(cell: Cell) -> bool:
    """Return whether a cell's rate is doubtful because its timed part took under a millisecond."""
    if not cell.events or cell.throughput_eps is None:
        return False
    return cell.events / cell.throughput_eps.median < SHORTEST_S


def label(cell: Cell) -> str:
    """Return a cell's engine, unit of hand-over and workers in words."""
    parts = (cell.engine_label, unit_words(cell.batch), counted_workers(cell.workers))
    return ", ".join(filter(None, parts))


def _choose_baseline(rated: Sequence[tuple[Spread, Cell]]) -> Baseline:
    ranks = {cell.engine: baseline_rank(cell.engine) for _, cell in rated}
    ranked = {engine: rank for engine, rank in ranks.items() if rank is not None}
    if ranked:
        engine = min(ranked, key=ranked.__getitem__)
        candidates = [(eps, cell) for eps, cell in rated if cell.engine == engine]
        eps, cell = max(candidates, key=lambda item: item[0].median)
    else:
        fewest = min(cell.workers for _, cell in rated)
        candidates = [(eps, cell) for eps, cell in rated if cell.workers == fewest]
        eps, cell = min(candidates, key=lambda item: item[0].median)
    counts = {other.workers for _, other in rated if other.series == cell.series}
    workers = f", {counted_workers(cell.workers)}" if len(counts) > 1 else ""
    return Baseline(cell=cell, name=cell.engine_label + workers, eps=eps)
