"""The expected counts: for every purchase, its user's views before it, found by binary search."""

import numpy as np

from workloads.datasets.total_order import total_order
from workloads.model import Columns, Input
from workloads.retail.ids import Ids
from workloads.retail.schema import CLICK


def oracle(data: Input, /, *, item: int, categories: Ids, views: int, within_ms: int) -> Columns:
    """Return (ts, item, count) of every view before a purchase, by purchase, then view."""
    import pandas as pd  # heavy

    clicks = total_order(data, CLICK)
    ts, payload = clicks.ts, clicks.payload
    known = payload["user"] != 0
    viewing = known & (payload["sale"] == 0) & categories.mask(payload["category"])
    viewed = np.flatnonzero(viewing)
    viewed = viewed[np.argsort(payload["user"][viewed], kind="stable")]
    bought = np.flatnonzero(known & (payload["sale"] != 0) & (payload["item"] == item))
    user = payload["user"].astype(np.int64)
    # Views lie by user, then in their order; a purchase stands behind its user's earlier ones.
    place = user * len(ts) + np.arange(len(ts))
    begin = np.searchsorted(place[viewed], user[bought] * len(ts))
    end = np.searchsorted(place[viewed], place[bought])
    begin = np.maximum(begin, end - views)
    count = end - begin
    purchase = np.repeat(bought, count)
    nth = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    view = viewed[np.repeat(begin, count) + nth]
    kept = ts[purchase] - ts[view] <= within_ms
    items = pd.Series(payload["item"][view][kept])
    return {
        "ts": ts[purchase][kept],
        "item": items.to_numpy(np.int32),
        "count": items.groupby(items).cumcount().to_numpy(np.int64) + 1,
    }
