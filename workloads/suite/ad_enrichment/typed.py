"""Query I, typed: one OpStateless."""

from typing import Any

import numpy as np

from workloads.inputs.ads.schema import EVENT, FIELDS, NONE, SECOND_MS
from workloads.inputs.ads.tables import campaign_of_ad
from workloads.model import Dataflow, Params
from workloads.model.dataflow import Flow, OpStateless, U, of_events

ENRICHED = np.dtype([("ts", np.int64), *FIELDS.descr, ("campaign", np.int32)])


def program(query: Params) -> Dataflow:
    """Return the graph for query parameters."""
    campaign_of = campaign_of_ad(query).of
    ads = len(campaign_of)

    def enrich(key: int, value: Any, out: Any) -> None:
        campaign = campaign_of[value.ad] if 0 <= value.ad < ads else NONE
        out.emit(value.ts, value.user, value.page, value.ad, value.type, campaign)

    flow = Flow("ad_enrichment", markers=SECOND_MS)
    events = flow.source(EVENT, FIELDS)
    enriched = OpStateless(
        name="enrich", reads=of_events(FIELDS), gives=U(None, ENRICHED), on_item=enrich
    )
    return flow.gives(flow.add(enriched, events))
