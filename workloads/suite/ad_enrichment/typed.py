"""Yahoo query I as a typed graph (`model.dataflow`) with one OpStateless."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.schema import EVENT, FIELDS, SECOND_MS
from streamlab.workloads.inputs.ads.tables import find_campaign
from streamlab.workloads.model import Dataflow, Params
from streamlab.workloads.model.dataflow import Flow, OpStateless, U, of_events

ENRICHED = np.dtype([("ts", np.int64), *FIELDS.descr, ("campaign", np.int32)])


def program(query: Params) -> Dataflow:
    """Return the graph for query parameters."""
    find = find_campaign(query)

    def enrich(key: int, value: Any, out: Any) -> None:
        out.emit(value.ts, value.user, value.page, value.ad, value.type, find(value.ad))

    flow = Flow("ad_enrichment", markers=SECOND_MS)
    events = flow.source(EVENT, FIELDS)
    enriched = OpStateless(
        name="enrich", reads=of_events(FIELDS), gives=U(None, ENRICHED), on_item=enrich
    )
    return flow.gives(flow.add(enriched, events))
