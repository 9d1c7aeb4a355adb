"""Campaign views, tumbling: counts views of each campaign every 10 s (Yahoo query V)."""

from streamlab.workloads.inputs.ads.declaration import WINDOW, bind_form, declare_ads_workload
from streamlab.workloads.inputs.ads.tables import AD_TABLE_PARAMETERS
from streamlab.workloads.inputs.query_workload import FORM
from streamlab.workloads.model import Bound, Params
from streamlab.workloads.suite.campaign_views_tumbling import handcrafted, typed
from streamlab.workloads.suite.campaign_views_tumbling.oracle import oracle

QUERY = {**AD_TABLE_PARAMETERS, **WINDOW, **FORM}


def bind(query: Params) -> Bound:
    """Return the program and its oracle for query parameters."""
    return bind_form(query, typed=typed.program, handcrafted=handcrafted.program, oracle=oracle)


WORKLOAD = declare_ads_workload(
    name="campaign_views_tumbling",
    title="Views of each campaign every 10 s, without overlap (a look-up each)",
    paper="Data-Trace Types, section 6, query V",
    query=QUERY,
    bind=bind,
)
