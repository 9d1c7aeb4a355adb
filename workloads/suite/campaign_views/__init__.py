"""Campaign views: counts views of each campaign in the last 10 s, every second (Yahoo query IV)."""

from streamlab.workloads.inputs.ads.declaration import WINDOW, bind_form, declare_ads_workload
from streamlab.workloads.inputs.ads.tables import AD_TABLE_PARAMETERS
from streamlab.workloads.inputs.query_workload import FORM
from streamlab.workloads.model import Bound, Params
from streamlab.workloads.suite.campaign_views import handcrafted, typed
from streamlab.workloads.suite.campaign_views.oracle import oracle

QUERY = {**AD_TABLE_PARAMETERS, **WINDOW, **FORM}


def bind(query: Params) -> Bound:
    """Return the program and its oracle for query parameters."""
    return bind_form(query, typed=typed.program, handcrafted=handcrafted.program, oracle=oracle)


WORKLOAD = declare_ads_workload(
    name="campaign_views",
    title="Views of each campaign in the last 10 s, every second (a look-up each)",
    paper="Data-Trace Types, section 6, query IV, figure 3",
    query=QUERY,
    bind=bind,
)
