"""Computes the expected lists: sorts clicks into sessions, then ranks all counts every hour."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.retail.oracles import closed_sessions, lists_so_far
from streamlab.workloads.inputs.retail.schema import CLICK
from streamlab.workloads.model import Columns, Input


def oracle(
    data: Input, /, *, item: int, gap_ms: int, top: int, hour_ms: int, most_items: int
) -> Columns:
    """Return (ts, since, rank, item_1, item_2, count), by hour, then rank.

    A list has the time of the first pair in a later hour. The last hour has no list.
    """
    pairs = _pairs(data, item, gap_ms, most_items)
    return lists_so_far(pairs, item=item, top=top, hour_ms=hour_ms)


def _pairs(data: Input, item: int, gap_ms: int, most_items: int) -> list[tuple[int, int]]:
    """Return (time, other item) for the pairs of all closed sessions with the item."""
    import pandas as pd  # heavy

    clicks = total_order(data, CLICK)
    has_user = clicks.payload["user"] != 0
    ts = clicks.ts[has_user]
    sessions = closed_sessions(clicks.payload["user"][has_user].astype(np.int64), ts, gap_ms)
    viewed = pd.DataFrame(
        {
            "session": sessions.session,
            "item": clicks.payload["item"][has_user][sessions.row],
            "closed_by": sessions.closed_by,
        }
    ).drop_duplicates(["session", "item"])
    viewed = viewed.assign(nth=viewed.groupby("session").cumcount())
    viewed = viewed[viewed["nth"] < most_items]
    holding = viewed.loc[viewed["item"] == item, "session"]
    viewed = viewed[viewed["session"].isin(holding) & (viewed["item"] != item)]
    viewed = viewed.sort_values(["closed_by", "nth"])
    times = ts[viewed["closed_by"].to_numpy(np.int64)]
    return list(zip(times.tolist(), viewed["item"].tolist(), strict=True))
