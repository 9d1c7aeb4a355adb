"""TPCx-BB query 4: averages the pages of sessions whose shopping cart was abandoned."""

from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.inputs.retail import STRICT, web_clickstreams
from streamlab.workloads.inputs.retail.parameters import SESSION_GAP
from streamlab.workloads.model.streams.limits import count_limit
from streamlab.workloads.suite.cart_abandonment.oracle import oracle
from streamlab.workloads.suite.cart_abandonment.program import program

QUERY = {"gap_ms": SESSION_GAP}


WORKLOAD = declare_workload(
    web_clickstreams,
    input=web_clickstreams.INPUT,
    name="cart_abandonment",
    title="Pages in sessions whose shopping cart was abandoned, on average (TPCx-BB query 4)",
    paper="Scaling Ordered Stream Processing on Shared-Memory Multicores, table 1, query 4",
    query=QUERY,
    bind=bind_arguments(
        program, oracle, STRICT, limit=lambda **_: count_limit("clicks of a user", per="user")
    ),
    small={"visits_per_hour": 10},
)
