"""Computes the expected events with campaigns, by indexing the table of campaigns with the column of ads."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.ads.schema import FIELDS, NONE
from streamlab.workloads.inputs.ads.tables import campaign_of_ad
from streamlab.workloads.model import Columns, Input, Params


def oracle(data: Input, query: Params) -> Columns:
    """Return all events in total order, with the campaigns of their ads."""
    events = total_order(data, FIELDS)
    table = campaign_of_ad(query).values
    ad = events.payload["ad"].astype(np.int64)
    in_table = (ad >= 0) & (ad < len(table))
    campaign = np.full(len(ad), NONE, dtype=np.int32)
    campaign[in_table] = table[ad[in_table]]
    return {"ts": events.ts, **events.payload, "campaign": campaign}
