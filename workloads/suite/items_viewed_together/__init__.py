"""TPCx-BB query 2: finds the items viewed most often together with one item."""

from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.inputs.retail import STRICT, web_clickstreams
from streamlab.workloads.inputs.retail.parameters import SESSION_GAP
from streamlab.workloads.inputs.retail.ranking import LIST_SO_FAR
from streamlab.workloads.model import Parameter
from streamlab.workloads.suite.items_viewed_together.oracle import oracle
from streamlab.workloads.suite.items_viewed_together.program import program

QUERY = {
    "item": Parameter(default=10_001, help="the item with which other items are viewed", minimum=0),
    "gap_ms": SESSION_GAP,
    **LIST_SO_FAR,
    "most_items": Parameter(
        default=32,
        help="number of first distinct items of a session that count",
        minimum=2,
        maximum=1024,
    ),
}


WORKLOAD = declare_workload(
    web_clickstreams,
    input=web_clickstreams.INPUT,
    name="items_viewed_together",
    title="Items viewed most often in one session with a given item (TPCx-BB query 2)",
    paper="Scaling Ordered Stream Processing on Shared-Memory Multicores, table 1, query 2",
    query=QUERY,
    bind=bind_arguments(program, oracle, STRICT),
    small={"visits_per_hour": 2, "fixed_percent": 60, "popular_percent": 0},
)
