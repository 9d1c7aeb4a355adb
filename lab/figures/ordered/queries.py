"""Defines the paper's five TPCx-BB queries (table 1) as inputs of figures 8, 11 and 14."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streamlab.lab.figures.experiment import events
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.ordered.shared import BLOCK, TUPLE


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkQuery:
    """A query of the benchmark.

    Attributes:
        number: its number in the benchmark.
        workload: its name in the lab.
        partitioned: number of partitioned operators.
        a_year: records of a year for each order in an hour, if the input must span a year; else 0.
    """

    number: int
    workload: str
    partitioned: int
    a_year: int = 0

    @property
    def panel(self) -> str:
        """Its name in the published numbers and on the drawing."""
        return f"query {self.number}"


QUERIES = (
    BenchmarkQuery(number=1, workload="items_sold_together", partitioned=2),
    BenchmarkQuery(number=2, workload="items_viewed_together", partitioned=2),
    BenchmarkQuery(number=3, workload="last_views_before_purchase", partitioned=2),
    BenchmarkQuery(number=4, workload="cart_abandonment", partitioned=1),
    # The query fits a line through a year of sales, and does no work after it.
    BenchmarkQuery(number=15, workload="declining_categories", partitioned=1, a_year=67_000),
)
NEEDS = tuple(query.workload for query in QUERIES)
DESCRIPTION = (
    "1: sold together; 2: viewed together; 3: last views before a purchase; 4: cart abandonment; "
    "15: declining categories."
)
_SIZES = {TUPLE: (12_000_000, 3_000_000), BLOCK: (40_000_000, 10_000_000)}
"""Input records, usual and quick, by granularity. Blocks are some ten times as fast."""


def key(query: BenchmarkQuery, batch: int) -> str:
    """Return the workload's key in the matrix; blocks have larger inputs."""
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
