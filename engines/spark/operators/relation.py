"""What a query of operators is to Spark: a relation of its inputs, static or streaming alike."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from streamlab.engines.spark.operators.clock import Clock
from streamlab.workloads.model import Params


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a relation is made of.

    Attributes:
        kinds: by kind, all its tuples: `ts`, `src` (the stream), the kind's own columns and, unless
            the relation has no use for it, `time`: `ts` as a timestamp, with a watermark when
            streaming.
        params: the query's parameters.
        clock: how `time` is made of `ts`.
        form: one of the relation's forms.
        tasks: number of tasks that a heavy join is to be spread over.
        streaming: whether the inputs are streams.
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
        build: returns the output: `ts`, the fields of the program's output, and `src`, the stream
            of the tuple that caused a record where there is one, else 0.
        delay_ms: how far the watermark stays behind the latest event; None: no event time is used.
        closes: whether outputs wait for the watermark, so that streams must end with heartbeats.
        aligned: whether outputs come in order of time only if the streams do so together, so that
            micro-batches must end at the same event time in all of them.
    """

    build: Callable[[Inputs], DataFrame]
    delay_ms: int | None
    closes: bool = False
    aligned: bool = False
