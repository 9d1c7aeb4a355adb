"""Forwards each tuple once for each of n keys, by an O+ (STRETCH, 8.2, Operator 15).

The operator computes nothing, so it measures the cost of sharing and sorting. In the paper n is the
number of instances. Here n is query parameter `copies`, so the answer does not depend on the number
of instances.
"""

from typing import Any

import numpy as np

from streamlab.workloads.model import InputType, Operator, Query, Window
from streamlab.workloads.suite.forward.generate import FIELDS, KINDS

DELTA_MS = 1
"""Window advance and size, the smallest unit of event time."""


def program(copies: int) -> Query:
    """Return the query that forwards each tuple `copies` times."""

    def keys(t: Any, out: Any) -> None:
        for key in range(copies):
            out.add(key)

    operator = Operator(
        name="forward",
        inputs=tuple(InputType(name=kind, fields=FIELDS) for kind in KINDS),
        window=Window(advance=DELTA_MS, size=DELTA_MS, type="single"),
        output=np.dtype([("ts", np.int64), ("id", np.int64), ("value", np.int32)]),
        state=np.dtype([]),
        keys=keys,
        update=_update,
        emits_on_update=True,
        buckets=copies,
        bucket=_same,
    )
    return Query(name="forward", operators=(operator,))


def _update(w: Any, t: Any, out: Any) -> None:
    out.emit(t.id, t.value)


def _same(key: int) -> int:
    return key
