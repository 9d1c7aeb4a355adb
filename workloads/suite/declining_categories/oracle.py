"""Computes the expected reports: sums by category and day, then a line through each prefix."""

import numpy as np

from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.inputs.retail.parameters import Ids
from streamlab.workloads.inputs.retail.schema import DAY_MS, SALE
from streamlab.workloads.model import Columns, Input
from streamlab.workloads.model.streams.records import rows_to_columns
from streamlab.workloads.suite.declining_categories.program import OUTPUT


def oracle(data: Input, stores: Ids, first_day: int, days: int) -> Columns:
    """Return (ts, category, day, points, rise, run), in order of the sales that end the days.

    Uses Python's unbounded integers.

    Raises:
        OverflowError: a slope does not fit 64 bits, see `program`.
    """
    import pandas as pd  # heavy

    sales = total_order(data, SALE)
    day = sales.ts // DAY_MS - first_day
    rows_used = np.flatnonzero(stores.mask(sales.payload["store"]) & (day >= 0))
    frame = pd.DataFrame(
        {
            "row": rows_used,
            "category": sales.payload["category"][rows_used],
            "day": np.minimum(day[rows_used], days),
            "paid": sales.payload["net_paid"][rows_used],
        }
    )
    rows = []
    for category, group in frame.groupby("category"):
        by_day = group.groupby("day").agg(row=("row", "first"), paid=("paid", "sum")).sort_index()
        x, y = by_day.index.tolist(), by_day["paid"].tolist()
        ended_by = by_day["row"].tolist()[1:]
        for n in range(2, len(ended_by) + 1):
            rise, run = _line(x[:n], y[:n])
            if rise <= 0:
                end = ended_by[n - 1]
                rows.append((end, (int(sales.ts[end]), category, x[n - 1], n, rise, run)))
    return rows_to_columns([row for _, row in sorted(rows)], OUTPUT)


def _line(x: list[int], y: list[int]) -> tuple[int, int]:
    """Return rise and run of the least-squares line through points, see `program`."""
    n, sum_x, sum_y = len(x), sum(x), sum(y)
    # n times each deviation from the mean is whole, and n divides the sum of products.
    deviation_x = [n * value - sum_x for value in x]
    rise = sum(a * (n * b - sum_y) for a, b in zip(deviation_x, y, strict=True)) // n
    return rise, sum(a * a for a in deviation_x) // n
