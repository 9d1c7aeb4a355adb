"""Computes the expected output of forward: repeats every tuple."""

from collections.abc import Callable

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.forward.generate import FIELDS


def oracle(copies: int) -> Callable[[Input], Columns]:
    """Return the oracle for a number of copies."""

    def repeat(data: Input) -> Columns:
        """Return (ts, id, value): each tuple `copies` times, 1 ms later."""
        events = total_order(data, FIELDS)
        columns = {"ts": events.ts + 1, **events.payload}
        return {name: np.repeat(values, copies) for name, values in columns.items()}

    return repeat
