"""Computes the expected bids of query 13: the values of the table from their rule, without the table."""

import numpy as np

from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, rows: int) -> Columns:
    """Return all bids in total order, with the values of the table."""
    bids = bids_of(data, "auction", "bidder", "price")
    value = rows - np.remainder(bids.fields["auction"], rows, dtype=np.int64)
    return {"ts": bids.ts, **bids.fields, "value": value.astype(np.int32)}
