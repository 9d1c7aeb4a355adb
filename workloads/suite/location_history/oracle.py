"""Computes the expected histories, by running sums over each location's blocks."""

import numpy as np

from streamlab.workloads.inputs.ads.blocks import closed_blocks, look_up_ids
from streamlab.workloads.inputs.ads.schema import CLICK, PURCHASE, VIEW
from streamlab.workloads.inputs.ads.tables import location_of_user
from streamlab.workloads.model import Columns, Input, Params

COUNTED = ("events", "views", "clicks", "purchases")


def oracle(data: Input, query: Params) -> Columns:
    """Return (ts, location, events, views, clicks, purchases, last_ts) by marker, then location."""
    events = closed_blocks(data, int(query["markers_ms"]))
    events["location"] = look_up_ids(events["user"], location_of_user(query).values)
    events["events"] = 1
    for name, number in zip(COUNTED[1:], (VIEW, CLICK, PURCHASE), strict=True):
        events[name] = (events["type"] == number).astype(np.int64)
    blocks = events.groupby(["marker", "location"])  # drops rows without a location
    sums = blocks[list(COUNTED)].sum().groupby(level="location").cumsum()
    return {
        "ts": sums.index.get_level_values("marker").to_numpy(np.int64),
        "location": sums.index.get_level_values("location").to_numpy(np.int64),
        **{name: sums[name].to_numpy(np.int64) for name in COUNTED},
        "last_ts": blocks["ts"].max().to_numpy(np.int64),
    }
