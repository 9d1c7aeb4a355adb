"""The five TPCx-BB queries of the paper (table 1) as inputs of figures 8, 11 and 14."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streamlab.lab.figures.experiment import events
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered.shared import BLOCK, TUPLE


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkQuery:
    """One query.

    Attributes:
        number: the benchmark's.
        workload: by which the lab knows it.
        partitioned: how many partitioned operators it has.
        a_year: records of a year for each order in an hour, where the input has to be one; or 0.
    """

    number: int
    workload: str
    partitioned: int
    a_year: int = 0

    @property
    def panel(self) -> str:
        """What the paper's numbers and the drawing call it."""
        return f"query {self.number}"


QUERIES = (
    BenchmarkQuery(number=1, workload="items_sold_together", partitioned=2),
    BenchmarkQuery(number=2, workload="items_viewed_together", partitioned=2),
    BenchmarkQuery(number=3, workload="last_views_before_purchase", partitioned=2),
    BenchmarkQuery(number=4, workload="cart_abandonment", partitioned=1),
    # Its line is drawn through a year of sales, and nothing is done after it.
    BenchmarkQuery(number=15, workload="declining_categories", partitioned=1, a_year=67_000),
)
NEEDS = tuple(query.workload for query in QUERIES)
DESCRIPTION = (
    "1: sold together; 2: viewed together; 3: last views before a purchase; 4: cart abandonment; "
    "15: declining categories."
)
_SIZES = {TUPLE: (12_000_000, 3_000_000), BLOCK: (40_000_000, 10_000_000)}
"""Records by granularity: usual and quick. Blocks are some ten times as fast."""


def key(query: BenchmarkQuery, batch: int) -> str:
    """Return the workload's key in the matrix: inputs are larger for blocks."""
    return f"{query.workload}@b{batch}"


def workload_tables(options: Options, batches: Sequence[int]) -> list[dict[str, Any]]:
    """Return `[[workload]]` tables of all queries, one for each granularity."""
    return [_table(query, batch, options) for batch in batches for query in QUERIES]


def _table(query: BenchmarkQuery, batch: int, options: Options) -> dict[str, Any]:
    count = events(options, *_SIZES[batch])
    table: dict[str, Any] = {"name": query.workload, "label": f"b{batch}", "events": count}
    if query.a_year:
        table["params"] = {"orders_per_hour": max(1, count // query.a_year)}
    return table
