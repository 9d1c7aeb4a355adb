"""User activity: counts each user's actions so far, at each marker (Yahoo query II)."""

from streamlab.workloads.inputs.ads.declaration import MARKERS, declare_ads_workload
from streamlab.workloads.suite.user_activity import handcrafted, typed
from streamlab.workloads.suite.user_activity.oracle import oracle
from streamlab.workloads.suite.user_activity.persist import PERSIST

WORKLOAD = declare_ads_workload(
    name="user_activity",
    title="Views, clicks and purchases of each user so far, at each marker",
    paper="Data-Trace Types, section 6, query II",
    query={**MARKERS, **PERSIST},
    typed=typed.program,
    handcrafted=handcrafted.program,
    oracle=oracle,
)
