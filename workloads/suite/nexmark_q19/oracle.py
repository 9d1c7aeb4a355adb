"""Computes the expected ranks of query 19: the place of each price in a sorted list of the auction's earlier prices."""

from bisect import bisect_left, insort
from collections import defaultdict

import numpy as np

from streamlab.workloads.inputs.nexmark.oracles import bids_of
from streamlab.workloads.model import Columns, Input

RANKS = 10
"""Number of ranks."""


def oracle(data: Input) -> Columns:
    """Return the bids that enter the ten highest of their auction, in total order."""
    bids = bids_of(data, "auction", "bidder", "price", "channel", "extra")
    earlier: defaultdict[int, list[int]] = defaultdict(list)
    rank = np.empty(len(bids.ts), dtype=np.int32)
    auctions: list[int] = bids.fields["auction"].tolist()
    bid_prices: list[int] = bids.fields["price"].tolist()
    for row, (auction, price) in enumerate(zip(auctions, bid_prices, strict=True)):
        prices = earlier[auction]
        rank[row] = len(prices) - bisect_left(prices, price) + 1
        insort(prices, price)
    rows = np.flatnonzero(rank <= RANKS)
    columns: Columns = {
        "ts": bids.ts,
        "auction": bids.fields["auction"],
        "rank": rank,
        **bids.fields,
    }
    return {name: values[rows] for name, values in columns.items()}
