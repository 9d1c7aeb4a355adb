"""Yahoo query I, written by hand: a pipeline with one stateless operator (`model.pipeline`)."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.ads.schema import EVENT, FIELDS
from streamlab.workloads.inputs.ads.tables import find_campaign
from streamlab.workloads.model import Params, Pipeline, stateless

ENRICHED = np.dtype([("ts", np.int64), *FIELDS.descr, ("campaign", np.int32)])


def program(query: Params) -> Pipeline:
    """Return the pipeline for query parameters."""
    find = find_campaign(query)

    def enrich(t: Any, out: Any) -> None:
        out.emit(t.user, t.page, t.ad, t.type, find(t.ad))

    return Pipeline(
        name="ad_enrichment",
        record=EVENT,
        event=FIELDS,
        stages=(stateless(name="enrich", output=ENRICHED, apply=enrich),),
    )
