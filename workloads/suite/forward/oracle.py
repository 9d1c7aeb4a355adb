"""Computes the expected output of forward: repeats every tuple."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.forward.generate import FIELDS


def oracle(data: Input, copies: int) -> Columns:
    """Return (ts, id, value): each tuple `copies` times, 1 ms later."""
    events = total_order(data, FIELDS)
    columns = {"ts": events.ts + 1, **events.payload}
    return {name: np.repeat(values, copies) for name, values in columns.items()}
