"""Defines how an ordered pipeline becomes a Spark relation of records with places.

A relation has no order, so each record has its place in the total order of the input: `ts`, `src` (the stream) and
`row` (its row in the stream). Windows over (ts, src, row) express sequential steps, or aggregates of `place`, the
struct of the three, which Spark compares field by field. The relation keeps the columns of `order`, by which Spark
sorts its output.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from streamlab.workloads.inputs.retail.parameters import parse_ids
from streamlab.workloads.model import Params

PLACE = ("ts", "src", "row")
IN_ORDER = "order by ts, src, row"
AS_PLACE = "struct(ts, src, row) as place"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The query of one workload.

    Attributes:
        fields: the columns that the query reads, other than the place.
        batch: returns the output, with the columns of `order`, from all records and the query parameters.
        streaming: the same on Structured Streaming; its third argument is the number of groups of keys. Each
            micro-batch has all records of a span of event time, which follows that of the previous micro-batch.
        order: columns by which the output is sorted; they are unique per output.
    """

    fields: tuple[str, ...]
    batch: Callable[[DataFrame, Params], DataFrame]
    streaming: Callable[[DataFrame, Params, int], DataFrame]
    order: tuple[str, ...]


def id_filter(params: Params, name: str, column: str) -> str:
    """Return the SQL condition that a column is among the ids of a query parameter, or `true`."""
    ids = parse_ids(name, str(params[name]))
    return "true" if ids.every else f"{column} in ({', '.join(map(str, ids.among))})"
