"""Passes pipeline operators and input columns to the core."""

from typing import Any

import numpy as np
import numpy.typing as npt

from streamlab.engines.multicore import _core
from streamlab.engines.multicore.run.settings import itemsizes
from streamlab.engines.multicore.stages.kernels import StageKernels
from streamlab.workloads.model import Input, ListColumn, Pipeline, Stream
from streamlab.workloads.model.pipeline.program import PARTITIONED, Stage


def columns_of(stream: Stream, event: np.dtype[np.void]) -> list[npt.NDArray[Any]]:
    """Return a stream's columns in the dtypes that kernels expect; missing columns are zeros."""
    return [_column(stream, name, event[name]) for name in event.names or ()]


def _column(stream: Stream, name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    values = stream.payload.get(name)
    if values is None:
        return np.zeros(len(stream), dtype=dtype)
    assert not isinstance(values, ListColumn), "check_fields refuses lists"
    return np.ascontiguousarray(values, dtype=dtype)


def partitions_of(stage: Stage, hashed: int | None = None) -> int:
    """Return the number of partitions of an operator; 1 without keys.

    Args:
        stage: the operator.
        hashed: partitions of operators that hash their keys; None means the operator's own number.
    """
    if stage.kind != PARTITIONED:
        return 1
    if stage.bounds is not None:
        return len(stage.bounds) + 1
    return stage.partitions if hashed is None else hashed


def add_stage(core: Any, stage: Stage, kernels: StageKernels, partitions: int) -> None:
    """Add the next operator to a core.

    Raises:
        ValueError: a value is out of range.
        EngineError: the operator's functions do not compile.
    """
    core.add_stage(
        name=stage.name,
        kind=stage.kind,
        process=kernels.process(),
        partition=kernels.partition(),
        partitions=partitions,
        # 0 means no state, so a state of size 0 takes one byte.
        state_bytes=0 if stage.state is None else max(1, stage.state.itemsize),
        max_outputs=stage.max_outputs,
        itemsizes=itemsizes(stage.output),
    )


def check_fields(pipeline: Pipeline, data: Input) -> str | None:
    """Return why the core cannot take an input or a field of a pipeline, or None."""
    if len(data.streams) > _core.MOST_STREAMS:
        return f"a pipeline reads at most {_core.MOST_STREAMS} streams, got {len(data.streams)}"
    for index, stage in enumerate(pipeline.stages):
        for verb, fields in (("reads", pipeline.input_of(index)), ("forwards", stage.output)):
            for name in fields.names or ():
                if fields[name].subdtype is not None or fields[name].hasobject:
                    return (
                        f"operator {stage.name} {verb} field {name} of type {fields[name]}; use a "
                        "single value"
                    )
    for stream in data.streams:
        for name in pipeline.event.names or ():
            if isinstance(stream.payload.get(name), ListColumn):
                return (
                    f"stream {stream.name}: column {name} holds lists, but the pipeline reads "
                    "single values"
                )
    return None
