"""Extracts a figure's verified numbers from runs, one value per repetition."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from textwrap import shorten

from streamlab.reports.run_warnings import warnings_of
from streamlab.results.query import CellSummary, Spread, by_cell, group_by, spread
from streamlab.results.schema import VERIFIED, TrialRow
from streamlab.results.stats.estimates import Estimate, Extreme, Product, cell_median, ratio
from streamlab.results.store import Run

_MAX_REASON = 160
"""Longest reason in a figure's note, in characters."""

Value = Callable[[CellSummary], Spread | None]
Measured = Product | Extreme
"""A cell's quantity, an extreme over cells, or a quotient; see `streamlab.results.stats`."""


@dataclass(frozen=True, slots=True)
class Series:
    """A quantity by number of instances, with a spread for each setting of swept options."""

    by_workers: Mapping[int, tuple[Spread, ...]]

    def at(self, workers: int) -> Measured | None:
        """Return the highest value with this number of instances."""
        return self.highest((workers,))

    def highest(self, within: Iterable[int]) -> Measured | None:
        """Return the highest value over these numbers of instances."""
        return _extreme(self._spreads(within), is_highest=True)

    def lowest(self, within: Iterable[int]) -> Measured | None:
        """Return the lowest value over these numbers of instances."""
        return _extreme(self._spreads(within), is_highest=False)

    def workers(self, within: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of instances among `within` that have a value, ascending."""
        return tuple(sorted(n for n in within if n in self.by_workers))

    def ends(self, within: Iterable[int]) -> tuple[int, int]:
        """Return the fewest and most instances among `within` that have a value; (1, 1) if none has a value."""
        numbers = self.workers(within)
        return (numbers[0], numbers[-1]) if numbers else (1, 1)

    def growth(self, within: Iterable[int]) -> Measured | None:
        """Return the value at the most instances divided by the value at the fewest; None without two values."""
        fewest, most = self.ends(within)
        return quotient(self.at(most), self.at(fewest)) if most > fewest else None

    def _spreads(self, within: Iterable[int]) -> list[Spread]:
        return [s for n in within for s in self.by_workers.get(n, ())]


def series(run: Run, key: str, variant: str, value: Value, *, options: str = "") -> Series:
    """Return a quantity from all verified cells of a workload and a variant.

    `key` is `name` or `name@label`, `variant` is `engine/variant`, and `options` a required part of
    the cell's id.
    """
    quantities = [
        (cell.workers, quantity)
        for cell in cells(run, key, variant)
        if options in cell.cell and (quantity := value(cell)) is not None
    ]
    by_workers = group_by(sorted(quantities, key=itemgetter(0)), itemgetter(0))
    return Series({n: tuple(spread for _, spread in pairs) for n, pairs in by_workers.items()})


def cells(run: Run, key: str, variant: str) -> list[CellSummary]:
    """Return the cells of a workload and a variant, of any status."""
    return [
        cell
        for cell in by_cell(run.rows)
        if workload_key(cell) == key and f"{cell.engine}/{cell.variant}" == variant
    ]


def workload_key(cell: CellSummary) -> str:
    """Return the key of a cell's workload in the matrix, `name` or `name@label`."""
    return f"{cell.workload}@{cell.label}" if cell.label else cell.workload


def column(name: str, factor: float = 1.0) -> Value:
    """Return a function that reads a column of a cell, times a factor."""

    def value(cell: CellSummary) -> Spread | None:
        spread = cell.spread(name)
        return None if spread is None else scaled(spread, factor)

    return value


def counter(name: str, factor: float = 1.0) -> Value:
    """Return a function that reads a cell's counter, which the engine reports, times a factor."""

    def value(cell: CellSummary) -> Spread | None:
        def scaled_counter(row: TrialRow) -> float | None:
            count = json.loads(row.counters or "{}").get(name)
            return None if count is None else float(count) * factor

        return per_row(cell, scaled_counter)

    return value


def comparisons_per_s(cell: CellSummary) -> Spread | None:
    """Return a cell's comparisons per second, from the engine's own count."""
    return per_row(cell, comparison_rate)


def comparison_rate(row: TrialRow) -> float | None:
    """Return a trial's comparisons per second; None if the engine does not count them."""
    if row.comparisons is None or not row.duration_s:
        return None
    return row.comparisons / row.duration_s


def per_row(cell: CellSummary, value: Callable[[TrialRow], float | None]) -> Spread | None:
    """Return the spread of `value` over the rows of a cell's repetitions."""
    return spread(map(value, cell.rows)) if cell.status in VERIFIED else None


def scaled(spread: Spread, factor: float) -> Spread:
    """Return a spread times a factor."""
    return Spread(values=tuple(value * factor for value in spread.values))


def of_cell(spread: Spread | None) -> Product | None:
    """Return the estimate of a cell's quantity, which is above 0; None without a value."""
    return None if spread is None else cell_median(spread.values)


def quotient(dividend: Measured | None, divisor: Measured | None) -> Measured | None:
    """Return a quotient; None if either part is missing or the divisor is 0."""
    return (
        None
        if dividend is None or divisor is None or not divisor.value
        else ratio(dividend, divisor)
    )


def all_of(
    parts: Iterable[Estimate | None], combine: Callable[[Sequence[Estimate]], Estimate]
) -> Estimate | None:
    """Combine several quantities; None if `parts` is empty or a part is missing."""
    values = list(parts)
    present = [part for part in values if part is not None]
    return combine(present) if present and len(present) == len(values) else None


def troubles(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return a sentence for each reason why cells have no verified number."""
    failed_cells = [c for run in runs for c in by_cell(run.rows) if c.status not in VERIFIED]
    reasons = group_by(failed_cells, lambda cell: f"{cell.status}: {_shorten_reason(cell.reason)}")
    return tuple(
        f"{first.cell} has no number: {reason}"
        + (f"; likewise {len(other_cells)} more cells" if other_cells else "")
        for reason, (first, *other_cells) in reasons.items()
    )


def machine(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return a sentence on the machine: load average, core-to-core latency, warnings."""
    rows = [row for run in runs for row in run.rows]
    loads = [row.loadavg_before for row in rows if row.loadavg_before is not None]
    if not loads:
        return ()
    distances_ns = [
        ns
        for row in rows
        for when in ("before", "after")
        if (ns := getattr(row, f"core_to_core_{when}_ns")) is not None
    ]
    cores = (
        f"; cores {min(distances_ns):.0f} to {max(distances_ns):.0f} ns apart"
        if distances_ns
        else ""
    )
    warning_text = "".join(
        f"; {d.text} ({d.trials} of {len(rows)} trials)" for d in warnings_of(rows)
    )
    return (
        f"Load average before a trial, including earlier trials: {min(loads):.1f} to "
        f"{max(loads):.1f}{cores}{warning_text}.",
    )


def _extreme(spreads: Sequence[Spread], *, is_highest: bool) -> Measured | None:
    parts = tuple(cell_median(spread.values) for spread in spreads)
    return parts[0] if len(parts) == 1 else Extreme(parts, is_highest) if parts else None


def _shorten_reason(reason: str | None) -> str:
    """Return the first line of a reason, shortened for a figure's note."""
    return shorten((reason or "no reason stated").splitlines()[0], _MAX_REASON, placeholder=" ...")
