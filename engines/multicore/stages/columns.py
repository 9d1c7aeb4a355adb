"""Passes pipeline operators and input columns to the core."""

from collections.abc import Callable
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
    zeros = np.zeros(len(stream), dtype=np.int8)
    columns = []
    for name in event.names or ():
        values = stream.payload.get(name, zeros)
        assert not isinstance(values, ListColumn), "check_fields refuses lists"
        columns.append(np.ascontiguousarray(values, dtype=event[name]))
    return columns


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


def add_stages(
    core: Any, pipeline: Pipeline, partitions: Callable[[Stage], int], *, bounds: bool
) -> list[StageKernels]:
    """Add a pipeline's operators to a core; return their kernels, which must live as long as the run.

    Args:
        core: the core.
        pipeline: the pipeline.
        partitions: returns the number of partitions of an operator.
        bounds: whether the operators' functions check array indices.

    Raises:
        ValueError: a value is out of range.
        EngineError: the operators' functions do not compile.
    """
    compiled = []
    for index, stage in enumerate(pipeline.stages):
        kernels = StageKernels(stage, pipeline.input_of(index), bounds=bounds)
        compiled.append(kernels)
        core.add_stage(
            name=stage.name,
            kind=stage.kind,
            process=kernels.process(),
            partition=kernels.partition(),
            partitions=partitions(stage),
            # 0 means no state, so a state of size 0 takes one byte.
            state_bytes=0 if stage.state is None else max(1, stage.state.itemsize),
            max_outputs=stage.max_outputs,
            itemsizes=itemsizes(stage.output),
        )
    return compiled


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
