"""The expected lists: all pairs of all tickets by a join, counted by hour, and sorted."""

import numpy as np

from workloads.datasets.total_order import total_order
from workloads.model import Columns, Input
from workloads.retail.ids import Ids
from workloads.retail.schema import SALE


def oracle(
    data: Input,
    stores: Ids,
    categories: Ids,
    more_than: int,
    top: int,
    hour_ms: int,
    most_items: int,
) -> Columns:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    An hour's list has the time of the first pair in a later hour; the last has none and is left
    out.
    """
    import pandas as pd  # heavy

    sales = total_order(data, SALE)
    wanted = stores.mask(sales.payload["store"]) & categories.mask(sales.payload["category"])
    lines = pd.DataFrame(
        {
            "ts": sales.ts[wanted],
            "ticket": sales.payload["ticket"][wanted],
            "item": sales.payload["item"][wanted].astype(np.int64),
        }
    )
    items = lines.drop_duplicates(["ticket", "item"])
    items = items.assign(nth=items.groupby("ticket").cumcount())
    items = items[items["nth"] < most_items]
    pairs = items.merge(items, on="ticket", suffixes=("_before", ""))
    pairs = pairs[pairs["nth_before"] < pairs["nth"]]
    pairs = pairs.assign(
        item_1=pairs[["item_before", "item"]].min(axis=1),
        item_2=pairs[["item_before", "item"]].max(axis=1),
        hour=pairs["ts"] // hour_ms,
    )
    begins = pairs.groupby("hour")["ts"].min().sort_index()
    left = {hour: later for hour, later in zip(begins.index, begins.iloc[1:], strict=False)}
    counted = pairs.groupby(["hour", "item_1", "item_2"]).size().reset_index(name="count")
    counted = counted[(counted["count"] > more_than) & counted["hour"].isin(list(left))]
    listed = counted.sort_values(
        ["hour", "count", "item_1", "item_2"], ascending=[True, False, True, True]
    )
    listed = listed.assign(rank=listed.groupby("hour").cumcount() + 1)
    listed = listed[listed["rank"] <= top]
    return {
        "ts": np.array([left[hour] for hour in listed["hour"]], dtype=np.int64),
        "since": listed["hour"].to_numpy(np.int64) * hour_ms,
        "rank": listed["rank"].to_numpy(np.int32),
        "item_1": listed["item_1"].to_numpy(np.int32),
        "item_2": listed["item_2"].to_numpy(np.int32),
        "count": listed["count"].to_numpy(np.int64),
    }
