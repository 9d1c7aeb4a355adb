"""Yahoo query V as a typed graph (`model.dataflow`): counts views in one window, and emits them at its end.

Windows begin at multiples of their size, not at the beginning of the input, so the state must hold
the number of its window. Blocks lie within windows.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.declaration import blocks_in
from streamlab.workloads.inputs.ads.schema import EVENT, FIELDS, NONE, VIEW
from streamlab.workloads.inputs.ads.tables import find_campaign
from streamlab.workloads.model import Dataflow, Params
from streamlab.workloads.model.dataflow import Flow, OpKeyedUnordered, OpStateless, U, of_events

VIEWED = U("campaign", np.dtype([("ts", np.int64)]))
COUNTED = U("campaign", np.dtype([("ts", np.int64), ("views", np.int64)]))
COUNT = np.dtype([("views", np.int64), ("window", np.int64)])
LONG_AGO = -(2**62)
"""A window before all others."""


def nothing(a: Any) -> None:
    """Make the identity: no views, and a window before all others."""
    a.window = LONG_AGO


def combine(x: Any, y: Any, into: Any) -> None:
    """Add two counts of one block."""
    into.views = x.views + y.views
    into.window = max(x.window, y.window)


def update_state(s: Any, agg: Any) -> None:
    """Add the views of a block to the views of its window, which may be a new one."""
    if agg.views > 0:
        s.views = agg.views + (s.views if s.window == agg.window else 0)
        s.window = agg.window


def program(query: Params) -> Dataflow:
    """Return the graph for query parameters."""
    find = find_campaign(query)
    window_ms = blocks_in(query) * int(query["markers_ms"])

    def views(key: int, value: Any, out: Any) -> None:
        if value.type == VIEW:
            campaign = find(value.ad)
            if campaign != NONE:
                out.emit(campaign, value.ts)

    def take(a: Any, key: int, value: Any) -> None:
        a.views = 1
        a.window = value.ts // window_ms

    def on_marker(s: Any, key: int, m: Any, out: Any) -> None:
        if s.views > 0 and (s.window + 1) * window_ms == m.ts:
            out.emit(key, m.ts, s.views)

    flow = Flow("campaign_views_tumbling", markers=int(query["markers_ms"]))
    events = flow.source(EVENT, FIELDS)
    viewed = OpStateless(name="views", reads=of_events(FIELDS), gives=VIEWED, on_item=views)
    counting = OpKeyedUnordered(
        name="counting",
        reads=VIEWED,
        gives=COUNTED,
        aggregate=COUNT,
        state=COUNT,
        take=take,
        identity=nothing,
        combine=combine,
        update_state=update_state,
        on_marker=on_marker,
    )
    return flow.gives(flow.add(counting, flow.add(viewed, events)))
