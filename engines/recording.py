"""Computes latency histograms and progress from the times of each event and output of an open-loop run.

The module serves engines that store one number per event. All of its code runs after the timed part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from streamlab.engines.protocol import Histogram, IntArray, Measured, OfferedLoad, Progress, Sent

LATENCY = (
    "from the due time of the input event that made the output to its emission, warm-up left out"
)
SERVICE = (
    "from when the engine took the input event that made the output to the emission: no waiting "
    "in it"
)
PUNCTUAL_NS = 1_000_000
"""Events sent up to this long after the end of a load count as sent, because the last may be due then."""
STEP_NS = 100_000_000
"""Width of a row of progress."""
MAX_STEPS = 36_000
"""Steps of one hour; later events count for the last step."""

_HIGHEST_NS = 3600 * 1_000_000_000
"""One hour, the highest latency of the histograms."""
_SUB_BUCKET_BITS = 11
"""2^11 sub-buckets are the fewest that distinguish 3 significant digits (HdrHistogram: 2 x 10^3, rounded up)."""
_HALF = 1 << (_SUB_BUCKET_BITS - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """An open-loop run; all times in ns after its start.

    Attributes:
        due_ns: int64[n], per event in total order.
        done_ns: int64[n], when the engine finished the event.
        taken_ns: int64[n], when the engine took the event.
        made_by: int64[m], index of the event that made each output.
        emit_ns: int64[m], when each output appeared; None if outputs appear when their event is done.
        sent_ns: int64[n], when the source handed the event over; None for a virtual source, which hands it over when
            due.
        cause_due_ns: int64[m], when the cause of each output was due; None if the cause is the event that made it.
    """

    due_ns: IntArray
    taken_ns: IntArray
    done_ns: IntArray
    made_by: IntArray
    emit_ns: IntArray | None = None
    sent_ns: IntArray | None = None
    cause_due_ns: IntArray | None = None


def measured(
    run: OpenRun,
    load: OfferedLoad,
    *,
    plan: str | None = None,
    counters: Mapping[str, float] | None = None,
) -> Measured:
    """Return the measurements of a run."""
    due = run.due_ns[run.made_by] if run.cause_due_ns is None else run.cause_due_ns
    emit = run.done_ns[run.made_by] if run.emit_ns is None else run.emit_ns
    service = emit - run.taken_ns[run.made_by]
    steady = due >= load.warm_up_ns
    return Measured(
        events=len(run.done_ns),
        latency=histogram((emit - due)[steady], LATENCY),
        warm_up_latency=histogram((emit - due)[~steady], LATENCY),
        service_latency=histogram(service[steady], SERVICE),
        progress=progress(
            sent_ns=run.due_ns if run.sent_ns is None else run.sent_ns,
            done_ns=run.done_ns,
            emit_ns=emit,
            latency_ns=emit - due,
        ),
        sent=_source_report(run, load),
        plan=plan,
        counters=counters or {},
    )


def _source_report(run: OpenRun, load: OfferedLoad) -> Sent:
    if run.sent_ns is None:
        lag = histogram(np.empty(0, dtype=np.int64), "none: the source is virtual")
        events = int(np.searchsorted(run.due_ns, load.end_ns, side="right"))
        return Sent(events=events, lag=lag, own_thread=False)
    lag = histogram(run.sent_ns - run.due_ns, "per event, from due to handed over")
    # Sources of several threads do not send in total order.
    events = int(np.count_nonzero(run.sent_ns <= load.end_ns + PUNCTUAL_NS))
    return Sent(events=events, lag=lag, own_thread=True)


def histogram(values_ns: IntArray, definition: str) -> Histogram:
    """Return the histogram of latencies.

    The buckets are those of HdrHistogram with 3 significant digits and a lowest value of 1 ns: exact below 2,048 ns,
    then 1,024 buckets per power of two. Values are clipped to [0, 1 h].
    """
    values = np.clip(values_ns, 0, _HIGHEST_NS)
    # A double is exact up to 2^53 ns, and its exponent is the number's width in bits.
    shift = np.maximum(np.frexp(values.astype(np.float64))[1].astype(np.int64), _SUB_BUCKET_BITS)
    shift -= _SUB_BUCKET_BITS
    counts = np.bincount((shift << (_SUB_BUCKET_BITS - 1)) + (values >> shift))
    return histogram_of(counts.astype(np.int64), definition)


def histogram_of(counts: IntArray, definition: str) -> Histogram:
    """Return a histogram from the counts of all buckets."""
    nonempty = np.flatnonzero(counts)
    return Histogram(
        values_ns=_highest_in(nonempty), counts=counts[nonempty], definition=definition
    )


def _highest_in(bucket: IntArray) -> IntArray:
    """Return the highest value of each bucket; the bucket of a value is `shift * _HALF + (value >> shift)`."""
    shift = np.maximum(bucket // _HALF - 1, 0)
    highest: IntArray = ((bucket - shift * _HALF + 1) << shift) - 1
    return highest


def progress(
    *, sent_ns: IntArray, done_ns: IntArray, emit_ns: IntArray, latency_ns: IntArray
) -> Progress:
    """Return counts and latencies on the 100 ms grid, up to the last step that is not empty.

    `sent_ns` and `done_ns` are int64[n], per event; `emit_ns` and `latency_ns` int64[m], per output.
    """
    sent, done, emit = (_steps(times) for times in (sent_ns, done_ns, emit_ns))
    rows = 1 + max(int(steps.max(initial=0)) for steps in (sent, done, emit))
    p50, p99, maxima = _by_step(emit, latency_ns, rows)
    return Progress(
        step_ns=STEP_NS,
        emitted=_counts(sent, rows),
        consumed=_counts(done, rows),
        outputs=_counts(emit, rows),
        latency_p50_ns=p50,
        latency_p99_ns=p99,
        latency_max_ns=maxima,
    )


def _steps(times_ns: IntArray) -> IntArray:
    return np.minimum(times_ns // STEP_NS, MAX_STEPS - 1)


def _counts(steps: IntArray, rows: int) -> IntArray:
    return np.bincount(steps, minlength=rows).astype(np.int64)


def counts_by_step(times_ns: IntArray, rows: int) -> IntArray:
    """Return the number of times in each step; later times count for the last step."""
    return np.bincount(np.minimum(times_ns // STEP_NS, rows - 1), minlength=rows).astype(np.int64)


def _by_step(steps: IntArray, latency_ns: IntArray, rows: int) -> tuple[IntArray, ...]:
    """Return p50, p99 and maximum of the latencies of each step; -1 for steps without outputs."""
    if (np.diff(steps) < 0).any():
        order = np.argsort(steps, kind="stable")
        steps, latency_ns = steps[order], latency_ns[order]
    quantiles = np.full((3, rows), -1, dtype=np.int64)
    borders = np.searchsorted(steps, np.arange(rows + 1))
    for row, (begin, end) in enumerate(pairwise(borders)):
        count = int(end - begin)
        if count:
            ranks = [-(-count * share // 100) - 1 for share in (50, 99, 100)]
            quantiles[:, row] = np.sort(latency_ns[begin:end])[ranks]
    return quantiles[0], quantiles[1], quantiles[2]
