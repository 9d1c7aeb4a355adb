"""Runs ordered pipelines on the native core: docs/decisions/0010-ordered-pipelines.md."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from engines.errors import EngineCrashError, EngineError, UnsupportedError
from engines.multicore import _core
from engines.multicore.kernels.pipelines import StageKernels
from engines.multicore.pipeline_options import MOST_GROUPS, PipelineOptions
from engines.multicore.results import (
    LAG,
    LATENCY_UNDER_LOAD,
    SERVICE,
    histogram,
    progress,
)
from engines.protocol import FULL, Histogram, Measured, OfferedLoad, Sent
from workloads.model import Columns, Input, ListColumn, Pipeline, Stream
from workloads.model.pipeline import PARTITIONED, Stage

RESERVED_ROWS = 1 << 20
"""With a load: output rows for which memory is touched before the clock starts."""

MOST_STREAMS = 64
MOST_BATCH = 1 << 16
"""A unit has at most so many records; a larger batch counts as this."""

PROCESSING = (
    "from when the first operator took a unit until all that followed from it was out, waiting in "
    "between included, waiting for the first operator not; at full speed, sampled"
)


class PipelineRun:
    """One run of a pipeline, on columns in memory.

    Args:
        pipeline: what to compute.
        data: on which input; all its streams are of the pipeline's one kind.
        workers: threads, 1 to 64.
        batch: input records of a unit at most.
        ring_blocks: blocks that a source may be ahead.
        options: how operators are scheduled and their outputs put in order.
        pin: pin threads to cores; None: where there is a core for each.
        load: when records are due; None: all at once.
        measure: False leaves out latency and counts over time.

    Raises:
        UnsupportedError: the core cannot run this pipeline on this input, or not this way.
        EngineError: a function does not compile, or an option is out of range.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        data: Input,
        *,
        workers: int,
        batch: int,
        ring_blocks: int,
        options: PipelineOptions | None = None,
        pin: bool | None = None,
        load: OfferedLoad | None = None,
        measure: bool = True,
    ) -> None:
        options = options or PipelineOptions()
        window = options.window_for(workers, batch)
        reason = refusal(pipeline, data, options, window)
        if reason is not None:
            raise UnsupportedError(reason)
        self._pipeline = pipeline
        self._load = load
        self._measure = measure
        self._workers = workers
        self._options = options
        self._kernels = [
            StageKernels(stage, pipeline.input_of(index))
            for index, stage in enumerate(pipeline.stages)
        ]
        available = sorted(os.sched_getaffinity(0))
        pinned = 1 < workers <= len(available) if pin is None else pin
        try:
            self._core: Any = _core.PipelineCore(
                workers=workers,
                batch=batch,
                window=window,
                ring_blocks=ring_blocks,
                scheduler=options.scheduler,
                worklist=options.worklist,
                reordering=options.reordering,
                slice_ns=options.slice_us * 1000,
                window_ns=options.ct_window_us * 1000,
                capacity=options.qst_capacity or 0,
                itemsizes=[8, *_itemsizes(pipeline.event)],
                cores=available if pinned else [],
                oversubscribed=workers > len(available),
                load=None
                if load is None
                else (load.warm_up_ns, load.end_ns, load.batching == FULL),
                spare_core=workers < len(available),
                reserved_rows=0 if load is None else RESERVED_ROWS,
                measure=measure,
            )
            self._add_stages()
            for index, stream in enumerate(data.streams):
                self._add_stream(index, stream)
            self._core.start()
        except (ValueError, TypeError) as error:
            raise EngineError(f"the core refused the run: {error}") from error
        except RuntimeError as error:
            raise EngineCrashError(f"multicore: {error}") from error

    def run(self) -> Measured:
        """Process the whole input.

        Raises:
            EngineCrashError: an operator failed; the message says which and how.
        """
        core = self._open()
        try:
            duration_ns = core.run()
        except RuntimeError as error:
            raise EngineCrashError(f"multicore: {error}") from error
        return Measured(
            events=core.events(),
            progress=progress(core) if self._measure else None,
            plan=self._plan(),
            counters=self._counters(core, duration_ns),
            **self._latencies(core),
        )

    def answer(self) -> Columns:
        """Return all outputs, in order."""
        core = self._open()
        rows = core.rows()
        output = self._pipeline.output
        columns: Columns = {name: np.empty(rows, dtype=output[name]) for name in output.names or ()}
        core.collect([column.ctypes.data for column in columns.values()])
        return columns

    def close(self) -> None:
        """Release the core, its threads and the input."""
        self._core = None

    def _open(self) -> Any:
        if self._core is None:
            raise EngineError("this run is closed")
        return self._core

    def _add_stages(self) -> None:
        for stage, kernels in zip(self._pipeline.stages, self._kernels, strict=True):
            self._core.add_stage(
                name=stage.name,
                kind=stage.kind,
                process=kernels.process(),
                partition=kernels.partition(),
                partitions=partitions_of(stage, self._options),
                # A state without fields of any size is still one.
                state_bytes=0 if stage.state is None else max(1, stage.state.itemsize),
                max_outputs=stage.max_outputs,
                itemsizes=_itemsizes(stage.output),
            )

    def _add_stream(self, index: int, stream: Stream) -> None:
        event = self._pipeline.event
        columns = [_column(stream, name, event[name]) for name in event.names or ()]
        if self._load is None:
            beats = np.ascontiguousarray(stream.heartbeats, dtype=np.int64)
            self._core.add_stream(stream.ts, columns, beats)
            return
        self._core.add_stream(
            stream.ts,
            columns,
            self._load.heartbeat_ts[index],
            self._load.due_ns[index],
            self._load.heartbeat_due_ns[index],
        )

    def _plan(self) -> str:
        options = self._options
        parts = []
        for stage in self._pipeline.stages:
            part = f"{stage.name}: {stage.kind}"
            if stage.kind == PARTITIONED:
                by = "hash" if stage.bounds is None else "range"
                part += f", {partitions_of(stage, options)} partitions by {by}, {options.worklist}"
            parts.append(part)
        return (
            f"{' -> '.join(parts)}; {self._workers} workers, scheduler {options.scheduler}, "
            f"{options.reordering} reordering"
        )

    def _counters(self, core: Any, duration_ns: int) -> dict[str, float]:
        counters = {name: float(value) for name, value in core.counters().items()}
        if self._measure:
            counters |= _quantiles(histogram(core.processing(), PROCESSING))
        worked_ns = max(1, duration_ns * self._workers)
        for number, (stage, (rows, outputs, busy_ns)) in enumerate(
            zip(self._pipeline.stages, core.totals(), strict=True), start=1
        ):
            counters |= {
                f"{number}_{stage.name}_rows": float(rows),
                f"{number}_{stage.name}_cost_ns": busy_ns / rows if rows else 0.0,
                f"{number}_{stage.name}_selectivity": outputs / rows if rows else 0.0,
                f"{number}_{stage.name}_time_share": busy_ns / worked_ns,
            }
        return counters

    def _latencies(self, core: Any) -> dict[str, Any]:
        if not self._measure:
            return {}
        if self._load is None:
            return {"latency": histogram(core.processing(), PROCESSING)}
        return {
            "latency": histogram(core.latency(), LATENCY_UNDER_LOAD),
            "warm_up_latency": histogram(core.warm_up(), LATENCY_UNDER_LOAD),
            "service_latency": histogram(core.service(), SERVICE),
            "sent": Sent(events=core.emitted(), lag=histogram(core.lag(), LAG), own_thread=True),
        }


