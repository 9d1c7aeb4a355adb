"""Query I by hand: a pipeline of one stateless operator."""

from typing import Any

import numpy as np

from workloads.inputs.ads.schema import EVENT, FIELDS, NONE
from workloads.inputs.ads.tables import campaign_of_ad
from workloads.model import Params, Pipeline, stateless

ENRICHED = np.dtype([("ts", np.int64), *FIELDS.descr, ("campaign", np.int32)])


def program(query: Params) -> Pipeline:
    """Return the pipeline for query parameters."""
    campaign_of = campaign_of_ad(query).of
    ads = len(campaign_of)

    def enrich(t: Any, out: Any) -> None:
        campaign = campaign_of[t.ad] if 0 <= t.ad < ads else NONE
        out.emit(t.user, t.page, t.ad, t.type, campaign)

    return Pipeline(
        name="ad_enrichment",
        record=EVENT,
        event=FIELDS,
        stages=(stateless(name="enrich", output=ENRICHED, apply=enrich),),
    )
