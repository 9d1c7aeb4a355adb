"""Computes the expected sessions of query 11: sorts bids by bidder, and cuts where the pause is long."""

import numpy as np

from streamlab.workloads.datasets.total_order import final_watermark, total_order
from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.inputs.nexmark.schema import fields
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, gap_ms: int) -> Columns:
    """Return (ts, bidder, bids, first, last) of the sessions that are over."""
    bids = bids_of(data, "bidder")
    order = np.lexsort((bids.ts, bids.fields["bidder"]))
    ts, bidder = bids.ts[order], bids.fields["bidder"][order]
    begins = np.r_[True, (np.diff(bidder) != 0) | (np.diff(ts) > gap_ms)][: len(ts)]
    first = np.flatnonzero(begins)
    count = np.diff(np.r_[first, len(ts)])
    last = ts[first + count - 1]
    end_ts = (last // gap_ms + 2) * gap_ms
    watermark = final_watermark(data, total_order(data, fields()).ts)
    closed = np.flatnonzero(end_ts <= watermark)
    rows = closed[np.argsort(end_ts[closed], kind="stable")]
    columns = {
        "ts": end_ts,
        "bidder": bidder[first],
        "bids": count,
        "first": ts[first],
        "last": last,
    }
    return {name: values[rows] for name, values in columns.items()}
