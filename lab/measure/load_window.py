"""The measuring window of an open-loop trial, in points: what is tested for steadiness and growth.

A point is as many rows of the engine's 100 ms grid as make a second, or fewer where the window is
short, so that there are 20 points where the grid allows: a window of 3 s has 30 points of 100 ms.
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
        point_s: width of a point.
        kept_up: float64[n], 1 + (events done - events due) / mean events due: 1 where the engine
            does what is due, whatever the arrivals are like; C / R where it does C of R.
        noise_sd: what counting alone makes `kept_up` vary: of m events due in a point, and by the
            engine's units.
        backlog: float64[n], mean of emitted - consumed over the point.
        backlog_max: largest on the grid.
        unit: events that the engine is done with at once, where that is so many that most rows see
            none; else 0.
        latency_at: float64[k], the points that have outputs.
        latency_ns: float64[k], median of the median latencies of their rows.
    """

    point_s: float
    kept_up: FloatArray
    noise_sd: float
    backlog: FloatArray
    backlog_max: int
    unit: float
    latency_at: FloatArray
    latency_ns: FloatArray


def window(progress: Progress, load: OfferedLoad) -> Window:
    """Cut the window out of what the engine counted.

    Rows that the engine did not write, since it was done before, have no events. Rows that lie
    partly in the warm-up or after the load's end are left out, and at the end those that do not
    fill a point.
    """
    step = progress.step_ns
    first, last = -(-load.warm_up_ns // step), load.end_ns // step
    rows = max(last - first, 0)
    width = max(1, min(POINT_NS // step, rows // FEWEST_POINTS))
    points = rows // width
    last = first + points * width
    emitted, consumed = _filled(progress.emitted, last), _filled(progress.consumed, last)
    edges = (first + width * np.arange(points + 1, dtype=np.int64)) * step
    due_by = sum(
        (np.searchsorted(due, edges, side="left") for due in load.due_ns),
        start=np.zeros(points + 1, dtype=np.int64),
    )
    done_in = consumed[first:].reshape(points, width).sum(axis=1)
    due_in = np.diff(due_by).astype(np.float64)
    mean_due = float(np.mean(due_in)) if points else 0.0
    excess = done_in - due_in
    kept_up = 1 + excess / mean_due if mean_due > 0 else np.zeros(points)
    backlog = (np.cumsum(emitted) - np.cumsum(consumed))[first:]
    unit = _unit(consumed[first:])
    at, latency = _latency(_filled(progress.latency_p50_ns, last, -1.0)[first:], width)
    return Window(
        point_s=width * step / 1e9,
        kept_up=kept_up,
        # An engine that is never idle shows the counting noise of random arrivals. A point gains or
        # loses up to a unit at each end: two uniform errors of sd unit / sqrt(12).
        noise_sd=float(np.sqrt(mean_due + unit**2 / 6)) / mean_due if mean_due > 0 else 0.0,
        backlog=backlog.reshape(points, width).mean(axis=1) if points else np.zeros(0),
        backlog_max=int(backlog.max()) if points else 0,
        unit=unit,
        latency_at=at,
        latency_ns=latency,
    )


def _filled(values: FloatArray | np.ndarray, rows: int, fill: float = 0.0) -> FloatArray:
    found = np.full(rows, fill)
    kept = min(rows, len(values))
    found[:kept] = values[:kept]
    return found


def _unit(consumed: FloatArray) -> float:
    """Return the mean of the rows that have events, where fewer than half have any."""
    some = consumed[consumed > 0]
    return float(np.mean(some)) if 0 < len(some) < len(consumed) / 2 else 0.0


def _latency(p50_ns: FloatArray, width: int) -> tuple[FloatArray, FloatArray]:
    points = p50_ns.reshape(-1, width)
    at = [k for k, point in enumerate(points) if (point >= 0).any()]
    values = [float(np.median(points[k][points[k] >= 0])) for k in at]
    return np.array(at, dtype=np.float64), np.array(values, dtype=np.float64)
