"""Computes the expected lists: finds the user's views before every purchase by binary search."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.retail.oracles import lists_so_far
from streamlab.workloads.inputs.retail.parameters import Ids
from streamlab.workloads.inputs.retail.schema import CLICK
from streamlab.workloads.model import Columns, Input


def oracle(
    data: Input,
    /,
    *,
    item: int,
    categories: Ids,
    views: int,
    within_ms: int,
    top: int,
    hour_ms: int,
) -> Columns:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank."""
    pairs = _pairs(data, item, categories, views, within_ms)
    return lists_so_far(pairs, item=item, top=top, hour_ms=hour_ms)


def _pairs(
    data: Input, item: int, categories: Ids, views: int, within_ms: int
) -> list[tuple[int, int]]:
    """Return (time, viewed item) of every view before a purchase, by purchase, then view."""
    clicks = total_order(data, CLICK)
    ts, payload = clicks.ts, clicks.payload
    has_user = payload["user"] != 0
    viewing = has_user & (payload["sale"] == 0) & categories.mask(payload["category"])
    viewed = np.flatnonzero(viewing)
    viewed = viewed[np.argsort(payload["user"][viewed], kind="stable")]
    bought = np.flatnonzero(has_user & (payload["sale"] != 0) & (payload["item"] == item))
    user = payload["user"].astype(np.int64)
    # Sorted by user, then by position, so that a user's views before a purchase are just below it.
    place = user * len(ts) + np.arange(len(ts))
    begin = np.searchsorted(place[viewed], user[bought] * len(ts))
    end = np.searchsorted(place[viewed], place[bought])
    begin = np.maximum(begin, end - views)
    count = end - begin
    purchase = np.repeat(bought, count)
    nth = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    view = viewed[np.repeat(begin, count) + nth]
    recent = ts[purchase] - ts[view] <= within_ms
    items = payload["item"][view][recent]
    return list(zip(ts[purchase][recent].tolist(), items.tolist(), strict=True))
