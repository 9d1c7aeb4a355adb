"""The expected reports: sums by category and day, then a line through every beginning of them."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.retail.ids import Ids
from streamlab.workloads.inputs.retail.schema import DAY_MS, SALE
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.model.streams.records import rows_to_columns
from streamlab.workloads.suite.declining_categories.program import OUTPUT


def oracle(data: Input, stores: Ids, first_day: int, days: int) -> Columns:
    """Return (ts, category, day, points, rise, run), in order of the sales that end the days.

    In Python's own integers, which have no bounds.

    Raises:
        OverflowError: a slope does not fit 64 bits, see `program`.
    """
    import pandas as pd  # heavy

    sales = total_order(data, SALE)
    day = sales.ts // DAY_MS - first_day
    wanted = np.flatnonzero(stores.mask(sales.payload["store"]) & (day >= 0))
    frame = pd.DataFrame(
        {
            "row": wanted,
            "category": sales.payload["category"][wanted],
            "day": np.minimum(day[wanted], days),
            "paid": sales.payload["net_paid"][wanted],
        }
    )
    rows = []
    for category, own in frame.groupby("category"):
        by_day = own.groupby("day").agg(row=("row", "first"), paid=("paid", "sum")).sort_index()
        x, y = by_day.index.tolist(), by_day["paid"].tolist()
        ended_by = by_day["row"].tolist()[1:]
        for n in range(2, len(ended_by) + 1):
            rise, run = _line(x[:n], y[:n])
            if rise <= 0:
                end = ended_by[n - 1]
                rows.append((end, (int(sales.ts[end]), category, x[n - 1], n, rise, run)))
    return rows_to_columns([row for _, row in sorted(rows)], OUTPUT)


def _line(x: list[int], y: list[int]) -> tuple[int, int]:
    """Return n times the covariance sum and n times the variance sum of points."""
    n, sum_x, sum_y = len(x), sum(x), sum(y)
    # n times each deviation from the mean is whole, and so is the sum of products over n.
    from_x = [n * value - sum_x for value in x]
    rise = sum(a * (n * b - sum_y) for a, b in zip(from_x, y, strict=True)) // n
    return rise, sum(a * a for a in from_x) // n
