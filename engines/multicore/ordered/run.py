"""Runs ordered pipelines on the native core: docs/decisions/0010-ordered-pipelines.md."""

from typing import Any

import numpy as np

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.ordered.options import BY_OPERATOR, OrderedOptions
from streamlab.engines.multicore.run.core_run import CoreRun, setup_errors
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.multicore.run.results import histogram, quantile
from streamlab.engines.multicore.run.settings import RunSettings, itemsizes
from streamlab.engines.multicore.stages.columns import add_stages, check_fields, columns_of
from streamlab.engines.protocol import Histogram, Measured
from streamlab.workloads.model import Input, Pipeline
from streamlab.workloads.model.pipeline.program import PARTITIONED

PROCESSING = (
    "from when the first operator took a unit until all its outputs were out, including waiting "
    "between operators, but not for the first; at full speed, sampled"
)


class OrderedRun(CoreRun):
    """Runs an ordered pipeline once.

    All streams have the pipeline's only kind. `batch` is the size of a unit in records, at most 65,536.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        data: Input,
        settings: RunSettings,
        options: OrderedOptions | None = None,
    ) -> None:
        super().__init__(pipeline.output, settings)
        options = options or OrderedOptions()
        workers = settings.workers
        window = options.window_for(workers, settings.batch)
        reason = check_pipeline(pipeline, data, options, workers, window)
        if reason is not None:
            raise UnsupportedError(reason)
        self._pipeline = pipeline
        self._options = options
        with setup_errors():
            self._core = _core.OrderedRun(
                settings.for_core(pipeline.output),
                window=window,
                scheduler=options.scheduler,
                worklist=options.queue,
                reordering=options.reordering,
                serials=options.serials,
                window_ns=options.ct_window_us * 1000,
                capacity=options.qst_capacity or 0,
                itemsizes=[8, *itemsizes(pipeline.event)],
            )
            self._kernels = add_stages(
                self._core,
                pipeline,
                lambda stage: options.partitions_of(stage, workers),
                bounds=settings.bounds,
            )
            for index, stream in enumerate(data.streams):
                self._add_stream(index, stream, columns_of(stream, pipeline.event))
            self._core.start()

    def run(self) -> Measured:
        """Process the complete input; a failure raises EngineCrashError."""
        duration_ns = self._run_core()
        return self._build_measured(self._plan(), self._counters(duration_ns))

    def _plan(self) -> str:
        options, workers = self._options, self._settings.workers
        parts = []
        for stage in self._pipeline.stages:
            part = f"{stage.name}: {stage.kind}"
            if stage.kind == PARTITIONED:
                by = "hash" if stage.bounds is None else "range"
                count = options.partitions_of(stage, workers)
                part += f", {count} partitions by {by}, {options.queue}"
            parts.append(part)
        return (
            f"{' -> '.join(parts)}; {workers} workers, scheduler {options.scheduler}, "
            f"{options.reordering} reordering"
            + (", serials of operators" if options.serials == BY_OPERATOR else "")
        )

    def _counters(self, duration_ns: int) -> dict[str, float]:
        core, counters = self._open(), self._read_counters()
        if self._settings.measure:
            counters |= _quantiles(histogram(core.processing(), PROCESSING))
        worked_ns = max(1, duration_ns * self._settings.workers)
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


def check_pipeline(
    pipeline: Pipeline, data: Input, options: OrderedOptions, workers: int, window: int
) -> str | None:
    """Return why the core cannot run a pipeline on an input with these options, or None."""
    reason = check_fields(pipeline, data)
    if reason is not None:
        return reason
    units = options.units_for(window)
    for stage in pipeline.stages:
        partitions = options.partitions_of(stage, workers)
        if units * partitions > _core.MOST_GROUPS:
            return (
                f"operator {stage.name}: {partitions} partitions times a window of {units} units "
                f"exceed {_core.MOST_GROUPS} groups; give fewer partitions or a smaller window"
            )
    return None


def _quantiles(latencies: Histogram) -> dict[str, float]:
    """Return mean, p50 and p99 of processing latencies; empty if there are none."""
    total = int(latencies.counts.sum())
    if total == 0:
        return {}
    mean = float(np.dot(latencies.values_ns, latencies.counts)) / total
    p50, p99 = (quantile(latencies, share) for share in (0.5, 0.99))
    return {"processing_mean_ns": mean, "processing_p50_ns": p50, "processing_p99_ns": p99}


ORDERED = Family(
    name="ordered",
    summary="workers scheduled on operators, outputs in order; pipelines",
    models=(Pipeline,),
    run=OrderedRun,
    options_type=OrderedOptions,
    properties=properties(
        "operators do not mention workers or partitions",
        "workers go to operators as they are needed",
        "the order is the runtime's; operators only emit",
    ),
)
