"""Reads the counts that tasks of `layers` keep on the 100 ms grid (Steps.java)."""

from pathlib import Path

import numpy as np

from streamlab.engines.protocol import IntArray, Progress
from streamlab.engines.recording import STEP_NS

_COUNTS = 4
"""Columns before those of the latencies: emitted, consumed, outputs, and the longest latency in ns."""
_SUB_BUCKETS = 8
"""Buckets per power of two, so that a latency is exact to within 12.5 %."""
_BUCKETS = (64 - 3) * _SUB_BUCKETS


def read_progress(path: Path) -> Progress:
    """Return the counts of a run over time; the file has a row of int64 for each step."""
    steps = np.fromfile(path, dtype="<i8").astype(np.int64).reshape(-1, _COUNTS + _BUCKETS)
    emitted, consumed, outputs, longest = np.ascontiguousarray(steps[:, :_COUNTS].T)
    by_bucket = np.cumsum(steps[:, _COUNTS:], axis=1)
    return Progress(
        step_ns=STEP_NS,
        emitted=emitted,
        consumed=consumed,
        outputs=outputs,
        latency_p50_ns=_percentile(by_bucket, longest, 50),
        latency_p99_ns=_percentile(by_bucket, longest, 99),
        latency_max_ns=np.where(outputs > 0, longest, -1),
    )


def _percentile(by_bucket: IntArray, longest: IntArray, percent: int) -> IntArray:
    """Return a percentile of each step: the end of the bucket that has it; -1 without outputs.

    Args:
        by_bucket: for each step, the cumulative counts of outputs by bucket.
        longest: the longest latency of each step.
        percent: which percentile.
    """
    total = by_bucket[:, -1]
    bucket = (by_bucket < -(-total * percent // 100)[:, None]).sum(axis=1)
    # A bucket is shift * 8 + (value >> shift).
    shift = np.maximum(bucket // _SUB_BUCKETS - 1, 0)
    highest = ((bucket - shift * _SUB_BUCKETS + 1) << shift) - 1
    return np.where(total > 0, np.minimum(highest, longest), -1)
