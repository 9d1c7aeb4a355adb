"""What an ordered pipeline is to Spark: a relation of records that know their place.

A relation has no order, so a record brings its place in the total order of the input: `ts`, `src`
(the stream) and `row` (its place in the stream). What a pipeline does in sequence is said by
windows over (ts, src, row) or by aggregates of `place`, the struct of the three, which Spark
compares field by field. The relation of a pipeline keeps columns that put its output in order, and
the output is sorted by them in Spark.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from streamlab.workloads.model import Params

PLACE = ("ts", "src", "row")
IN_ORDER = "order by ts, src, row"
AS_PLACE = "struct(ts, src, row) as place"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The query of one workload.

    Attributes:
        fields: the columns of its records that the query reads, beside the place.
        batch: from all records and the workload's query parameters, returns the output with the
            columns of `order`.
        streaming: the same on Structured Streaming, where each micro-batch holds all records of a
            span of event time, and none earlier than the one before it; the number is that of
            groups to spread keys over.
        order: columns by which the output is sorted; no two outputs share all of them.
    """

    fields: tuple[str, ...]
    batch: Callable[[DataFrame, Params], DataFrame]
    streaming: Callable[[DataFrame, Params, int], DataFrame]
    order: tuple[str, ...]


def chosen(params: Params, name: str, column: str) -> str:
    """Return the condition that a column is among the ids of a query parameter, or `true`."""
    from streamlab.workloads.inputs.retail.ids import parse_ids

    ids = parse_ids(name, str(params[name]))
    return "true" if ids.every else f"{column} in ({', '.join(map(str, ids.among))})"
