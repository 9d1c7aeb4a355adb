"""Computes the expected bids of query 7: compares each price with the highest of its window."""

from streamlab.workloads.datasets.total_order import final_watermark, total_order
from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.inputs.nexmark.schema import fields
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.nexmark_q7.program import OUTPUT


def oracle(data: Input, size_ms: int) -> Columns:
    """Return the highest bids of each window; they leave one window length after its end."""
    import pandas as pd  # heavy

    events = bids_of(data, "auction", "bidder", "price", "extra")
    bids = pd.DataFrame(
        {**events.fields, "bid_ts": events.ts, "ts": (events.ts // size_ms + 2) * size_ms}
    )
    highest = bids[bids["price"] == bids.groupby("ts")["price"].transform("max")]
    highest = highest[highest["ts"] <= final_watermark(data, total_order(data, fields()).ts)]
    return {name: highest[name].to_numpy() for name in OUTPUT.names or ()}
