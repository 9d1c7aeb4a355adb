"""Computes the expected bids of query 0, by a mask."""

from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.model import Columns, Input


def oracle(data: Input) -> Columns:
    """Return all bids in total order."""
    bids = bids_of(data, "auction", "bidder", "price", "channel", "extra")
    return {"ts": bids.ts, **bids.fields}
