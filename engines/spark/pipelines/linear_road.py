"""Defines Linear Road's two operators: a filter, and a comparison with the vehicle's previous report."""

from pyspark.sql import DataFrame

from streamlab.engines.spark.pipelines.relation import IN_ORDER, PLACE, Relation
from streamlab.engines.spark.pipelines.stateful import by_key, changes
from streamlab.workloads.inputs.linear_road.schema import FIELDS, REPORT
from streamlab.workloads.model import Params

_FIELDS = tuple(FIELDS.names or ())
_BEFORE = f"lag(struct(xway, dir, seg)) over (partition by vid {IN_ORDER})"


def _reports(records: DataFrame) -> DataFrame:
    return records.where(f"type = {REPORT}")


def _new_seg(records: DataFrame, params: Params) -> DataFrame:
    compared = _reports(records).selectExpr("*", f"{_BEFORE} as before")
    return compared.where("before is null or before != struct(xway, dir, seg)")


def _new_seg_stream(records: DataFrame, params: Params, groups: int) -> DataFrame:
    reports = _reports(records)
    schema = ", ".join(f"{name} {dtype}" for name, dtype in reports.dtypes)
    return by_key(reports, "vid", groups, changes("vid", ("xway", "dir", "seg"), schema))


POS_REP = Relation(
    fields=_FIELDS,
    batch=lambda records, params: _reports(records),
    streaming=lambda records, params, groups: _reports(records),
    order=PLACE,
)
NEW_SEG = Relation(fields=_FIELDS, batch=_new_seg, streaming=_new_seg_stream, order=PLACE)
