"""Events with the campaigns of their ads: a look-up for each event (Yahoo query I)."""

from workloads.inputs.ads.declare import in_form, on_ads
from workloads.inputs.ads.tables import OF_ADS
from workloads.inputs.forms import FORM
from workloads.model import Bound, Params
from workloads.suite.ad_enrichment import handcrafted, typed
from workloads.suite.ad_enrichment.oracle import oracle

QUERY = {**OF_ADS, **FORM}


def bind(query: Params) -> Bound:
    """Return what is computed for query parameters."""
    return in_form(query, typed=typed.program, handcrafted=handcrafted.program, oracle=oracle)


WORKLOAD = on_ads(
    name="ad_enrichment",
    title="Each event of an ad, with the ad's campaign (stateless, a look-up each)",
    paper="Data-Trace Types, section 6, query I",
    query=QUERY,
    bind=bind,
)
