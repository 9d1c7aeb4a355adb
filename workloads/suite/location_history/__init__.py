"""Location history: counts events of each location so far, at each marker (Yahoo query III)."""

from streamlab.workloads.inputs.ads.declaration import MARKERS, declare_ads_workload
from streamlab.workloads.inputs.ads.tables import USER_TABLE_PARAMETERS
from streamlab.workloads.suite.location_history import handcrafted, typed
from streamlab.workloads.suite.location_history.oracle import oracle

WORKLOAD = declare_ads_workload(
    name="location_history",
    title="Events of each location so far, and the last time, at each marker (a look-up each)",
    paper="Data-Trace Types, section 6, query III",
    query={**USER_TABLE_PARAMETERS, **MARKERS},
    typed=typed.program,
    handcrafted=handcrafted.program,
    oracle=oracle,
)
