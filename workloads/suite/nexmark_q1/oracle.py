"""Computes the expected bids of query 1; rounds prices by the remainder of a division."""

import numpy as np

from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.inputs.nexmark.schema import EURO_PER_DOLLAR_MILLI
from streamlab.workloads.model import Columns, Input


def oracle(data: Input) -> Columns:
    """Return all bids in total order, with prices in euro cents."""
    bids = bids_of(data, "auction", "bidder", "price")
    cents, remainder = np.divmod(bids.fields["price"] * EURO_PER_DOLLAR_MILLI, 1000)
    return {"ts": bids.ts, **bids.fields, "price": cents + (remainder >= 500)}
