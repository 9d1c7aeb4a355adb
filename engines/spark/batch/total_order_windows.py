"""Computes the four DGS workloads in batch by SQL windows over the total order; works on any input.

Sorts all events, by key if the program has keys and otherwise in a single task.
Serves streams that mix bulk events with separators, separators too dense for buckets, and comparison.
"""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.query import columns_of, scan
from streamlab.workloads.datasets.dataset import Dataset
from streamlab.workloads.model import Columns
from streamlab.workloads.suite.fraud_detection.program import AGGREGATE, FRAUD, MODULUS
from streamlab.workloads.suite.page_view_join.program import NO_USER

_ORDER = "order by ts, src, row rows between unbounded preceding and 1 preceding"
_PLACE = ("separator.ts as ts", "separator.src as src", "separator.row as row")
_COUNTED = "sum(case when kind = 0 then {amount} end)"


def run(session: SparkSession, dataset: Dataset, workload: str) -> Columns:
    """Return a workload's output, unordered."""
    events = _events(session, dataset)
    frame = _page_views(events) if workload == "page_view_join" else _windows(events, workload)
    return columns_of(frame.toArrow())


def _events(session: SparkSession, dataset: Dataset) -> DataFrame:
    frames = []
    for src, stream in enumerate(dataset.streams):
        names = {name for name, _ in stream.columns}
        frame = scan(session, dataset, src)
        tag = "tag" if "tag" in names else str(stream.kinds[0])
        fields = [
            F.expr(name if name in names else "0").cast("long").alias(name)
            for name in ("value", "user", "meta")
        ]
        frames.append(
            frame.select(
                "ts",
                F.lit(src).alias("src"),
                F.col("row_index").alias("row"),
                F.expr(f"cast({tag} % {len(dataset.alphabet.kinds)} as int)").alias("kind"),
                F.expr(f"cast({tag} div {len(dataset.alphabet.kinds)} as int)").alias("key"),
                *fields,
            )
        )
    return reduce(DataFrame.unionAll, frames)


def _page_views(events: DataFrame) -> DataFrame:
    old = f"last(case when kind = 1 then meta end, true) over (partition by key {_ORDER})"
    return events.selectExpr(
        "ts",
        "kind",
        "key as page",
        f"case when kind = 1 then {NO_USER} else user end as user",
        f"coalesce({old}, 0) as meta",
        "src",
        "row",
    )


def _windows(events: DataFrame, workload: str) -> DataFrame:
    keyed = "partition by key " if workload == "keyed_counter" else ""
    number = f"coalesce(sum(kind) over ({keyed}{_ORDER}), 0) as window"
    numbered = events.selectExpr("*", number)
    amount = "1" if workload == "keyed_counter" else "value"
    closed = numbered.groupBy("key", "window").agg(
        F.expr(f"coalesce({_COUNTED.format(amount=amount)}, 0)").alias("total"),
        F.expr("max(case when kind = 1 then struct(ts, src, row, value) end)").alias("separator"),
    )
    closed = closed.where("separator is not null")
    if workload == "event_window":
        return closed.selectExpr(*_PLACE, "total as sum")
    if workload == "keyed_counter":
        return closed.selectExpr(*_PLACE, "key", "total as count")
    models = closed.selectExpr(
        "window + 1 as window", f"pmod(total + separator.value, {MODULUS}) as model"
    )
    frauds = (
        numbered.where("kind = 0")
        .join(models, "window", "left")
        .where(f"pmod(value, {MODULUS}) = coalesce(model, 0)")
    )
    aggregates = closed.selectExpr(*_PLACE, f"{AGGREGATE} as kind", "total as value")
    return frauds.selectExpr("ts", "src", "row", f"{FRAUD} as kind", "value").unionAll(aggregates)
