"""Computes the expected views, by grouping events by campaign and window."""

import numpy as np

from streamlab.workloads.inputs.ads.blocks import closed_blocks, look_up_ids
from streamlab.workloads.inputs.ads.schema import VIEW
from streamlab.workloads.inputs.ads.tables import campaign_of_ad
from streamlab.workloads.model import Columns, Input, Params


def oracle(data: Input, query: Params) -> Columns:
    """Return (ts, campaign, views) by end of the window, then campaign."""
    events = closed_blocks(data, int(query["window_ms"]))  # markers close windows, too
    views = events[events["type"] == VIEW]
    campaign = look_up_ids(views["ad"], campaign_of_ad(query).values)
    counted = views.assign(campaign=campaign).groupby(["marker", "campaign"]).size()
    return {
        "ts": counted.index.get_level_values("marker").to_numpy(np.int64),
        "campaign": counted.index.get_level_values("campaign").to_numpy(np.int64),
        "views": counted.to_numpy(np.int64),
    }
