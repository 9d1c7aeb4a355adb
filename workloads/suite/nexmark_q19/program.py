"""Query 19 as a pipeline with the ten highest prices of each auction.

A bid whose price is among these prices is forwarded with its rank, from 1. Lower prices move down by a rank, and the
eleventh price is dropped. Of equal prices, the earlier bid ranks higher.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import Pipeline, partitioned

MAX = 10
"""Number of ranks."""

OUTPUT = fields("ts", "auction", "rank", "bidder", "price", "channel", "extra")

_STATE = np.dtype([("bids", np.int64), ("price", np.int64, (MAX,))])


def program() -> Pipeline:
    """Return the pipeline."""
    return Pipeline(
        name="nexmark_q19",
        record=EVENT,
        event=fields("type", "auction", "person", "price", "channel", "extra"),
        stages=(partitioned(name="rank", output=OUTPUT, key=_auction, state=_STATE, apply=_rank),),
    )


def _auction(t: Any) -> int:
    auction: int = t.auction
    return auction


def _rank(s: Any, t: Any, out: Any) -> None:
    """If a bid's price is among the `MAX` highest of its auction, store it and forward the bid with its rank."""
    if t.type == BID and (s.bids < MAX or t.price > s.price[MAX - 1]):
        place = min(s.bids, MAX - 1)
        while place > 0 and t.price > s.price[place - 1]:
            s.price[place] = s.price[place - 1]
            place -= 1
        s.price[place] = t.price
        s.bids = min(s.bids + 1, MAX)
        out.emit(t.auction, place + 1, t.person, t.price, t.channel, t.extra)
