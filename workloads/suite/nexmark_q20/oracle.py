"""Computes the expected rows of query 20, by a join of all bids with all auctions."""

import numpy as np

from streamlab.workloads.inputs.nexmark.oracles import bids_of, events_of
from streamlab.workloads.inputs.nexmark.schema import AUCTION
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.nexmark_q20.program import OUTPUT


def oracle(data: Input) -> Columns:
    """Return all bids for auctions of category 10 with these, by time."""
    import pandas as pd  # heavy

    names = ("seller", "auction", "price", "reserve", "expires", "category", "name")
    opened = events_of(data, AUCTION, *names)
    auctions = pd.DataFrame({**opened.fields, "opened": opened.ts})
    auctions = auctions.rename(columns={"price": "initial_bid", "name": "item"})
    events = bids_of(data, "auction", "bidder", "price", "channel")
    bids = pd.DataFrame({**events.fields, "bid_ts": events.ts})
    joined = bids.merge(auctions[auctions["category"] == 10], on="auction")
    joined["ts"] = np.maximum(joined["bid_ts"], joined["opened"])
    joined = joined.sort_values("ts", kind="stable")
    return {name: joined[name].to_numpy() for name in OUTPUT.names or ()}
