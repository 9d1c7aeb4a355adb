"""TPCx-BB query 3: finds the items viewed last before a given item is bought."""

from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.inputs.retail import STRICT, web_clickstreams
from streamlab.workloads.inputs.retail.parameters import parse_ids
from streamlab.workloads.inputs.retail.ranking import LIST_SO_FAR
from streamlab.workloads.inputs.retail.schema import DAY_MS
from streamlab.workloads.model import Parameter, Params
from streamlab.workloads.suite.last_views_before_purchase.oracle import oracle
from streamlab.workloads.suite.last_views_before_purchase.program import program

QUERY = {
    "item": Parameter(default=10_001, help="the item that is bought", minimum=0),
    "categories": Parameter(default="2,3", help="categories whose views count, or all"),
    "views": Parameter(
        default=5, help="number of last views before a purchase that count", minimum=1, maximum=256
    ),
    "within_ms": Parameter(
        default=10 * DAY_MS,
        help="maximum age of these views (event time)",
        minimum=0,
        maximum=2**40,
    ),
    **LIST_SO_FAR,
}


def arguments(query: Params) -> dict[str, object]:
    """Return the arguments of the program and its oracle.

    Raises:
        ModelError: `categories` is not a list of ids.
    """
    return {**query, "categories": parse_ids("categories", str(query["categories"]))}


WORKLOAD = declare_workload(
    web_clickstreams,
    input=web_clickstreams.INPUT,
    name="last_views_before_purchase",
    title="Items viewed last before a given item was bought (TPCx-BB query 3)",
    paper="Scaling Ordered Stream Processing on Shared-Memory Multicores, table 1, query 3",
    query=QUERY,
    bind=bind_arguments(program, oracle, STRICT, arguments),
    small={"visits_per_hour": 10, "fixed_percent": 40, "popular_percent": 0},
)
