"""User activity: counts each user's actions so far, at each marker (Yahoo query II)."""

from streamlab.workloads.inputs.ads.declaration import MARKERS, bind_form, declare_ads_workload
from streamlab.workloads.inputs.query_workload import FORM
from streamlab.workloads.model import Bound, Params
from streamlab.workloads.suite.user_activity import handcrafted, typed
from streamlab.workloads.suite.user_activity.oracle import oracle
from streamlab.workloads.suite.user_activity.persist import PERSIST

QUERY = {**MARKERS, **PERSIST, **FORM}


def bind(query: Params) -> Bound:
    """Return the program and its oracle for query parameters."""
    return bind_form(query, typed=typed.program, handcrafted=handcrafted.program, oracle=oracle)


WORKLOAD = declare_ads_workload(
    name="user_activity",
    title="Views, clicks and purchases of each user so far, at each marker",
    paper="Data-Trace Types, section 6, query II",
    query=QUERY,
    bind=bind,
)
