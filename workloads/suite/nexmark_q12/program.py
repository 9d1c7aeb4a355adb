"""Query 12 as an operator with tumbling windows of arrival time for each bidder."""

from typing import Any

import numpy as np

from streamlab.workloads.declarative.declaration import (
    ARRIVAL,
    TUMBLING,
    Aggregate,
    Column,
    Declaration,
    Function,
    WindowStep,
)
from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, FIELDS, fields
from streamlab.workloads.model import InputType, Operator, Query, Window
from streamlab.workloads.model.operators.program import FLUSH

OUTPUT = np.dtype([("ts", np.int64), ("bidder", np.int32), ("bids", np.int64)])

TICK_NS = 1_000_000
"""Times are in milliseconds."""


def program(size_ms: int) -> Query:
    """Return the query for windows of this length."""
    operator = Operator(
        name="counts",
        inputs=(InputType(name=EVENT, fields=fields("type", "person")),),
        window=Window(advance=size_ms, size=size_ms),
        output=OUTPUT,
        state=np.dtype([("bids", np.int64)]),
        keys=_bidder,
        update=_add,
        expire=_emit,
    )
    return Query(name="nexmark_q12", operators=(operator,), at_end=FLUSH, arrival_tick_ns=TICK_NS)


def declaration(size_ms: int) -> Declaration:
    """Return the declaration from which invariants of the answer are derived: counts of bids for each bidder."""
    return Declaration(
        name="nexmark_q12",
        step=WindowStep(
            kind=TUMBLING,
            size=size_ms,
            advance=size_ms,
            result={"bids": Aggregate(function=Function.COUNT)},
            time=ARRIVAL,
        ),
        keys=("bidder",),
        where=f"type == {BID}",
        reads=tuple(Column(name=name, dtype=FIELDS[name]) for name in ("type", "person")),
        output=tuple(Column(name=name, dtype=OUTPUT[name]) for name in OUTPUT.names or ()),
        user_functions=False,
        unit="ms",
        flushes=True,
    )


def _bidder(t: Any, out: Any) -> None:
    """Add the bidder of a bid as key."""
    if t.type == BID:
        out.add(t.person)


def _add(w: Any, t: Any, out: Any) -> None:
    w[0].bids += 1


def _emit(w: Any, out: Any) -> None:
    out.emit(w[0].key, w[0].bids)
