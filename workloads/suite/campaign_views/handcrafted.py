"""Yahoo query IV, written by hand: an operator O+ (`model.operators`) with a sliding window and a count per block."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.declaration import blocks_in
from streamlab.workloads.inputs.ads.schema import EVENT, FIELDS, NONE, VIEW
from streamlab.workloads.inputs.ads.tables import find_campaign
from streamlab.workloads.model import InputType, Operator, Params, Query, Window
from streamlab.workloads.model.operators.program import SINGLE

OUTPUT = np.dtype([("ts", np.int64), ("campaign", np.int64), ("views", np.int64)])


def expire(w: Any, out: Any) -> None:
    """Forward the views of the window."""
    if w[0].views > 0:
        out.emit(w[0].key, w[0].views)


def program(query: Params) -> Query:
    """Return the query for query parameters."""
    find = find_campaign(query)
    blocks, markers_ms = blocks_in(query), int(query["markers_ms"])

    def keys(t: Any, out: Any) -> None:
        if t.type == VIEW:
            campaign = find(t.ad)
            if campaign != NONE:
                out.add(campaign)

    def update(w: Any, t: Any, out: Any) -> None:
        w[0].views += 1
        w[0].block_views[t.ts // markers_ms % blocks] += 1

    def slide(w: Any) -> None:
        # The window has already advanced.
        oldest = (w[0].left // markers_ms - 1) % blocks
        w[0].views -= w[0].block_views[oldest]
        w[0].block_views[oldest] = 0

    counting = Operator(
        name="counting",
        inputs=(InputType(name=EVENT, fields=FIELDS),),
        window=Window(advance=markers_ms, size=markers_ms * blocks, type=SINGLE),
        output=OUTPUT,
        state=np.dtype([("views", np.int64), ("block_views", np.int64, (blocks,))]),
        keys=keys,
        update=update,
        expire=expire,
        slide=slide,
    )
    return Query(name="campaign_views", operators=(counting,))
