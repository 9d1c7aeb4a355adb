"""Latencies and progress of an open-loop run, from what the sink saw of each micro-batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import Histogram, IntArray, OfferedLoad, Progress
from streamlab.engines.spark.streaming.load_files import Drops
from streamlab.workloads.model import Columns

STEP_NS = 100_000_000
STEPS_PER_OCTAVE_BITS = 10
"""1,024 buckets for each power of two: values are kept to within 0.1 %."""

LATENCY = (
    "from the due time of the event that caused an output (the first of those with its stream and "
    "event time) to its micro-batch's output in the driver; waiting for the file to be complete "
    "is part of it"
)
SERVICE = "from the start of the micro-batch that took the event to its output in the driver"
LAG = "per event, from when its file was to be dropped to when it was"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One micro-batch as the driver saw it; times are ns after the start of the load.

    Attributes:
        taken_ns: when Spark began it.
        done_ns: when the driver had its output.
        output: columns of the output, with `src`.
        processed: events of each stream that all micro-batches until now processed.
    """

    taken_ns: int
    done_ns: int
    output: Columns
    processed: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """What `stamp_outputs` found."""

    latency: Histogram
    warm_up_latency: Histogram
    service_latency: Histogram
    progress: Progress


def stamp_outputs(
    batches: Sequence[Batch],
    ts: Sequence[IntArray],
    load: OfferedLoad,
    drops: Drops,
    dropped_ns: IntArray,
) -> Stamped:
    """Return latencies and progress.

    Args:
        batches: in order.
        ts: event times of each stream.
        load: the offered load.
        drops: what was dropped.
        dropped_ns: when, after the start of the load.
    """
    steady, warm_up, service = _Counts(), _Counts(), _Counts()
    rows = _rows(batches, dropped_ns)
    emitted = np.bincount(dropped_ns // STEP_NS, drops.events, rows).astype(np.int64)
    consumed, outputs = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    by_row = [_Counts() for _ in range(rows)]
    before = 0
    for batch in batches:
        row = batch.done_ns // STEP_NS
        due = due_times(batch.output, ts, load.due_ns)
        late = batch.done_ns - due
        warm = due < load.warm_up_ns
        warm_up.add(late[warm])
        steady.add(late[~warm])
        service.add(np.full(int((~warm).sum()), batch.done_ns - batch.taken_ns))
        by_row[row].add(late)
        outputs[row] += len(due)
        processed = sum(batch.processed.values())
        consumed[row] += processed - before
        before = processed
    return Stamped(
        latency=steady.histogram(LATENCY),
        warm_up_latency=warm_up.histogram(LATENCY),
        service_latency=service.histogram(SERVICE),
        progress=Progress(
            step_ns=STEP_NS,
            emitted=emitted,
            consumed=consumed,
            outputs=outputs,
            latency_p50_ns=np.array([counts.quantile(0.5) for counts in by_row], dtype=np.int64),
            latency_p99_ns=np.array([counts.quantile(0.99) for counts in by_row], dtype=np.int64),
            latency_max_ns=np.array([counts.quantile(1.0) for counts in by_row], dtype=np.int64),
        ),
    )


def send_lag(drops: Drops, dropped_ns: IntArray) -> Histogram:
    """Return how late the events were dropped."""
    counts = _Counts()
    counts.add(np.repeat(dropped_ns - drops.planned_ns, drops.events))
    return counts.histogram(LAG)


def due_times(
    output: Columns, ts: Sequence[IntArray], due_ns: Sequence[IntArray]
) -> npt.NDArray[np.int64]:
    """Return for each output the due time of the event that caused it.

    An output carries stream and event time of that event; of several such events the first counts,
    so that a latency is never too short.
    """
    source = output["src"]
    due = np.zeros(len(source), dtype=np.int64)
    for src in np.unique(source):
        own = source == src
        due[own] = due_ns[src][np.searchsorted(ts[src], output["ts"][own])]
    return due


def _rows(batches: Sequence[Batch], dropped_ns: IntArray) -> int:
    last = max([0, *dropped_ns.tolist(), *(batch.done_ns for batch in batches)])
    return int(last // STEP_NS) + 1


class _Counts:
    """Counts in log-linear buckets, as HdrHistogram has them with three digits."""

    def __init__(self) -> None:
        self._values = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, values_ns: npt.NDArray[np.int64]) -> None:
        found, counts = np.unique(_bucket(values_ns), return_counts=True)
        values = np.union1d(self._values, found)
        total = np.zeros(len(values), dtype=np.int64)
        total[np.searchsorted(values, self._values)] += self._counts
        total[np.searchsorted(values, found)] += counts
        self._values, self._counts = values, total

    def quantile(self, share: float) -> int:
        """Return the smallest value with that share of the samples at or below; -1: no samples."""
        running = np.cumsum(self._counts)
        if not len(running):
            return -1
        return int(self._values[np.searchsorted(running, share * running[-1])])

    def histogram(self, definition: str) -> Histogram:
        return Histogram(values_ns=self._values, counts=self._counts, definition=definition)


def _bucket(values_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the highest value of each value's bucket."""
    values = np.maximum(values_ns, 0)
    # frexp gives the number of bits; above 2^53 it may round up, which no latency reaches.
    width = np.frexp(values.astype(np.float64))[1]
    shift = np.maximum(width - STEPS_PER_OCTAVE_BITS - 1, 0).astype(np.int64)
    highest: npt.NDArray[np.int64] = (((values >> shift) + 1) << shift) - 1
    return highest
