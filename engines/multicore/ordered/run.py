"""Runs ordered pipelines on the native core: docs/decisions/0010-ordered-pipelines.md.

Source: Scaling Ordered Stream Processing on Shared-Memory Multicores, sections 3 (reordering),
4 (worklists) and 6 (schedulers).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.run.core_run import CoreRun, setup_errors
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.multicore.run.results import histogram, quantile
from streamlab.engines.multicore.run.settings import (
    CompiledOptions,
    Positive,
    RunSettings,
    itemsizes,
)
from streamlab.engines.multicore.stages.kernels import (
    add_stages,
    check_fields,
    columns_of,
    partitions_of,
)
from streamlab.engines.protocol import Histogram
from streamlab.workloads.model import Input, Pipeline
from streamlab.workloads.model.pipeline.program import PARTITIONED, Stage

PROCESSING = (
    "from when the first operator took a unit until all its outputs were out, including waiting "
    "between operators, but not for the first; at full speed a sample between the 20th and 80th "
    "percentile of the input"
)
HOMED, HYBRID = _core.WORKLISTS[:2]
BY_SOURCE, BY_OPERATOR = _core.SERIALS
UNIT_WINDOWS: int = _core.UNIT_WINDOWS
"""Maximum number of units of an operator, as a multiple of the window, if operators assign serials."""

RECORDS_UNDER_WAY = 8192
"""Records in the default window: enough work for every worker, and small enough for a cache."""
PARTITIONS_A_WORKER = 2
"""Default number of partitions per worker, so that a worker can help another."""
CT_WINDOW_NS = 10_000_000
"""The period over which scheduler `ct` compares operators."""
LEAST_WINDOW, DEFAULT_MOST_WINDOW = 16, 1024
"""Limits of the default window, in units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedOptions(CompiledOptions):
    """Options of variant `ordered` (docs/engines/multicore.md).

    Attributes:
        scheduler: how workers choose operators.
        serials: whether the source or each operator numbers units.
        worklist: the queue of a partitioned operator; None for the default, see `queue`.
        reordering: how units are put in order.
        partitions: partitions of a partitioned operator; None for the default, see `partitions_of`.
        window: units under way; None for the default, see `window_for`.
    """

    scheduler: Literal["ct", "lp", "et", "qst"] = "ct"
    serials: Literal["source", "operator"] = "source"
    worklist: Literal["homed", "hybrid", "partitioned", "shared"] | None = None
    reordering: Literal["nonblocking", "lock"] = "nonblocking"
    partitions: Positive | None = None
    window: Annotated[int, Meta(ge=1, le=_core.MAX_WINDOW)] | None = None

    def __post_init__(self) -> None:
        if self.serials == BY_OPERATOR and self.queue == HOMED:
            papers = ", ".join(name for name in _core.WORKLISTS if name != HOMED)
            raise ValueError(f"serials {BY_OPERATOR!r} go with the worklists {papers}, not {HOMED}")

    @property
    def queue(self) -> str:
        """The worklist, with the default resolved."""
        return self.worklist or (HOMED if self.serials == BY_SOURCE else HYBRID)

    def units_for(self, window: int) -> int:
        """Return the capacity of a worklist in units."""
        windows = 1 if self.serials == BY_SOURCE else UNIT_WINDOWS
        return windows << (window - 1).bit_length()

    def partitions_of(self, stage: Stage, workers: int) -> int:
        """Return the number of partitions of an operator; 1 without keys.

        A unit is split into one group per partition. With a hundred partitions a unit of 64 records
        gives groups of one or two records, which cost more to pass on than to process. Two
        partitions per worker still let one worker help another.
        """
        hash_partitions = self.partitions
        if hash_partitions is None and self.queue == HOMED:
            max_partitions = 1 if workers == 1 else PARTITIONS_A_WORKER * workers
            hash_partitions = min(stage.partitions, max_partitions)
        return partitions_of(stage, hash_partitions)

    def window_for(self, workers: int, batch: int) -> int:
        """Return the window in units; by default about 8,192 records, and at least 4 units per worker."""
        if self.window is not None:
            return self.window
        units = min(RECORDS_UNDER_WAY // batch, DEFAULT_MOST_WINDOW)
        return max(LEAST_WINDOW, 4 * workers, units)


class OrderedRun(CoreRun):
    """Runs an ordered pipeline once.

    All streams have the pipeline's only kind. `settings.batch` is the size of a unit in records, at most 65,536.
    `states` are the `final_states` of a run with the same options on the preceding input.
    """

    FULL_SPEED = ("processing", PROCESSING)

    def __init__(
        self,
        pipeline: Pipeline,
        data: Input,
        settings: RunSettings,
        options: OrderedOptions,
        *,
        states: Sequence[Sequence[bytes]] = (),
    ) -> None:
        super().__init__(pipeline.output, settings)
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
                window_ns=CT_WINDOW_NS,
                capacity=0,  # Under `qst`, half of the records in progress may wait between operators.
                itemsizes=[8, *itemsizes(pipeline.event)],
            )
            self._kernels = add_stages(
                self._core,
                pipeline,
                lambda stage: options.partitions_of(stage, workers),
                bounds=settings.bounds,
            )
            for stage, partitions in enumerate(states):
                self._core.restore(stage, partitions)
            for index, stream in enumerate(data.streams):
                self._add_stream(index, stream, columns_of(stream, pipeline.event))
            self._core.start()

    def final_states(self) -> list[list[bytes]]:
        """Return for each operator the states of its partitions after the run, as entries of fixed size."""
        return [self._open().states(stage) for stage in range(len(self._pipeline.stages))]

    def _plan(self, counters: Mapping[str, float]) -> str:
        options, workers = self._options, self._settings.workers
        parts = []
        for stage in self._pipeline.stages:
            part = f"{stage.name}: {stage.kind}"
            if stage.kind == PARTITIONED:
                method = "hash" if stage.bounds is None else "range"
                count = options.partitions_of(stage, workers)
                part += f", {count} partitions by {method}, {options.queue}"
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
        if units * partitions > _core.MAX_GROUPS:
            return (
                f"operator {stage.name}: {partitions} partitions times a window of {units} units "
                f"exceed {_core.MAX_GROUPS} groups; use fewer partitions or a smaller window"
            )
    return None


def _quantiles(latencies: Histogram) -> dict[str, float]:
    """Return mean, p50 and p99 of processing latencies; empty without latencies."""
    total = int(latencies.counts.sum())
    if total == 0:
        return {}
    mean = float(np.dot(latencies.values_ns, latencies.counts)) / total
    p50, p99 = (quantile(latencies, share) for share in (0.5, 0.99))
    return {"processing_mean_ns": mean, "processing_p50_ns": p50, "processing_p99_ns": p99}


ORDERED = Family(
    name="ordered",
    summary="workers scheduled on operators, outputs in order; pipelines",
    label="multicore, ordered",
    models=(Pipeline,),
    run=OrderedRun,
    options=OrderedOptions,
    properties=properties(
        "operators do not mention workers or partitions",
        "the scheduler assigns workers to operators during the run",
        "the order is the runtime's; operators only emit",
    ),
)
