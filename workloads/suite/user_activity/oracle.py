"""Computes the expected counts, by running sums over each user's blocks."""

import numpy as np

from streamlab.workloads.inputs.ads.blocks import closed_blocks
from streamlab.workloads.inputs.ads.schema import TYPES
from streamlab.workloads.model import Columns, Input, Params

COLUMNS = ("views", "clicks", "purchases")


def oracle(data: Input, query: Params) -> Columns:
    """Return (ts, user, views, clicks, purchases) by marker, then user."""
    events = closed_blocks(data, int(query["markers_ms"]))
    valid = events[events["type"].between(0, len(TYPES) - 1)]
    counts = valid.groupby(["marker", "user", "type"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=range(len(TYPES)), fill_value=0)
    sums = counts.groupby(level="user").cumsum()
    return {
        "ts": sums.index.get_level_values("marker").to_numpy(np.int64),
        "user": sums.index.get_level_values("user").to_numpy(np.int64),
        **{name: sums[number].to_numpy(np.int64) for number, name in enumerate(COLUMNS)},
    }
