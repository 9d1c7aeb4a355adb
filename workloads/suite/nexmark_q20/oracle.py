"""Computes the expected rows of query 20, by a join of all bids with all auctions."""

import numpy as np

from streamlab.workloads.inputs.nexmark.oracles import bids_of, events_of
from streamlab.workloads.inputs.nexmark.schema import AUCTION
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.suite.nexmark_q20.program import OUTPUT


def oracle(data: Input) -> Columns:
    """Return all bids for auctions of category 10, each with its auction, in order of time."""
    import pandas as pd  # heavy

    names = ("seller", "auction", "price", "reserve", "expires", "category", "name")
    auction_events = events_of(data, AUCTION, *names)
    auctions = pd.DataFrame({**auction_events.fields, "opened": auction_events.ts})
    auctions = auctions.rename(columns={"price": "initial_bid", "name": "item"})
    events = bids_of(data, "auction", "bidder", "price", "channel")
    bids = pd.DataFrame({**events.fields, "bid_ts": events.ts})
    pairs = bids.merge(auctions[auctions["category"] == 10], on="auction")
    pairs["ts"] = np.maximum(pairs["bid_ts"], pairs["opened"])
    pairs = pairs.sort_values("ts", kind="stable")
    return {name: pairs[name].to_numpy() for name in OUTPUT.names or ()}
