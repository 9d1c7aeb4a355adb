"""The expected averages: sessions by sorting all clicks, then running sums over abandoned ones."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.retail.schema import CLICK, DYNAMIC, ORDER
from streamlab.workloads.inputs.retail.sessions import closed_sessions
from streamlab.workloads.model import Columns, Input


def oracle(data: Input, gap_ms: int) -> Columns:
    """Return (ts, sessions, pages, average) after every abandoned session, by their ends."""
    import pandas as pd  # heavy

    clicks = total_order(data, CLICK)
    kept = (clicks.payload["user"] != 0) & (clicks.payload["sale"] == 0)
    ts = clicks.ts[kept]
    found = closed_sessions(clicks.payload["user"][kept].astype(np.int64), ts, gap_ms)
    page = clicks.payload["page"][kept][found.row]
    visited = pd.DataFrame(
        {
            "session": found.session,
            "closed_by": found.closed_by,
            "order": np.where(page == ORDER, found.row, -1),
            "dynamic": np.where(page == DYNAMIC, found.row, -1),
        }
    )
    whole = visited.groupby("session").agg(
        closed_by=("closed_by", "first"),
        pages=("closed_by", "size"),
        order=("order", "max"),
        dynamic=("dynamic", "max"),
    )
    abandoned = whole[whole["dynamic"] > whole["order"]].sort_values("closed_by")
    sessions = np.arange(1, len(abandoned) + 1, dtype=np.int64)
    pages = np.cumsum(abandoned["pages"].to_numpy(np.int64))
    return {
        "ts": ts[abandoned["closed_by"].to_numpy(np.int64)],
        "sessions": sessions,
        "pages": pages,
        "average": pages / sessions,
    }
