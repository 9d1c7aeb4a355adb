"""Yahoo query IV as a typed graph (`model.dataflow`): filters and looks up, counts by block, sums the last blocks.

Source: Data-Trace Types, figure 3. A block has the events between two markers.

Campaigns without a view in the window have no output. Ads without a campaign are ignored.
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
VIEWS = np.dtype([("views", np.int64)])


def take(a: Any, key: int, value: Any) -> None:
    """Count a view."""
    a.views = 1


def combine(x: Any, y: Any, into: Any) -> None:
    """Add two counts."""
    into.views = x.views + y.views


def on_marker(s: Any, key: int, m: Any, out: Any) -> None:
    """Emit the views of the window that ends at the marker."""
    if s.views > 0:
        out.emit(key, m.ts, s.views)


def program(query: Params) -> Dataflow:
    """Return the graph for query parameters."""
    find = find_campaign(query)
    blocks = blocks_in(query)

    def views(key: int, value: Any, out: Any) -> None:
        if value.type == VIEW:
            campaign = find(value.ad)
            if campaign != NONE:
                out.emit(campaign, value.ts)

    def update_state(s: Any, agg: Any) -> None:
        s.views += agg.views - s.block_views[s.oldest]
        s.block_views[s.oldest] = agg.views
        s.oldest = (s.oldest + 1) % blocks

    flow = Flow("campaign_views", markers=int(query["markers_ms"]))
    events = flow.source(EVENT, FIELDS)
    viewed = OpStateless(name="views", reads=of_events(FIELDS), gives=VIEWED, on_item=views)
    counting = OpKeyedUnordered(
        name="counting",
        reads=VIEWED,
        gives=COUNTED,
        aggregate=VIEWS,
        state=np.dtype([*VIEWS.descr, ("oldest", np.int32), ("block_views", np.int64, (blocks,))]),
        take=take,
        combine=combine,
        update_state=update_state,
        on_marker=on_marker,
    )
    return flow.gives(flow.add(counting, flow.add(viewed, events)))
