"""Campaign views: counts views of each campaign in the last 10 s, every second (Yahoo query IV)."""

from streamlab.workloads.inputs.ads.declaration import WINDOW, declare_ads_workload
from streamlab.workloads.inputs.ads.tables import AD_TABLE_PARAMETERS
from streamlab.workloads.suite.campaign_views import handcrafted, typed
from streamlab.workloads.suite.campaign_views.oracle import oracle

WORKLOAD = declare_ads_workload(
    name="campaign_views",
    title="Views of each campaign in the last 10 s, every second (a look-up each)",
    paper="Data-Trace Types, section 6, query IV, figure 3",
    query={**AD_TABLE_PARAMETERS, **WINDOW},
    typed=typed.program,
    handcrafted=handcrafted.program,
    oracle=oracle,
)
