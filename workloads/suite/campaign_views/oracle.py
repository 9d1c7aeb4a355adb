"""Computes the expected views: adds each campaign's count of a block to all windows that contain the block."""

import numpy as np

from streamlab.workloads.datasets.total_order import final_watermark, total_order
from streamlab.workloads.inputs.ads.blocks import look_up_ids
from streamlab.workloads.inputs.ads.schema import FIELDS, VIEW
from streamlab.workloads.inputs.ads.tables import campaign_of_ad
from streamlab.workloads.model import Columns, Input, Params


def oracle(data: Input, query: Params) -> Columns:
    """Return (ts, campaign, views) by end of the window, then campaign."""
    import pandas as pd  # heavy

    markers_ms, window_ms = int(query["markers_ms"]), int(query["window_ms"])
    events = total_order(data, FIELDS)
    views = events.payload["type"] == VIEW
    frame = pd.DataFrame(
        {
            "marker": (events.ts[views] // markers_ms + 1) * markers_ms,
            "campaign": look_up_ids(
                pd.Series(events.payload["ad"][views]), campaign_of_ad(query).values
            ).to_numpy(),
        }
    )
    counts = frame.groupby(["marker", "campaign"]).size().reset_index(name="views")
    shifted = [
        counts.assign(marker=counts["marker"] + delay_ms)
        for delay_ms in range(0, window_ms, markers_ms)
    ]
    sums = pd.concat(shifted).groupby(["marker", "campaign"])["views"].sum().reset_index()
    sums = sums[sums["marker"] <= final_watermark(data, events.ts)]
    return {
        "ts": sums["marker"].to_numpy(np.int64),
        "campaign": sums["campaign"].to_numpy(np.int64),
        "views": sums["views"].to_numpy(np.int64),
    }
