"""Query 17 as a pipeline with a state for each auction, which forwards the new statistics after each bid."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.nexmark.bidding_statistics import RANGES, price_range
from streamlab.workloads.inputs.nexmark.schema import BID, EVENT, fields
from streamlab.workloads.model import Pipeline, partitioned

OUTPUT = fields(
    "ts",
    "auction",
    "day",
    "bids",
    "bids_low",
    "bids_middle",
    "bids_high",
    "lowest",
    "highest",
    "average",
    "sum",
)
"""`day` is the number of days since 1970."""

_STATE = np.dtype(
    [
        ("day", np.int64),
        ("bids", np.int64, (RANGES,)),
        ("lowest", np.int64),
        ("highest", np.int64),
        ("sum", np.int64),
    ]
)


def program(day_ms: int) -> Pipeline:
    """Return the pipeline."""

    def add(s: Any, t: Any, out: Any) -> None:
        """Add a bid to the statistics, which start over on a new day, and forward them."""
        if t.type == BID:
            day = t.ts // day_ms
            bids = s.bids[0] + s.bids[1] + s.bids[2]
            if bids == 0 or s.day != day:
                bids = 0
                s.day = day
                for k in range(RANGES):
                    s.bids[k] = 0
                s.lowest = t.price
                s.highest = t.price
                s.sum = 0
            bids += 1
            s.bids[price_range(t.price)] += 1
            s.lowest = min(s.lowest, t.price)
            s.highest = max(s.highest, t.price)
            s.sum += t.price
            out.emit(
                t.auction,
                day,
                bids,
                s.bids[0],
                s.bids[1],
                s.bids[2],
                s.lowest,
                s.highest,
                s.sum / bids,
                s.sum,
            )

    return Pipeline(
        name="nexmark_q17",
        record=EVENT,
        event=fields("type", "auction", "price"),
        stages=(partitioned(name="add", output=OUTPUT, key=_auction, state=_STATE, apply=add),),
    )


def _auction(t: Any) -> int:
    auction: int = t.auction
    return auction
