"""TPCx-BB query 15 as a pipeline: sales -> SL wanted -> SL dated -> PS trends.

SL is a stateless operator, PS a partitioned one (a state for each key), SF a stateful one (one state).

- `wanted` selects the sales of some stores from the first day of the year on.
- `dated` gives each sale its day within the year. Later sales get the number of days, and only show
  that the year is over.
- `trends`, by category, sums the payments of a day. The category's first sale of a later day ends
  the day, which becomes a point (day, paid) of a least-squares line over the year so far. The
  operator forwards the category if the slope is not above 0. As in the query, days without a sale
  are not points, and fewer than two points have no slope. The query's single answer at the end of
  the year is the last report of each category, at its first sale after the year.

The slope is `rise` / `run` with whole numbers and a positive run, so rounding never decides its
sign:

    rise = n sum(xy) - sum(x) sum(y)     run = n sum(xx) - sum(x) sum(x)

All sums fit 64 bits while a category's daily sales stay below 9.2e18 / days^3 cents: 1.9 billion whole
units of money for a year. Inputs beyond that are refused.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.retail.parameters import Ids
from streamlab.workloads.inputs.retail.schema import DAY_MS, SALE
from streamlab.workloads.model import Pipeline, partitioned, stateless

PAID = np.dtype([("ts", np.int64), ("category", np.int16), ("net_paid", np.int64)])
DATED = np.dtype(
    [("ts", np.int64), ("category", np.int16), ("day", np.int32), ("net_paid", np.int64)]
)
OUTPUT = np.dtype(
    [
        ("ts", np.int64),
        ("category", np.int16),
        ("day", np.int32),
        ("points", np.int32),
        ("rise", np.int64),
        ("run", np.int64),
    ]
)
"""A flat or declining category; `day` is its last day with sales so far."""

TREND = np.dtype(
    [
        ("open", np.int8),
        ("day", np.int32),
        ("paid", np.int64),
        ("n", np.int64),
        ("x", np.int64),
        ("y", np.int64),
        ("xy", np.int64),
        ("xx", np.int64),
    ]
)
"""The sum of the open day, and sums over the points."""


def program(stores: Ids, first_day: int, days: int) -> Pipeline:
    """Return the pipeline.

    Args:
        stores: stores whose sales count.
        first_day: first day of the year, in days since 1970.
        days: length of the year in days.
    """
    all_stores, some_stores = stores.every, stores.among
    begin_ms = first_day * DAY_MS

    def wanted(t: Any, out: Any) -> None:
        if t.ts >= begin_ms and (all_stores or t.store in some_stores):
            out.emit(t.category, t.net_paid)

    def dated(t: Any, out: Any) -> None:
        out.emit(t.category, min((t.ts - begin_ms) // DAY_MS, days), t.net_paid)

    def trends(s: Any, t: Any, out: Any) -> None:
        if s.open == 1 and t.day != s.day:
            s.n += 1
            s.x += s.day
            s.y += s.paid
            s.xy += s.day * s.paid
            s.xx += s.day * s.day
            rise = s.n * s.xy - s.x * s.y
            if s.n > 1 and rise <= 0:
                out.emit(t.category, s.day, s.n, rise, s.n * s.xx - s.x * s.x)
            s.open = 0
        if t.day < days:
            if s.open == 0:
                s.open = 1
                s.day = t.day
                s.paid = 0
            s.paid += t.net_paid

    return Pipeline(
        name="declining_categories",
        record="sale",
        event=SALE,
        stages=(
            stateless(name="wanted", output=PAID, apply=wanted),
            stateless(name="dated", output=DATED, apply=dated),
            partitioned(name="trends", output=OUTPUT, key=_category, state=TREND, apply=trends),
        ),
    )


def _category(t: Any) -> Any:
    return t.category
