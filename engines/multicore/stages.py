"""What runs of ordered pipelines and of query graphs give the core, and take from it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from engines.multicore.kernels.pipelines import StageKernels
from engines.multicore.results import LAG, LATENCY_UNDER_LOAD, SERVICE, histogram
from engines.protocol import FULL, OfferedLoad, Sent
from workloads.model import Columns, Input, ListColumn, Pipeline, Stream
from workloads.model.pipeline import PARTITIONED, Stage

RESERVED_ROWS = 1 << 20
"""With a load: output rows for which memory is touched before the clock starts."""

MOST_STREAMS = 64


def itemsizes(dtype: np.dtype[np.void]) -> list[int]:
    """Return the bytes of each field."""
    return [dtype[name].itemsize for name in dtype.names or ()]


def column(stream: Stream, name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return a column as kernels expect it; of zeros where the stream has none."""
    values = stream.payload.get(name)
    if values is None:
        return np.zeros(len(stream), dtype=dtype)
    assert not isinstance(values, ListColumn)
    return np.ascontiguousarray(values, dtype=dtype)


def offered(load: OfferedLoad | None) -> tuple[int, int, bool] | None:
    """Return warm-up and end in ns and whether blocks are whole, as the core takes a load."""
    return None if load is None else (load.warm_up_ns, load.end_ns, load.batching == FULL)


def partitions_of(stage: Stage, given: int | None = None) -> int:
    """Return into how many partitions the keys of an operator go; 1 without keys.

    Args:
        stage: the operator.
        given: for operators that hash their keys; None: as each says itself.
    """
    if stage.kind != PARTITIONED:
        return 1
    if stage.bounds is not None:
        return len(stage.bounds) + 1
    return stage.partitions if given is None else given


def add_stage(core: Any, stage: Stage, kernels: StageKernels, partitions: int) -> None:
    """Add the next operator to a core.

    Raises:
        ValueError: it is out of range.
        EngineError: its functions do not compile.
    """
    core.add_stage(
        name=stage.name,
        kind=stage.kind,
        process=kernels.process(),
        partition=kernels.partition(),
        partitions=partitions,
        # A state without fields of any size is still one.
        state_bytes=0 if stage.state is None else max(1, stage.state.itemsize),
        max_outputs=stage.max_outputs,
        itemsizes=itemsizes(stage.output),
    )


def add_streams(core: Any, pipeline: Pipeline, data: Input, load: OfferedLoad | None) -> None:
    """Add all streams of an input to a core, which borrows their columns.

    Raises:
        ValueError: one is out of order, or out of range.
    """
    event = pipeline.event
    for index, stream in enumerate(data.streams):
        columns = [column(stream, name, event[name]) for name in event.names or ()]
        if load is None:
            beats = np.ascontiguousarray(stream.heartbeats, dtype=np.int64)
            core.add_stream(stream.ts, columns, beats)
            continue
        core.add_stream(
            stream.ts,
            columns,
            load.heartbeat_ts[index],
            load.due_ns[index],
            load.heartbeat_due_ns[index],
        )


def collected(core: Any, output: np.dtype[np.void]) -> Columns:
    """Return all outputs of a core after its run, in its order."""
    rows = core.rows()
    columns: Columns = {name: np.empty(rows, dtype=output[name]) for name in output.names or ()}
    core.collect([values.ctypes.data for values in columns.values()])
    return columns


def under_load(core: Any) -> dict[str, Any]:
    """Return the latencies of a run with a load, and what was sent, as fields of `Measured`."""
    return {
        "latency": histogram(core.latency(), LATENCY_UNDER_LOAD),
        "warm_up_latency": histogram(core.warm_up(), LATENCY_UNDER_LOAD),
        "service_latency": histogram(core.service(), SERVICE),
        "sent": Sent(events=core.emitted(), lag=histogram(core.lag(), LAG), own_thread=True),
    }


def refused_fields(pipeline: Pipeline, data: Input) -> str | None:
    """Return which fields the core cannot take, or None: it reads and forwards single values."""
    if len(data.streams) > MOST_STREAMS:
        return f"a pipeline reads at most {MOST_STREAMS} streams, got {len(data.streams)}"
    for index, stage in enumerate(pipeline.stages):
        for verb, fields in (("reads", pipeline.input_of(index)), ("forwards", stage.output)):
            for name in fields.names or ():
                if fields[name].subdtype is not None or fields[name].hasobject:
                    return (
                        f"operator {stage.name} {verb} {name}, which is {fields[name]}; the core "
                        "takes single values"
                    )
    for stream in data.streams:
        for name in pipeline.event.names or ():
            if isinstance(stream.payload.get(name), ListColumn):
                return f"stream {stream.name}: column {name} holds lists, the pipeline reads one"
    return None
