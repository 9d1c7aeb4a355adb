"""User clusters: clusters each location's users by their actions (Yahoo query VI)."""

from streamlab.workloads.inputs.ads.declaration import MARKERS, declare_ads_workload
from streamlab.workloads.inputs.ads.tables import USER_TABLE_PARAMETERS
from streamlab.workloads.model import Parameter
from streamlab.workloads.model.streams.limits import Limit, group_by_field
from streamlab.workloads.suite.user_clusters import handcrafted, typed
from streamlab.workloads.suite.user_clusters.oracle import oracle

QUERY = {
    **USER_TABLE_PARAMETERS,
    **MARKERS,
    "period_ms": Parameter(
        default=5000,
        help="event time between two clusterings; a multiple of markers_ms",
        minimum=1,
        maximum=2**40,
    ),
    "clusters": Parameter(default=4, help="clusters of each location (k)", minimum=1, maximum=1000),
    "iterations": Parameter(default=8, help="iterations of k-means", minimum=1, maximum=1000),
}


ACTIVITY = Limit(
    field=None,
    quantity="the number of events of a user",
    remedy="take a shorter part of the input; squared distances must fit 64 bits",
    highest=2**22 - 1,
    reads=("user",),
    groups=group_by_field("user"),
)


WORKLOAD = declare_ads_workload(
    name="user_clusters",
    title="Clusters of each location's users by their actions (a look-up each, k-means)",
    paper="Data-Trace Types, section 6, query VI",
    query=QUERY,
    typed=typed.program,
    handcrafted=handcrafted.program,
    oracle=oracle,
    limits=(ACTIVITY,),
)