def partitions_of(stage: Stage, options: PipelineOptions) -> int:
    """Return into how many partitions the keys of an operator go; 1 without keys."""
    if stage.kind != PARTITIONED:
        return 1
    if stage.bounds is not None:
        return len(stage.bounds) + 1
    return stage.partitions if options.partitions is None else options.partitions


def refusal(pipeline: Pipeline, data: Input, options: PipelineOptions, window: int) -> str | None:
    """Return why the core cannot run a pipeline on an input in this way, or None."""
    if len(data.streams) > MOST_STREAMS:
        return f"a pipeline reads at most {MOST_STREAMS} streams, got {len(data.streams)}"
    for index, stage in enumerate(pipeline.stages):
        reads = pipeline.input_of(index)
        for name in reads.names or ():
            if reads[name].subdtype is not None or reads[name].hasobject:
                return f"operator {stage.name} reads {name}, which is {reads[name]}; single values"
        for name in stage.output.names or ():
            if stage.output[name].subdtype is not None or stage.output[name].hasobject:
                return (
                    f"operator {stage.name} forwards {name}, which is {stage.output[name]}; the "
                    "core forwards single values"
                )
        partitions = partitions_of(stage, options)
        units = 1 << (window - 1).bit_length()
        if units * partitions > MOST_GROUPS:
            return (
                f"operator {stage.name}: {partitions} partitions by a window of {units} units is "
                f"more than {MOST_GROUPS} groups; give fewer partitions or a smaller window"
            )
    for stream in data.streams:
        for name in pipeline.event.names or ():
            if isinstance(stream.payload.get(name), ListColumn):
                return f"stream {stream.name}: column {name} holds lists, the pipeline reads one"
    return None


def _itemsizes(dtype: np.dtype[np.void]) -> list[int]:
    return [dtype[name].itemsize for name in dtype.names or ()]


def _column(stream: Stream, name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return a column as kernels expect it; of zeros where the stream has none."""
    column = stream.payload.get(name)
    if column is None:
        return np.zeros(len(stream), dtype=dtype)
    assert not isinstance(column, ListColumn)
    return np.ascontiguousarray(column, dtype=dtype)


def _quantiles(found: Histogram) -> dict[str, float]:
    """Return the mean, p50 and p99 of a histogram's processing latencies; nothing when empty."""
    total = int(found.counts.sum())
    if total == 0:
        return {}
    below = np.cumsum(found.counts)
    values = {
        f"processing_p{percent}_ns": float(
            found.values_ns[int(np.searchsorted(below, percent / 100 * total))]
        )
        for percent in (50, 99)
    }
    mean = float(np.dot(found.values_ns, found.counts)) / total
    return {"processing_mean_ns": mean, **values}
