"""Defines how Spark runs an ordered pipeline: as a relation of records with places, or in steps with a state.

A relation has no order, so each record has its place in the total order of the input: `ts`, `src` (the stream) and
`row` (its row in the stream). Sequential steps are windows over (ts, src, row), or aggregates of `place`, the struct of
the three, which Spark compares field by field. Spark sorts the output by the columns of `order`.

On Structured Streaming, operators with a state are steps over the records of a micro-batch, which has all records of a
span of event time. Spark passes records to an operator in any order, so a step first sorts them by place.
A step takes a group of keys as one pandas frame, because a call per key would cost more than its work. `by_key` spreads
keys over a few groups; `in_one_group` uses one group.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.streaming.groups import ValueProcessor, labels
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
        order: columns by which the output is sorted; they are unique per output.
        streaming: like `batch`, on Structured Streaming; its third argument is the number of groups of keys. Each
            micro-batch has all records of a span of event time, and the spans follow each other. None if the query runs
            only in batch (`BATCH_ONLY`).
    """

    fields: tuple[str, ...]
    batch: Callable[[DataFrame, Params], DataFrame]
    order: tuple[str, ...]
    streaming: Callable[[DataFrame, Params, int], DataFrame] | None = None


def id_filter(params: Params, name: str, column: str) -> str:
    """Return the SQL condition that a column is among the ids of a query parameter, or `true`."""
    ids = parse_ids(name, str(params[name]))
    return "true" if ids.every else f"{column} in ({', '.join(map(str, ids.among))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Processes a group's records of a micro-batch.

    Attributes:
        run: returns the output and the new state, from the state after the previous micro-batch (None before the first)
            and the new records in order.
        output: schema of the output.
    """

    run: Callable[[Any, pd.DataFrame], tuple[pd.DataFrame, Any]]
    output: str


def by_key(records: DataFrame, key: str, groups: int, step: Step) -> DataFrame:
    """Return the output of a step with a state for each key; keys are spread over `groups` groups."""
    names = F.array(*[F.lit(label) for label in labels(groups)])
    place = F.expr(f"cast(pmod(xxhash64({key}), {groups}) as int)")
    return _apply(records.withColumn("group", F.get(names, place)), step)


def in_one_group(records: DataFrame, step: Step) -> DataFrame:
    """Return the output of a step with a single state."""
    return _apply(records.withColumn("group", F.lit(0)), step)


def _apply(grouped: DataFrame, step: Step) -> DataFrame:
    return grouped.groupBy("group").transformWithStateInPandas(
        _Processor(step), step.output, outputMode="Append", timeMode="None"
    )


class _Processor(ValueProcessor):
    """Stores the state of a step."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._names = [field.split()[0] for field in step.output.split(",")]

    def process(
        self, key: tuple[Any, ...], rows: Iterator[pd.DataFrame], value: Any
    ) -> tuple[pd.DataFrame, Any]:
        new = pd.concat(list(rows), ignore_index=True)
        output, state = self._step.run(value, new.sort_values(list(PLACE), ignore_index=True))
        return output[self._names], state


def append_rows(state: pd.DataFrame | None, new: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the stored rows followed by the new rows, and the number of stored rows."""
    if state is None:
        return new, 0
    return pd.concat([state, new], ignore_index=True), len(state)


def run_starts(column: pd.Series) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Return a mask of the values that differ from the value before; the first value counts as different."""
    values = column.to_numpy()
    begins = np.ones(len(values), dtype=np.bool_)
    begins[1:] = values[1:] != values[:-1]
    return begins
