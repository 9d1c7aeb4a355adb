"""Computes the expected frauds and aggregates: sums each window, then applies its model."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Columns, Input

FRAUD, AGGREGATE = 0, 1


def oracle(data: Input) -> Columns:
    """Return (ts, kind, value) for every fraudulent transaction and every rule's aggregate.

    The model is 0 in the first window. In window w it is (aggregate of window w - 1 + the rule that
    closed it) modulo 1000.
    """
    events = total_order(data, np.dtype([("value", np.int64)]))
    value = events.payload["value"].astype(np.int64, copy=False)
    rule = events.kind == data.alphabet.kinds.index("rule")
    window = np.cumsum(rule) - rule  # a rule belongs to the window that it closes
    ends = np.flatnonzero(rule)
    sums_up_to = np.cumsum(np.where(rule, 0, value), dtype=np.int64)[ends]
    aggregates = np.diff(sums_up_to, prepend=np.int64(0))
    models = np.concatenate([np.zeros(1, np.int64), (aggregates + value[ends]) % 1000])
    emitted = rule | (value % 1000 == models[window])
    value[ends] = aggregates
    return {
        "ts": events.ts[emitted],
        "kind": np.where(rule[emitted], AGGREGATE, FRAUD).astype(np.int8),
        "value": value[emitted],
    }
