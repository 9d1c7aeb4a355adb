"""Runs ordered pipelines on the native core: docs/decisions/0010-ordered-pipelines.md."""

from typing import Any

import numpy as np

from engines.errors import UnsupportedError
from engines.multicore import _core
from engines.multicore.ordered.options import MOST_GROUPS, PipelineOptions
from engines.multicore.run.core_run import CoreRun, core_settings, set_up
from engines.multicore.run.results import histogram
from engines.multicore.stages.columns import add_stage, columns_of, itemsizes, refused_fields
from engines.multicore.stages.kernels import StageKernels
from engines.protocol import Histogram, Measured, OfferedLoad
from workloads.model import Input, Pipeline
from workloads.model.pipeline import PARTITIONED

MOST_BATCH = 1 << 16
"""A unit has at most so many records; a larger batch counts as this."""

PROCESSING = (
    "from when the first operator took a unit until all that followed from it was out, waiting in "
    "between included, waiting for the first operator not; at full speed, sampled"
)


class PipelineRun(CoreRun):
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
        expected_outputs: records in the answer; None: not known.

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
        expected_outputs: int | None = None,
    ) -> None:
        options = options or PipelineOptions()
        window = options.window_for(workers, batch)
        reason = refusal(pipeline, data, options, workers, window)
        if reason is not None:
            raise UnsupportedError(reason)
        super().__init__(
            pipeline.output, load=load, measure=measure, expected_outputs=expected_outputs
        )
        self._pipeline = pipeline
        self._workers = workers
        self._options = options
        self._kernels = [
            StageKernels(stage, pipeline.input_of(index))
            for index, stage in enumerate(pipeline.stages)
        ]
        with set_up():
            self._core = _core.OrderedRun(
                core_settings(
                    workers=workers,
                    threads=workers,
                    batch=batch,
                    ring_blocks=ring_blocks,
                    pin=pin,
                    load=load,
                    reserved_rows=self._reserved_rows(),
                    measure=measure,
                ),
                window=window,
                scheduler=options.scheduler,
                worklist=options.worklist,
                reordering=options.reordering,
                slice_ns=options.slice_us * 1000,
                window_ns=options.ct_window_us * 1000,
                capacity=options.qst_capacity or 0,
                itemsizes=[8, *itemsizes(pipeline.event)],
            )
            for stage, kernels in zip(pipeline.stages, self._kernels, strict=True):
                add_stage(self._core, stage, kernels, options.partitions_of(stage, workers))
            for index, stream in enumerate(data.streams):
                self._add_stream(index, stream, columns_of(stream, pipeline.event))
            self._core.start()

    def run(self) -> Measured:
        """Process the whole input.

        Raises:
            EngineCrashError: an operator failed; the message says which and how.
        """
        duration_ns = self._run_core()
        return self._measured(self._plan(), self._counters(duration_ns))

    def _plan(self) -> str:
        options = self._options
        parts = []
        for stage in self._pipeline.stages:
            part = f"{stage.name}: {stage.kind}"
            if stage.kind == PARTITIONED:
                by = "hash" if stage.bounds is None else "range"
                count = options.partitions_of(stage, self._workers)
                part += f", {count} partitions by {by}, {options.worklist}"
            parts.append(part)
        return (
            f"{' -> '.join(parts)}; {self._workers} workers, scheduler {options.scheduler}, "
            f"{options.reordering} reordering"
        )

    def _counters(self, duration_ns: int) -> dict[str, float]:
        core, counters = self._open(), self._counted()
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

    def _at_full_speed(self, core: Any) -> dict[str, Any]:
        return {"latency": histogram(core.processing(), PROCESSING)}


def refusal(
    pipeline: Pipeline, data: Input, options: PipelineOptions, workers: int, window: int
) -> str | None:
    """Return why the core cannot run a pipeline on an input in this way, or None."""
    reason = refused_fields(pipeline, data)
    if reason is not None:
        return reason
    units = 1 << (window - 1).bit_length()
    for stage in pipeline.stages:
        partitions = options.partitions_of(stage, workers)
        if units * partitions > MOST_GROUPS:
            return (
                f"operator {stage.name}: {partitions} partitions by a window of {units} units is "
                f"more than {MOST_GROUPS} groups; give fewer partitions or a smaller window"
            )
    return None


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
