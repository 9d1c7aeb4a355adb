"""TPCx-BB query 1: finds the pairs of items sold together most often in stores, every hour."""

from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.inputs.retail import STRICT, store_sales
from streamlab.workloads.inputs.retail.parameters import parse_ids
from streamlab.workloads.inputs.retail.schema import HOUR_MS
from streamlab.workloads.model import Parameter, Params
from streamlab.workloads.suite.items_sold_together.oracle import oracle
from streamlab.workloads.suite.items_sold_together.program import program

QUERY = {
    "stores": Parameter(default="10,20,33,40,50", help="stores whose tickets count, or all"),
    "categories": Parameter(default="1,2,3", help="categories whose items count, or all"),
    "more_than": Parameter(
        default=50, help="a pair is listed if more tickets of the hour have it", minimum=0
    ),
    "top": Parameter(
        default=100, help="maximum number of listed pairs of an hour", minimum=1, maximum=1000
    ),
    "hour_ms": Parameter(
        default=HOUR_MS, help="length of an hour (event time)", minimum=1, maximum=2**40
    ),
    "most_items": Parameter(
        default=14,
        help="number of first distinct items of a ticket that count",
        minimum=2,
        maximum=256,
    ),
    "open_tickets": Parameter(
        default=1 << 16,
        help="another ticket with the same number modulo this ends a ticket",
        minimum=1,
        maximum=2**40,
    ),
}


def arguments(query: Params) -> dict[str, object]:
    """Return the arguments of the program and its oracle.

    Raises:
        ModelError: `stores` or `categories` is not a list of ids.
    """
    lists = {name: parse_ids(name, str(query[name])) for name in ("stores", "categories")}
    return {**query, **lists}


WORKLOAD = declare_workload(
    store_sales,
    input=store_sales.INPUT,
    name="items_sold_together",
    title="Pairs of items sold together most often in stores, every hour (TPCx-BB query 1)",
    paper="Scaling Ordered Stream Processing on Shared-Memory Multicores, table 1, query 1",
    query=QUERY,
    bind=bind_arguments(program, oracle, STRICT, arguments),
    # With few rows an hour, pairs must be more frequent.
    small={"orders_per_hour": 1600, "fixed_percent": 90, "popular_percent": 0},
    small_events=30_000,
)
