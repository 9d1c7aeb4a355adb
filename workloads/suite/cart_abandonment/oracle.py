"""Computes the expected averages: sorts clicks into sessions, then sums abandoned sessions."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.retail.oracles import closed_sessions
from streamlab.workloads.inputs.retail.schema import CLICK, DYNAMIC, ORDER
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, gap_ms: int) -> Columns:
    """Return (ts, sessions, pages, average) after every abandoned session, by end of session."""
    import pandas as pd  # heavy

    clicks = total_order(data, CLICK)
    unsold = (clicks.payload["user"] != 0) & (clicks.payload["sale"] == 0)
    ts = clicks.ts[unsold]
    closed = closed_sessions(clicks.payload["user"][unsold].astype(np.int64), ts, gap_ms)
    page = clicks.payload["page"][unsold][closed.row]
    visited = pd.DataFrame(
        {
            "session": closed.session,
            "closed_by": closed.closed_by,
            "order": np.where(page == ORDER, closed.row, -1),
            "dynamic": np.where(page == DYNAMIC, closed.row, -1),
        }
    )
    by_session = visited.groupby("session").agg(
        closed_by=("closed_by", "first"),
        pages=("closed_by", "size"),
        order=("order", "max"),
        dynamic=("dynamic", "max"),
    )
    is_abandoned = by_session["dynamic"] > by_session["order"]
    abandoned = by_session[is_abandoned].sort_values("closed_by")
    sessions = np.arange(1, len(abandoned) + 1, dtype=np.int64)
    pages = np.cumsum(abandoned["pages"].to_numpy(np.int64))
    return {
        "ts": ts[abandoned["closed_by"].to_numpy(np.int64)],
        "sessions": sessions,
        "pages": pages,
        "average": pages / sessions,
    }
