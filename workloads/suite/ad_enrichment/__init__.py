"""Ad enrichment: looks up the campaign of each event's ad (Yahoo query I)."""

from streamlab.workloads.inputs.ads.declaration import declare_ads_workload
from streamlab.workloads.inputs.ads.tables import AD_TABLE_PARAMETERS
from streamlab.workloads.suite.ad_enrichment import handcrafted, typed
from streamlab.workloads.suite.ad_enrichment.oracle import oracle

WORKLOAD = declare_ads_workload(
    name="ad_enrichment",
    title="Each event of an ad, with the ad's campaign (stateless, a look-up each)",
    paper="Data-Trace Types, section 6, query I",
    query=AD_TABLE_PARAMETERS,
    typed=typed.program,
    handcrafted=handcrafted.program,
    oracle=oracle,
)
