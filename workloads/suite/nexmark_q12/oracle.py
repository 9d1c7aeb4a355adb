"""Computes the totals of query 12, which all windows of a bidder add up to."""

import numpy as np

from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, size_ms: int) -> Columns:
    """Return (ts, bidder, bids) of all bids of each bidder, as if all were in the first window; `ts` is its end."""
    bidder, count = np.unique(bids_of(data, "bidder").fields["bidder"], return_counts=True)
    return {"ts": np.full(len(bidder), size_ms), "bidder": bidder, "bids": count}
