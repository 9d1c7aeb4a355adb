"""Yahoo query III, written by hand: an operator O+ (`model.operators`) whose windows keep their state."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.schema import CLICK, EVENT, FIELDS, NONE, PURCHASE, VIEW
from streamlab.workloads.inputs.ads.tables import find_location
from streamlab.workloads.model import InputType, Operator, Params, Query, Window
from streamlab.workloads.model.operators.program import SINGLE

HISTORY = [
    ("events", np.int64),
    ("views", np.int64),
    ("clicks", np.int64),
    ("purchases", np.int64),
    ("last_ts", np.int64),
]
OUTPUT = np.dtype([("ts", np.int64), ("location", np.int64), *HISTORY])


def update(w: Any, t: Any, out: Any) -> None:
    """Add an event; events come in time order."""
    w[0].events += 1
    if t.type == VIEW:
        w[0].views += 1
    elif t.type == CLICK:
        w[0].clicks += 1
    elif t.type == PURCHASE:
        w[0].purchases += 1
    w[0].last_ts = t.ts
    w[0].changed = 1


def expire(w: Any, out: Any) -> None:
    """Emit the history of a location that had events."""
    state = w[0]
    if state.changed != 0:
        out.emit(state.key, state.events, state.views, state.clicks, state.purchases, state.last_ts)


def slide(w: Any) -> None:
    """Keep the history; reset the flag that says whether a block had events."""
    w[0].changed = 0


def program(query: Params) -> Query:
    """Return the query for query parameters."""
    find = find_location(query)
    markers_ms = int(query["markers_ms"])

    def keys(t: Any, out: Any) -> None:
        location = find(t.user)
        if location != NONE:
            out.add(location)

    history = Operator(
        name="history",
        inputs=(InputType(name=EVENT, fields=FIELDS),),
        window=Window(advance=markers_ms, size=markers_ms, type=SINGLE),
        output=OUTPUT,
        state=np.dtype([*HISTORY, ("changed", np.int8)]),
        keys=keys,
        update=update,
        expire=expire,
        slide=slide,
    )
    return Query(name="location_history", operators=(history,))
