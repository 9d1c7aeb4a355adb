"""Yahoo query III as a typed graph (`model.dataflow`): adds up the history of each location.

Locations without an event in a block have no output at its marker. Users without a location are
ignored.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.schema import CLICK, EVENT, FIELDS, NONE, PURCHASE, VIEW
from streamlab.workloads.inputs.ads.tables import find_location
from streamlab.workloads.model import Dataflow, Params
from streamlab.workloads.model.dataflow import Flow, OpKeyedUnordered, OpStateless, U, of_events

ACTION = U("location", np.dtype([("ts", np.int64), ("type", np.int8)]))
HISTORY = [
    ("events", np.int64),
    ("views", np.int64),
    ("clicks", np.int64),
    ("purchases", np.int64),
    ("last_ts", np.int64),
]
LOCATED_HISTORY = U("location", np.dtype([("ts", np.int64), *HISTORY]))
LONG_AGO = -(2**62)
"""A time before all events."""


def take(a: Any, key: int, value: Any) -> None:
    """Make the history of one event."""
    a.events = 1
    a.views = value.type == VIEW
    a.clicks = value.type == CLICK
    a.purchases = value.type == PURCHASE
    a.last_ts = value.ts


def nothing(a: Any) -> None:
    """Make the identity: the history of no event."""
    a.last_ts = LONG_AGO


def combine(x: Any, y: Any, into: Any) -> None:
    """Add two histories."""
    into.events = x.events + y.events
    into.views = x.views + y.views
    into.clicks = x.clicks + y.clicks
    into.purchases = x.purchases + y.purchases
    into.last_ts = max(x.last_ts, y.last_ts)


def update_state(s: Any, agg: Any) -> None:
    """Add a block to the history, and set whether it had events."""
    s.events += agg.events
    s.views += agg.views
    s.clicks += agg.clicks
    s.purchases += agg.purchases
    if agg.events > 0:
        s.last_ts = agg.last_ts
    s.changed = agg.events > 0


def on_marker(s: Any, key: int, m: Any, out: Any) -> None:
    """Emit the history of a location that had events in the block."""
    if s.changed:
        out.emit(key, m.ts, s.events, s.views, s.clicks, s.purchases, s.last_ts)


def program(query: Params) -> Dataflow:
    """Return the graph for query parameters."""
    find = find_location(query)

    def by_location(key: int, value: Any, out: Any) -> None:
        location = find(value.user)
        if location != NONE:
            out.emit(location, value.ts, value.type)

    flow = Flow("location_history", markers=int(query["markers_ms"]))
    events = flow.source(EVENT, FIELDS)
    located = OpStateless(
        name="by_location", reads=of_events(FIELDS), gives=ACTION, on_item=by_location
    )
    history = OpKeyedUnordered(
        name="history",
        reads=ACTION,
        gives=LOCATED_HISTORY,
        aggregate=np.dtype(HISTORY),
        state=np.dtype([*HISTORY, ("changed", np.int8)]),
        take=take,
        identity=nothing,
        combine=combine,
        update_state=update_state,
        on_marker=on_marker,
    )
    return flow.gives(flow.add(history, flow.add(located, events)))
