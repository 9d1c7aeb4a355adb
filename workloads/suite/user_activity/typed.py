"""Yahoo query II as a typed graph (`model.dataflow`): adds each block's events of a user to the counts so far.

Counts are emitted after they are stored. Counts that cannot be stored are missing in the answer.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.schema import CLICK, EVENT, FIELDS, PURCHASE, VIEW
from streamlab.workloads.model import Dataflow, Params
from streamlab.workloads.model.dataflow import Flow, OpKeyedUnordered, OpStateless, U, of_events
from streamlab.workloads.suite.user_activity.persist import row_store

ACTION = U("user", np.dtype([("ts", np.int64), ("type", np.int8)]))
COUNTS = [("views", np.int64), ("clicks", np.int64), ("purchases", np.int64)]
ACTIVITY = U("user", np.dtype([("ts", np.int64), *COUNTS]))


def by_user(key: int, value: Any, out: Any) -> None:
    """Make the user the key."""
    out.emit(value.user, value.ts, value.type)


def take(a: Any, key: int, value: Any) -> None:
    """Count an event by its type."""
    a.views = value.type == VIEW
    a.clicks = value.type == CLICK
    a.purchases = value.type == PURCHASE


def combine(x: Any, y: Any, into: Any) -> None:
    """Add two counts."""
    into.views = x.views + y.views
    into.clicks = x.clicks + y.clicks
    into.purchases = x.purchases + y.purchases


def update_state(s: Any, agg: Any) -> None:
    """Add the counts of a block, and set whether there were any."""
    s.views += agg.views
    s.clicks += agg.clicks
    s.purchases += agg.purchases
    s.changed = agg.views + agg.clicks + agg.purchases > 0


def program(query: Params) -> Dataflow:
    """Return the graph for query parameters."""
    store = row_store(query)

    def on_marker(s: Any, key: int, m: Any, out: Any) -> None:
        if s.changed and store(key, m.ts, s.views, s.clicks, s.purchases) == 0:
            out.emit(key, m.ts, s.views, s.clicks, s.purchases)

    flow = Flow("user_activity", markers=int(query["markers_ms"]))
    events = flow.source(EVENT, FIELDS)
    actions = OpStateless(name="by_user", reads=of_events(FIELDS), gives=ACTION, on_item=by_user)
    counting = OpKeyedUnordered(
        name="counting",
        reads=ACTION,
        gives=ACTIVITY,
        aggregate=np.dtype(COUNTS),
        state=np.dtype([*COUNTS, ("changed", np.int8)]),
        take=take,
        combine=combine,
        update_state=update_state,
        on_marker=on_marker,
    )
    return flow.gives(flow.add(counting, flow.add(actions, events)))
