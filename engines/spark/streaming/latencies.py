"""Computes latencies and progress of an open-loop run from the sink's record of each micro-batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.engines.protocol import Histogram, IntArray, OfferedLoad, Progress
from streamlab.engines.spark.streaming.load_files import Drops
from streamlab.workloads.model import Columns

STEP_NS = 100_000_000
STEPS_PER_OCTAVE_BITS = 10
"""1,024 buckets per power of two: values are exact to within 0.1 %."""

LATENCY = (
    "from the due time of the event that caused an output (the first of those with its stream and "
    "event time) to its micro-batch's output in the driver; waiting for the file to be complete "
    "is part of it"
)
SERVICE = "from the start of the micro-batch that took the event to its output in the driver"
LAG = "per event, from when its file was to be dropped to when it was"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One micro-batch as recorded by the driver; times are ns after the start of the load.

    Attributes:
        taken_ns: when Spark began the micro-batch.
        done_ns: when the driver had its output.
        output: columns of the output, with `src`.
        processed: per stream, the events processed by all micro-batches up to this one.
    """

    taken_ns: int
    done_ns: int
    output: Columns
    processed: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTimes:
    """Result of `stamp_outputs`."""

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
) -> OutputTimes:
    """Return latencies and progress.

    Args:
        batches: the micro-batches, in order.
        ts: event times of each stream.
        load: the offered load.
        drops: the planned drops.
        dropped_ns: when each was done, after the start of the load.
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
    return OutputTimes(
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
    """Return the delay of events' drops after their planned times."""
    counts = _Counts()
    counts.add(np.repeat(dropped_ns - drops.planned_ns, drops.events))
    return counts.histogram(LAG)


def due_times(
    output: Columns, ts: Sequence[IntArray], due_ns: Sequence[IntArray]
) -> npt.NDArray[np.int64]:
    """Return for each output the due time of the event that caused it.

    An output carries the stream and event time of that event; among several such events the first counts, so that no
    latency is too short.
    """
    source = output["src"]
    due = np.zeros(len(source), dtype=np.int64)
    for src in np.unique(source):
        mask = source == src
        due[mask] = due_ns[src][np.searchsorted(ts[src], output["ts"][mask])]
    return due


def _rows(batches: Sequence[Batch], dropped_ns: IntArray) -> int:
    last = max([0, *dropped_ns.tolist(), *(batch.done_ns for batch in batches)])
    return int(last // STEP_NS) + 1


class _Counts:
    """Counts values in log-linear buckets, those of HdrHistogram with three digits."""

    def __init__(self) -> None:
        self._values = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, values_ns: npt.NDArray[np.int64]) -> None:
        new, counts = np.unique(_bucket(values_ns), return_counts=True)
        values = np.union1d(self._values, new)
        total = np.zeros(len(values), dtype=np.int64)
        total[np.searchsorted(values, self._values)] += self._counts
        total[np.searchsorted(values, new)] += counts
        self._values, self._counts = values, total

    def quantile(self, share: float) -> int:
        """Return the smallest value with a share of the samples at or below it; -1 without samples."""
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
