"""Defines Linear Road's two operators: a filter, and a comparison with the vehicle's previous report."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame

from streamlab.engines.spark.pipelines.relation import (
    IN_ORDER,
    PLACE,
    Relation,
    Step,
    append_rows,
    by_key,
    run_starts,
)
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
    return by_key(reports, "vid", groups, _changes("vid", ("xway", "dir", "seg"), schema))


def _changes(key: str, fields: tuple[str, ...], output: str) -> Step:
    """Return the step that forwards records that differ in some field from the key's previous record."""

    def run(state: pd.DataFrame | None, new: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        records, old_count = append_rows(state, new)
        sorted_records = records.sort_values(key, kind="stable")
        is_first = run_starts(sorted_records[key])
        differs = np.logical_or.reduce(
            [is_first, *(run_starts(sorted_records[name]) for name in fields)]
        )
        is_last = np.append(is_first[1:], True)
        changed = sorted_records[differs & (sorted_records.index >= old_count)]
        return changed, sorted_records[is_last]

    return Step(run=run, output=output)


RELATIONS: Mapping[str, Relation] = {
    "linear_road_pos_rep": Relation(
        fields=_FIELDS,
        batch=lambda records, params: _reports(records),
        streaming=lambda records, params, groups: _reports(records),
        order=PLACE,
    ),
    "linear_road_new_seg": Relation(
        fields=_FIELDS, batch=_new_seg, streaming=_new_seg_stream, order=PLACE
    ),
}
