"""Defines how a query of operators becomes a Spark relation, the same in batch and streaming."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from streamlab.engines.spark.operators.clock import Clock
from streamlab.workloads.model import Params


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of a relation.

    `kinds` has all tuples by kind: `ts`, `src` (the stream), the kind's columns and, unless the relation uses no event
    time, `time`: `ts` as a timestamp, with a watermark when streaming. `tasks` is for heavy joins.
    """

    kinds: Mapping[str, DataFrame]
    params: Params
    clock: Clock
    form: str
    tasks: int
    streaming: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The query of one workload.

    Attributes:
        build: returns the output: `ts`, the fields of the program's output, and `src`, the stream of the tuple that
            caused a record, or 0.
        delay_ms: how far the watermark stays behind the latest event; None: the relation uses no event time.
        closes: whether outputs wait for the watermark, so that streams must end with heartbeats.
        aligned: whether micro-batches must end at the same event time in all streams, to keep outputs in time order.
    """

    build: Callable[[Inputs], DataFrame]
    delay_ms: int | None
    closes: bool = False
    aligned: bool = False
