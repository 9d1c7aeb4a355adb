"""Selects persons, auctions and bids of an input, for oracles."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.total_order import final_watermark, total_order
from streamlab.workloads.inputs.nexmark.schema import AUCTION, BID, PERSON, fields
from streamlab.workloads.model import Columns, Input

_ROLE = {PERSON: "id", AUCTION: "seller", BID: "bidder"}
"""The public name of column `person` in each type."""


@dataclass(frozen=True, slots=True)
class Events:
    """Events of one type in total order.

    Attributes:
        ts: times.
        row: row numbers among the events of all types.
        fields: the requested fields.
    """

    ts: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    fields: Columns


def events_of(data: Input, kind: int, *names: str) -> Events:
    """Return the events of a type, with some fields; `id`, `seller` or `bidder` is the person."""
    columns = {name: "person" if name == _ROLE[kind] else name for name in names}
    events = total_order(data, fields("type", *columns.values()))
    row = np.flatnonzero(events.payload["type"] == kind)
    payload = {name: events.payload[column][row] for name, column in columns.items()}
    return Events(events.ts[row], row.astype(np.int64), payload)


def bids_of(data: Input, *names: str) -> Events:
    """Return the bids, see `events_of`."""
    return events_of(data, BID, *names)


def winners_of(data: Input, every_ms: int, *, steps: int) -> Columns:
    """Return closed auctions with their winning bids, by `ts`, then `expires`, then auction.

    The function joins all bids with their auctions and sorts them. `ts` is the end of the step in which the auction
    expires, plus `steps` - 1 steps. Auctions with `ts` after the final watermark are left out.
    """
    import pandas as pd  # heavy

    names = ("seller", "auction", "price", "reserve", "expires", "category", "name")
    auction_events = events_of(data, AUCTION, *names)
    auctions = pd.DataFrame({**auction_events.fields, "opened": auction_events.ts})
    auctions = auctions.rename(columns={"price": "initial_bid", "name": "item"})
    events = bids_of(data, "auction", "bidder", "price")
    bids = pd.DataFrame({**events.fields, "bid_ts": events.ts, "row": events.row})
    pairs = bids.merge(auctions, on="auction")
    valid = pairs[pairs["bid_ts"].between(pairs["opened"], pairs["expires"])]
    best = valid.sort_values(["price", "row"], ascending=[False, True]).groupby("auction").head(1)
    winners = best.assign(ts=(best["expires"] // every_ms + steps) * every_ms)
    ts = total_order(data, fields()).ts
    winners = winners[winners["ts"] <= final_watermark(data, ts)].sort_values(
        ["ts", "expires", "auction"]
    )
    return {name: winners[name].to_numpy() for name in winners.columns}


def statistics_of(data: Input, day_ms: int, *groups: str) -> Columns:
    """Return, after each bid, the numbers of bids, bidders and auctions so far on its day and in its `groups`.

    The function marks the first row of each bidder or auction, for all prices and for each range, and sums the marks.
    """
    import pandas as pd  # heavy

    events = bids_of(data, "auction", "bidder", "price", "channel")
    bids = pd.DataFrame({"ts": events.ts, **events.fields, "day": events.ts // day_ms})
    day_groups = [*groups, "day"]
    ranges = {"low": (0, 9_999), "middle": (10_000, 999_999), "high": (1_000_000, 2**63 - 1)}
    for quantity, field in (("bids", None), ("bidders", "bidder"), ("auctions", "auction")):
        for suffix, bounds in {"": (0, 2**63 - 1), **ranges}.items():
            within = bids[bids["price"].between(*bounds)]
            first_rows = within if field is None else within.drop_duplicates([*day_groups, field])
            bids[f"{quantity}_{suffix}".rstrip("_")] = bids.index.isin(first_rows.index).astype(
                np.int64
            )
    columns = [
        name for name in bids.columns if name not in ("ts", "price", *day_groups, *events.fields)
    ]
    so_far = bids.groupby(day_groups)[columns].cumsum()
    totals = pd.concat([bids[["ts", *day_groups]], so_far], axis=1)
    return {name: totals[name].to_numpy() for name in totals.columns}
