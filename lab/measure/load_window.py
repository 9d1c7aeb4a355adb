"""Extracts the measuring window of an open-loop trial as points, for tests of steadiness and growth.

A point covers one second of the engine's 100 ms grid.
In a short window a point covers less, so that there are at least 20 points: 3 s give 30 points of 100 ms.
"""

from dataclasses import dataclass

import numpy as np

from streamlab.engines.protocol import OfferedLoad, Progress
from streamlab.lab.measure.steady import FloatArray

POINT_NS = 1_000_000_000
FEWEST_POINTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Series over the window; point k covers [start + k, start + k + 1) x `point_s`.

    Attributes:
        kept_up: float64[n], 1 + (events done - events due) / mean events due. The value is 1 if the
            engine completes all due events, however they arrive, and C / R if it completes C of R.
        noise_sd: standard deviation of `kept_up` from counting alone: random arrivals and units.
        backlog: float64[n], mean of emitted - consumed over the point.
        backlog_max: largest backlog on the grid.
        unit: number of events that the engine completes at once, if most rows complete none; else 0.
        latency_points: float64[k], indices of the points with outputs.
        latency_ns: float64[k], median of the rows' median latencies at these points.
    """

    point_s: float
    kept_up: FloatArray
    noise_sd: float
    backlog: FloatArray
    backlog_max: int
    unit: float
    latency_points: FloatArray
    latency_ns: FloatArray


def window(progress: Progress, load: OfferedLoad) -> Window:
    """Return the window of an engine's progress.

    Rows after the engine's last row count as empty.
    Drops rows that are partly in the warm-up or after the load's end, and final rows that do not fill a point.
    """
    step = progress.step_ns
    first_row, end_row = -(-load.warm_up_ns // step), load.end_ns // step
    rows = max(end_row - first_row, 0)
    width = max(1, min(POINT_NS // step, rows // FEWEST_POINTS))
    points = rows // width
    end_row = first_row + points * width
    emitted, consumed = _pad(progress.emitted, end_row), _pad(progress.consumed, end_row)
    edges = (first_row + width * np.arange(points + 1, dtype=np.int64)) * step
    due_before = sum(
        (np.searchsorted(due, edges, side="left") for due in load.due_ns),
        start=np.zeros(points + 1, dtype=np.int64),
    )
    completed = consumed[first_row:].reshape(points, width).sum(axis=1)
    due_per_point = np.diff(due_before).astype(np.float64)
    mean_due = float(np.mean(due_per_point)) if points else 0.0
    excess = completed - due_per_point
    kept_up = 1 + excess / mean_due if mean_due > 0 else np.zeros(points)
    backlog = (np.cumsum(emitted) - np.cumsum(consumed))[first_row:]
    unit = _batch_size(consumed[first_row:])
    latency_points, latency_ns = _median_latencies(
        _pad(progress.latency_p50_ns, end_row, -1.0)[first_row:], width
    )
    return Window(
        point_s=width * step / 1e9,
        kept_up=kept_up,
        # An engine that is never idle shows the counting noise of random arrivals. A point gains or
        # loses up to a unit at each end: two uniform errors of sd unit / sqrt(12).
        noise_sd=float(np.sqrt(mean_due + unit**2 / 6)) / mean_due if mean_due > 0 else 0.0,
        backlog=backlog.reshape(points, width).mean(axis=1) if points else np.zeros(0),
        backlog_max=int(backlog.max()) if points else 0,
        unit=unit,
        latency_points=latency_points,
        latency_ns=latency_ns,
    )


def _pad(values: FloatArray | np.ndarray, rows: int, fill: float = 0.0) -> FloatArray:
    padded = np.full(rows, fill)
    count = min(rows, len(values))
    padded[:count] = values[:count]
    return padded


def _batch_size(consumed: FloatArray) -> float:
    """Return the mean over the rows with events, if fewer than half of the rows have events; else 0."""
    batches = consumed[consumed > 0]
    return float(np.mean(batches)) if 0 < len(batches) < len(consumed) / 2 else 0.0


def _median_latencies(p50_ns: FloatArray, width: int) -> tuple[FloatArray, FloatArray]:
    points = p50_ns.reshape(-1, width)
    indices = [k for k, point in enumerate(points) if (point >= 0).any()]
    values = [float(np.median(points[k][points[k] >= 0])) for k in indices]
    return np.array(indices, dtype=np.float64), np.array(values, dtype=np.float64)
