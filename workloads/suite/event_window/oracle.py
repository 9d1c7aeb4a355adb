"""Computes the expected sums, by prefix sums over the input in total order."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Columns, Input


def oracle(data: Input) -> Columns:
    """Return (ts, sum) for every barrier: the sum of all values since the previous barrier."""
    events = total_order(data, np.dtype([("value", np.int64)]))
    barrier = events.kind == data.alphabet.kinds.index("barrier")
    values = np.where(barrier, 0, events.payload["value"])
    sums_up_to = np.cumsum(values, dtype=np.int64)[barrier]
    return {"ts": events.ts[barrier], "sum": np.diff(sums_up_to, prepend=np.int64(0))}
