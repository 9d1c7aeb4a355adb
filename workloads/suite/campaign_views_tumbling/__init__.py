"""Campaign views, tumbling: counts views of each campaign every 10 s (Yahoo query V)."""

from streamlab.workloads.inputs.ads.declaration import WINDOW, declare_ads_workload
from streamlab.workloads.inputs.ads.tables import AD_TABLE_PARAMETERS
from streamlab.workloads.suite.campaign_views_tumbling import handcrafted, typed
from streamlab.workloads.suite.campaign_views_tumbling.oracle import oracle

WORKLOAD = declare_ads_workload(
    name="campaign_views_tumbling",
    title="Views of each campaign every 10 s, without overlap (a look-up each)",
    paper="Data-Trace Types, section 6, query V",
    query={**AD_TABLE_PARAMETERS, **WINDOW},
    typed=typed.program,
    handcrafted=handcrafted.program,
    oracle=oracle,
)
