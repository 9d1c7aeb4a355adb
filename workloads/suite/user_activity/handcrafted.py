"""Yahoo query II, written by hand: an operator O+ (`model.operators`) whose windows keep their state."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.schema import CLICK, EVENT, FIELDS, PURCHASE, VIEW
from streamlab.workloads.model import InputType, Operator, Params, Query, Window
from streamlab.workloads.model.operators.program import SINGLE
from streamlab.workloads.suite.user_activity.persist import row_store

COUNTS = [("views", np.int64), ("clicks", np.int64), ("purchases", np.int64)]
ACTIVITY = np.dtype([("ts", np.int64), ("user", np.int64), *COUNTS])


def keys(t: Any, out: Any) -> None:
    """Add the user as key."""
    out.add(t.user)


def update(w: Any, t: Any, out: Any) -> None:
    """Count an event by its type."""
    if t.type == VIEW:
        w[0].views += 1
    elif t.type == CLICK:
        w[0].clicks += 1
    elif t.type == PURCHASE:
        w[0].purchases += 1
    else:
        return
    w[0].changed = 1


def slide(w: Any) -> None:
    """Keep the counts; reset the flag that says whether a block had events."""
    w[0].changed = 0


def program(query: Params) -> Query:
    """Return the query for query parameters."""
    markers_ms, store = int(query["markers_ms"]), row_store(query)

    def expire(w: Any, out: Any) -> None:
        state = w[0]
        if state.changed != 0:
            end = state.left + markers_ms
            if store(state.key, end, state.views, state.clicks, state.purchases) == 0:
                out.emit(state.key, state.views, state.clicks, state.purchases)

    counting = Operator(
        name="counting",
        inputs=(InputType(name=EVENT, fields=FIELDS),),
        window=Window(advance=markers_ms, size=markers_ms, type=SINGLE),
        output=ACTIVITY,
        state=np.dtype([*COUNTS, ("changed", np.int8)]),
        keys=keys,
        update=update,
        expire=expire,
        slide=slide,
    )
    return Query(name="user_activity", operators=(counting,))
