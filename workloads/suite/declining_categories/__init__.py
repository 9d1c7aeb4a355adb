"""TPCx-BB query 15: finds categories of items with flat or declining sales in a store."""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.query_workload import bind_arguments, declare_workload
from streamlab.workloads.inputs.retail import STRICT, store_sales
from streamlab.workloads.inputs.retail.parameters import FIRST_DAY, Ids, day_number, parse_ids
from streamlab.workloads.inputs.retail.schema import DAY_MS
from streamlab.workloads.model import Parameter, Params
from streamlab.workloads.model.streams.limits import INT64, IntArray, Limit
from streamlab.workloads.suite.declining_categories.oracle import oracle
from streamlab.workloads.suite.declining_categories.program import program

QUERY = {
    "stores": Parameter(default="10", help="stores whose sales count, or all"),
    "first_day": Parameter(default=FIRST_DAY, help="first day of the year (UTC), YYYY-MM-DD"),
    "days": Parameter(default=365, help="length of the year", minimum=2, maximum=366 * 4),
}


def arguments(query: Params) -> dict[str, object]:
    """Return the arguments of the program and its oracle.

    Raises:
        ModelError: `stores` is not a list of ids, or `first_day` is not a day.
    """
    stores = parse_ids("stores", str(query["stores"]))
    return {**query, "stores": stores, "first_day": day_number(str(query["first_day"]))}


def _daily_sales(stores: Ids, first_day: int, days: int) -> Limit:
    """Return the limit on the sales of a category in a day.

    For n points (x, y) (see `program`), x is below `days` and n at most `days`. So n sum(xy) and sum(x) sum(y)
    are each at most days^3 / 2 times the limit, and their difference at most days^3 times the limit.
    """

    def day_group(events: Any) -> IntArray:
        day = np.clip(events.ts // DAY_MS - first_day, -1, days)
        return np.asarray(events.payload["category"] * (days + 2) + day)

    def selected_payment(events: Any) -> IntArray:
        day = events.ts // DAY_MS - first_day
        counts = stores.mask(events.payload["store"]) & (day >= 0) & (day < days)
        return np.where(counts, events.payload["net_paid"], 0)

    return Limit(
        field="net_paid",
        quantity="the sales of the category on that day",
        remedy="give net_paid in a coarser unit, or fewer days (query parameter)",
        lowest=-(INT64[1] // days**3),
        highest=INT64[1] // days**3,
        reads=("category", "store"),
        groups=day_group,
        terms=selected_payment,
    )


WORKLOAD = declare_workload(
    store_sales,
    input=store_sales.INPUT,
    name="declining_categories",
    title="Categories with flat or declining sales in a store (TPCx-BB query 15)",
    paper="Scaling Ordered Stream Processing on Shared-Memory Multicores, table 1, query 15",
    query=QUERY,
    bind=bind_arguments(program, oracle, STRICT, arguments, limit=_daily_sales),
    small={"orders_per_hour": 1},
)
