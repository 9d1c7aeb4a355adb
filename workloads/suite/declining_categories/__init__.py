"""TPCx-BB query 15: the categories of items whose sales in a store are flat or declining."""

from functools import partial

from workloads.inputs.declare import declared
from workloads.inputs.retail import STRICT, store_sales
from workloads.inputs.retail.days import FIRST_DAY, day_number
from workloads.inputs.retail.ids import parse_ids
from workloads.model import Bound, Parameter, Params
from workloads.suite.declining_categories.oracle import oracle
from workloads.suite.declining_categories.program import program

QUERY = {
    "stores": Parameter(default="10", help="stores whose sales count, or all"),
    "first_day": Parameter(default=FIRST_DAY, help="first day of the year (UTC), YYYY-MM-DD"),
    "days": Parameter(default=365, help="length of the year", minimum=2, maximum=366 * 4),
}


def bind(params: Params) -> Bound:
    """Return the pipeline and its oracle for query parameters.

    Raises:
        ModelError: stores that are no ids, or a day that is none.
    """
    stores = parse_ids("stores", str(params["stores"]))
    first_day, days = day_number(str(params["first_day"])), int(params["days"])
    return Bound(
        program=program(stores, first_day, days),
        output=STRICT,
        oracle=partial(oracle, stores=stores, first_day=first_day, days=days),
    )


WORKLOAD = declared(
    store_sales,
    input=store_sales.INPUT,
    name="declining_categories",
    title="Categories with flat or declining sales in a store (TPCx-BB query 15)",
    paper="Scaling Ordered Stream Processing on Shared-Memory Multicores, table 1, query 15",
    query=QUERY,
    bind=bind,
    small={"orders_per_hour": 1},
)
