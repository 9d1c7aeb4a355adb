"""Computes latencies and progress of an open-loop run from the sink's record of each micro-batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamlab.engines.protocol import IntArray, Measured, OfferedLoad, Sent
from streamlab.engines.recording import histogram, progress
from streamlab.engines.spark.streaming.load_files import Drops
from streamlab.workloads.model import Columns

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


def measure(
    batches: Sequence[Batch],
    ts: Sequence[IntArray],
    load: OfferedLoad,
    drops: Drops,
    dropped_ns: IntArray,
) -> Measured:
    """Return the measurements of a run from its micro-batches, in order.

    `ts` are the event times of each stream; `dropped_ns` is when each drop was done, after the start of the load.
    """
    none = np.empty(0, dtype=np.int64)
    done_ns, taken_ns, sizes, processed = (
        np.array(
            [
                (b.done_ns, b.taken_ns, len(b.output["ts"]), sum(b.processed.values()))
                for b in batches
            ],
            dtype=np.int64,
        )
        .reshape(-1, 4)
        .T
    )
    due = np.concatenate([none, *(due_times(batch.output, ts, load.due_ns) for batch in batches)])
    emit = np.repeat(done_ns, sizes)
    steady = due >= load.warm_up_ns
    service = np.repeat(done_ns - taken_ns, sizes)
    lag = np.repeat(dropped_ns - drops.planned_ns, drops.events)
    return Measured(
        events=int(processed.max(initial=0)),
        latency=histogram((emit - due)[steady], LATENCY),
        warm_up_latency=histogram((emit - due)[~steady], LATENCY),
        service_latency=histogram(service[steady], SERVICE),
        progress=progress(
            sent_ns=np.repeat(dropped_ns, drops.events),
            done_ns=np.repeat(done_ns, np.diff(processed, prepend=0)),
            emit_ns=emit,
            latency_ns=emit - due,
        ),
        sent=Sent(events=len(lag), lag=histogram(lag, LAG), own_thread=True),
    )


def due_times(output: Columns, ts: Sequence[IntArray], due_ns: Sequence[IntArray]) -> IntArray:
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
