"""Computes the expected hot items of query 5, by a table with each bid in all of its windows."""

import numpy as np

from streamlab.workloads.datasets.total_order import final_watermark, total_order
from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.inputs.nexmark.schema import fields
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, slide_ms: int, slides: int) -> Columns:
    """Return (ts, auction, bids) of the hot items of windows, a slide after their end."""
    import pandas as pd  # heavy

    bids = bids_of(data, "auction")
    # The first window of a bid ends at the next boundary, and each further window a slide later.
    first = (bids.ts // slide_ms + 1) * slide_ms
    ends = (first[:, None] + slide_ms * np.arange(slides)).ravel()
    table = pd.DataFrame({"end": ends, "auction": np.repeat(bids.fields["auction"], slides)})
    counts = table.groupby(["end", "auction"]).size().rename("bids").reset_index()
    hot = counts[counts["bids"] == counts.groupby("end")["bids"].transform("max")]
    hot = hot.assign(ts=hot["end"] + slide_ms)
    hot = hot[hot["ts"] <= final_watermark(data, total_order(data, fields()).ts)]
    return {name: hot[name].to_numpy() for name in ("ts", "auction", "bids")}
