"""Operators with a state on Structured Streaming: steps over the records of a micro-batch.

A micro-batch holds all records of a span of event time, and none earlier than the one before it,
but Spark hands them to an operator in any order: a step sorts them by their place first. A step
works on a group of keys with one pandas frame, as a call for each key and micro-batch costs more
than what it does: `by_key` spreads keys over a few groups, `in_one` has one group.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (the name everyone uses)

from streamlab.engines.spark.pipelines.relation import PLACE
from streamlab.engines.spark.streaming.group_labels import labels
from streamlab.engines.spark.streaming.group_state import KeptProcessor


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What an operator does with a group's records of a micro-batch.

    Attributes:
        run: from what it held after the last micro-batch (None at first) and the new records in
            order, returns its output and what it holds now.
        output: schema of the output.
    """

    run: Callable[[Any, pd.DataFrame], tuple[pd.DataFrame, Any]]
    output: str


def by_key(records: DataFrame, key: str, groups: int, step: Step) -> DataFrame:
    """Return the output of a step that has a state for each key, over so many groups of keys."""
    names = F.array(*[F.lit(label) for label in labels(groups)])
    place = F.expr(f"cast(pmod(xxhash64({key}), {groups}) as int)")
    return _stepped(records.withColumn("group", F.get(names, place)), step)


def in_one(records: DataFrame, step: Step) -> DataFrame:
    """Return the output of a step that has one state."""
    return _stepped(records.withColumn("group", F.lit(0)), step)


def _stepped(grouped: DataFrame, step: Step) -> DataFrame:
    return grouped.groupBy("group").transformWithStateInPandas(
        _Processor(step), step.output, outputMode="Append", timeMode="None"
    )


class _Processor(KeptProcessor):
    """Keeps what a step holds."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._names = [field.split()[0] for field in step.output.split(",")]

    def process(
        self, key: tuple[Any, ...], rows: Iterator[pd.DataFrame], kept: Any
    ) -> tuple[pd.DataFrame, Any]:
        new = pd.concat(list(rows), ignore_index=True)
        output, held = self._step.run(kept, new.sort_values(list(PLACE), ignore_index=True))
        return output[self._names], held


def after(held: pd.DataFrame | None, new: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return what was held followed by what is new, and how many rows were held."""
    if held is None:
        return new, 0
    return pd.concat([held, new], ignore_index=True), len(held)


def runs_of(column: pd.Series) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Return where a value differs from the one before; the first one does."""
    values = column.to_numpy()
    begins = np.ones(len(values), dtype=np.bool_)
    begins[1:] = values[1:] != values[:-1]
    return begins


def changes(key: str, fields: tuple[str, ...], output: str) -> Step:
    """Return the step that keeps records which differ in some field from the key's one before."""

    def run(held: pd.DataFrame | None, new: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        whole, old = after(held, new)
        by = whole.sort_values(key, kind="stable")
        begins = runs_of(by[key])
        differs = np.logical_or.reduce([begins, *(runs_of(by[name]) for name in fields)])
        ends = np.append(begins[1:], True)
        kept = by[differs & (by.index >= old)]
        return kept, by[ends]

    return Step(run=run, output=output)
