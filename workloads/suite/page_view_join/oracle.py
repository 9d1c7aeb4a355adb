"""Computes the expected join: finds the last update of each event's page by binary search."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Columns, Input


def oracle(data: Input) -> Columns:
    """Return (ts, kind, page, user, meta) for every event, in total order.

    `meta` comes from the page's last update before the event; it is 0 before the first update. The
    user of an update is -1.
    """
    fields = np.dtype([("user", np.int32), ("meta", np.int32)])
    events = total_order(data, fields)
    position = np.arange(len(events.ts), dtype=np.int64)
    # Sorted by page, then by position, so that the last update of an event's page is just below the event.
    place = events.key * np.int64(len(position)) + position
    is_update = events.kind == data.alphabet.kinds.index("update")
    updates = np.flatnonzero(is_update)
    updates = updates[np.argsort(place[updates])]
    before = np.searchsorted(place[updates], place, side="left") - 1
    last = updates[before] if len(updates) else np.zeros(len(position), np.int64)
    has_update = (before >= 0) & (events.key[last] == events.key)
    return {
        "ts": events.ts,
        "kind": is_update.astype(np.int8),
        "page": events.key,
        "user": np.where(is_update, np.int32(-1), events.payload["user"]),
        "meta": np.where(has_update, events.payload["meta"][last], np.int32(0)),
    }
