"""Location history: counts events of each location so far, at each marker (Yahoo query III)."""

from streamlab.workloads.inputs.ads.declaration import MARKERS, bind_form, declare_ads_workload
from streamlab.workloads.inputs.ads.tables import USER_TABLE_PARAMETERS
from streamlab.workloads.inputs.query_workload import FORM
from streamlab.workloads.model import Bound, Params
from streamlab.workloads.suite.location_history import handcrafted, typed
from streamlab.workloads.suite.location_history.oracle import oracle

QUERY = {**USER_TABLE_PARAMETERS, **MARKERS, **FORM}


def bind(query: Params) -> Bound:
    """Return the program and its oracle for query parameters."""
    return bind_form(query, typed=typed.program, handcrafted=handcrafted.program, oracle=oracle)


WORKLOAD = declare_ads_workload(
    name="location_history",
    title="Events of each location so far, and the last time, at each marker (a look-up each)",
    paper="Data-Trace Types, section 6, query III",
    query=QUERY,
    bind=bind,
)
