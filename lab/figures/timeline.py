"""Reads a trial's course over time: its 100 ms series and its reconfigurations."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import Reconfiguration
from streamlab.lab.measure.elastic import read_reconfigurations
from streamlab.results.schema import TrialRow
from streamlab.results.seal import read_sealed
from streamlab.results.store import Run
from streamlab.results.table import table_of

STEP_S = 0.1
"""Length of a row of a series (`lab/measure/series.py`)."""
_ROWS_PER_S = round(1 / STEP_S)
MAX_BINS = 600
"""Most bins in a drawing; more points would be indistinguishable."""
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticTimeline:
    """A trial over time, from the start of its timed part; NaN if a row has no value.

    Attributes:
        t_s: float64[k], start of each row of 100 ms.
        offered_eps, consumed_eps: float64[k], events/s handed over and consumed.
        comparisons_per_s: float64[k]; all NaN if the engine does not count them.
        instances: float64[k], active instances at the end of the row.
        latency_ms: float64[k], median of the row's outputs.
        load_cov: float64[k], coefficient of variation of the instances' load, a share.
        changes: reconfigurations in order.
    """

    t_s: Values
    offered_eps: Values
    consumed_eps: Values
    comparisons_per_s: Values
    instances: Values
    latency_ms: Values
    load_cov: Values
    changes: tuple[Reconfiguration, ...]

    def between(self, begin_s: float, end_s: float) -> npt.NDArray[np.bool_]:
        """Return the mask of the rows within [begin_s, end_s)."""
        mask: npt.NDArray[np.bool_] = (self.t_s >= begin_s) & (self.t_s + STEP_S <= end_s)
        return mask


def read_timeline(run: Run, row: TrialRow) -> ElasticTimeline | None:
    """Read a trial's timeline; None if it has no series or the file is missing.

    Raises:
        ResultsError: the file has changed since the lab wrote it.
    """
    if row.series is None:
        return None
    try:
        table = table_of(read_sealed(run.path, run.path / row.series))
    except FileNotFoundError:
        return None
    is_timed = np.asarray(table["t_ns"].to_numpy()) >= 0

    def values(name: str, factor: float = 1.0) -> Values:
        if name not in table.column_names:
            return np.full(int(is_timed.sum()), np.nan)
        numbers = table[name].to_pandas().to_numpy(dtype=np.float64)
        return np.asarray(numbers[is_timed] * factor, dtype=np.float64)

    return ElasticTimeline(
        t_s=values("t_ns", 1e-9),
        offered_eps=values("emitted", 1 / STEP_S),
        consumed_eps=values("consumed", 1 / STEP_S),
        comparisons_per_s=values("comparisons", 1 / STEP_S),
        instances=values("instances"),
        latency_ms=values("latency_p50_ns", 1e-6),
        load_cov=values("load_cov"),
        changes=_read_changes(run, row),
    )


def mean(values: Values, where: npt.NDArray[np.bool_] | None = None) -> float | None:
    """Return the mean over the selected rows (default: all rows) that have a value; None if none has a value."""
    rows = values if where is None else values[where]
    rows = rows[~np.isnan(rows)]
    return float(rows.mean()) if len(rows) else None


def bin_means(t_s: Values, values: Values, *, last: bool = False) -> list[tuple[float, float]]:
    """Return (start, mean) of at most MAX_BINS bins of equal length, from the first to the last value.

    A bin without a value between other bins is NaN, which leaves a gap in the drawing. `t_s` has the start
    of each row. With `last`, for counts, a bin has its last value instead of the mean.
    """
    present = np.flatnonzero(~np.isnan(values))
    if not len(present):
        return []
    width = max(1, -(-len(t_s) // MAX_BINS))
    bins = []
    for start in range(present[0] // width * width, present[-1] + 1, width):
        part = values[start : start + width]
        part = part[~np.isnan(part)]
        middle = np.nan if not len(part) else part[-1] if last else part.mean()
        bins.append((float(t_s[start]), float(middle)))
    return bins


def means_by_second(values: Values) -> Values:
    """Return float64[seconds]: the mean over each whole second's rows that have a value; NaN without any."""
    seconds = values[: len(values) // _ROWS_PER_S * _ROWS_PER_S]
    means = [mean(rows) for rows in seconds.reshape(-1, _ROWS_PER_S)]
    return np.array([np.nan if value is None else value for value in means], dtype=np.float64)


def longest_above(values: Values, bound: float) -> float:
    """Return the longest time in seconds for which values stay above a bound, including gaps."""
    longest = current = 0
    for value in values:
        if np.isnan(value):
            current += 1 if current else 0
        elif value > bound:
            current += 1
            longest = max(longest, current)
        else:
            current = 0
    return longest * STEP_S


def _read_changes(run: Run, row: TrialRow) -> tuple[Reconfiguration, ...]:
    if row.reconfigurations is None:
        return ()
    try:
        return read_reconfigurations(read_sealed(run.path, run.path / row.reconfigurations))
    except FileNotFoundError:
        return ()
