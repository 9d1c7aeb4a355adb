"""Ad enrichment: looks up the campaign of each event's ad (Yahoo query I)."""

from streamlab.workloads.inputs.ads.declaration import bind_form, declare_ads_workload
from streamlab.workloads.inputs.ads.tables import AD_TABLE_PARAMETERS
from streamlab.workloads.inputs.query_workload import FORM
from streamlab.workloads.model import Bound, Params
from streamlab.workloads.suite.ad_enrichment import handcrafted, typed
from streamlab.workloads.suite.ad_enrichment.oracle import oracle

QUERY = {**AD_TABLE_PARAMETERS, **FORM}


def bind(query: Params) -> Bound:
    """Return the program and its oracle for query parameters."""
    return bind_form(query, typed=typed.program, handcrafted=handcrafted.program, oracle=oracle)


WORKLOAD = declare_ads_workload(
    name="ad_enrichment",
    title="Each event of an ad, with the ad's campaign (stateless, a look-up each)",
    paper="Data-Trace Types, section 6, query I",
    query=QUERY,
    bind=bind,
)
