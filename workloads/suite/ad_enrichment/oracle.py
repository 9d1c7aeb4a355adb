"""The expected events with campaigns: a table indexed by a column."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.ads.schema import FIELDS, NONE
from streamlab.workloads.inputs.ads.tables import campaign_of_ad
from streamlab.workloads.model import Columns, Input, Params


def oracle(data: Input, query: Params) -> Columns:
    """Return all events in total order, with the campaigns of their ads."""
    events = total_order(data, FIELDS)
    known = campaign_of_ad(query).of
    ad = events.payload["ad"].astype(np.int64)
    there = (ad >= 0) & (ad < len(known))
    campaign = np.full(len(ad), NONE, dtype=np.int32)
    campaign[there] = known[ad[there]]
    return {"ts": events.ts, **events.payload, "campaign": campaign}
