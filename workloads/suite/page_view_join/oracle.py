"""The expected join: for every event, the last update of its page before it, by binary search."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import Columns, Input


def oracle(data: Input) -> Columns:
    """Return (ts, kind, page, user, meta) for every event, in input order.

    `meta` is that of the last update of the page before the event, 0 when there is none; the user
    of an update is -1.
    """
    wanted = np.dtype([("user", np.int32), ("meta", np.int32)])
    events = total_order(data, wanted)
    position = np.arange(len(events.ts), dtype=np.int64)
    # Sorts by page, then by position: all updates before an event of its page are just below it.
    place = events.key * np.int64(len(position)) + position
    is_update = events.kind == data.alphabet.kinds.index("update")
    updates = np.flatnonzero(is_update)
    updates = updates[np.argsort(place[updates])]
    before = np.searchsorted(place[updates], place, side="left") - 1
    last = updates[before] if len(updates) else np.zeros(len(position), np.int64)
    known = (before >= 0) & (events.key[last] == events.key)
    return {
        "ts": events.ts,
        "kind": is_update.astype(np.int8),
        "page": events.key,
        "user": np.where(is_update, np.int32(-1), events.payload["user"]),
        "meta": np.where(known, events.payload["meta"][last], np.int32(0)),
    }
