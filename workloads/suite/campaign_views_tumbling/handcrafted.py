"""Yahoo query V, written by hand: an operator O+ (`model.operators`) over tumbling windows."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.declaration import blocks_in
from streamlab.workloads.inputs.ads.schema import EVENT, FIELDS, NONE, VIEW
from streamlab.workloads.inputs.ads.tables import find_campaign
from streamlab.workloads.model import InputType, Operator, Params, Query, Window

OUTPUT = np.dtype([("ts", np.int64), ("campaign", np.int64), ("views", np.int64)])


def update(w: Any, t: Any, out: Any) -> None:
    """Count a view."""
    w[0].views += 1


def expire(w: Any, out: Any) -> None:
    """Forward the views of the window."""
    out.emit(w[0].key, w[0].views)


def program(query: Params) -> Query:
    """Return the query for query parameters."""
    find = find_campaign(query)
    window_ms = blocks_in(query) * int(query["markers_ms"])

    def keys(t: Any, out: Any) -> None:
        if t.type == VIEW:
            campaign = find(t.ad)
            if campaign != NONE:
                out.add(campaign)

    counting = Operator(
        name="counting",
        inputs=(InputType(name=EVENT, fields=FIELDS),),
        window=Window(advance=window_ms, size=window_ms),
        output=OUTPUT,
        state=np.dtype([("views", np.int64)]),
        keys=keys,
        update=update,
        expire=expire,
    )
    return Query(name="campaign_views_tumbling", operators=(counting,))
