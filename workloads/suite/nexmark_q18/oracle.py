"""Computes the expected bids of query 18: drops bids that a later bid of the step replaces."""

from streamlab.workloads.datasets.total_order import final_watermark, total_order
from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.inputs.nexmark.schema import fields
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.nexmark_q18.program import OUTPUT


def oracle(data: Input, every_ms: int) -> Columns:
    """Return the last bids of each step, at its end."""
    import pandas as pd  # heavy

    events = bids_of(data, "auction", "bidder", "price", "channel", "extra")
    bids = pd.DataFrame({**events.fields, "bid_ts": events.ts})
    bids["ts"] = (events.ts // every_ms + 1) * every_ms
    last = bids.drop_duplicates(["ts", "bidder", "auction"], keep="last")
    last = last[last["ts"] <= final_watermark(data, total_order(data, fields()).ts)]
    return {name: last[name].to_numpy() for name in OUTPUT.names or ()}
