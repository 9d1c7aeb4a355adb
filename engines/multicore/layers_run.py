"""Runs pipelines as query graphs, by determinism layer: docs/decisions/0011-determinism-layers.md.

Source: Viper: communication-layer determinism and scaling in stream processing, sections 3 and 4.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engines.errors import UnsupportedError
from engines.multicore import _core
from engines.multicore.core_run import RESERVED_ROWS, CoreRun, offered, set_up
from engines.multicore.kernels.pipelines import StageKernels
from engines.multicore.results import histogram
from engines.multicore.stages import add_stage, columns_of, itemsizes, partitions_of, refused_fields
from engines.protocol import Measured, OfferedLoad
from workloads.model import Columns, Input, OutputType, Pipeline, Tag
from workloads.model.pipeline import PARTITIONED, STATEFUL, STATELESS

OPERATOR, COMMUNICATION, NONE = "operator", "communication", "none"
DETERMINISM = (COMMUNICATION, OPERATOR, NONE)
CHANNEL_ROWS = 4096
LEAST_CHANNEL_ROWS, MOST_CHANNEL_ROWS = 2, 1 << 20
KINDS: Mapping[str, type[object]] = {"determinism": str, "channel_rows": int}
"""Types of the options, by name."""

IN_WORDS = {
    OPERATOR: "merge-sorting operators",
    COMMUNICATION: "ordered logs as channels",
    NONE: "no order",
}

HANDED_OVER = (
    "from when an injector handed over the input record that an output comes from, to within 64 "
    "records, until the output was at its sink; at full speed, so it is the time spent in channels"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersOptions:
    """Options of a run.

    Attributes:
        determinism: where what comes from several producers is put in order: by `communication`,
            the channels, or `operator`, operators of their own; or `none`, nowhere.
        channel_rows: records between two threads, rounded up to a power of two.
    """

    determinism: str = COMMUNICATION
    channel_rows: int = CHANNEL_ROWS


class LayersRun(CoreRun):
    """One run of a pipeline as a query graph, on columns in memory.

    Args:
        pipeline: what to compute.
        data: on which input; each of its streams has an injector.
        workers: instances of each operator, 1 to 64; stateful operators have one.
        batch: records that are handed over at once at most.
        ring_blocks: with a load, blocks that the generator may be ahead of an injector.
        options: the determinism layer.
        pin: pin threads to cores in turn; None: no.
        load: when records are due; None: all at once.
        measure: False leaves out latency and counts over time.

    Raises:
        UnsupportedError: the core cannot run this pipeline on this input.
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
        options: LayersOptions | None = None,
        pin: bool | None = None,
        load: OfferedLoad | None = None,
        measure: bool = True,
    ) -> None:
        reason = refused_fields(pipeline, data)
        if reason is not None:
            raise UnsupportedError(reason)
        super().__init__(pipeline.output, load=load, measure=measure)
        self._pipeline = pipeline
        self._workers = workers
        self._options = options or LayersOptions()
        self._kernels = [
            StageKernels(stage, pipeline.input_of(index))
            for index, stage in enumerate(pipeline.stages)
        ]
        available = sorted(os.sched_getaffinity(0))
        with set_up():
            self._core = _core.LayersCore(
                determinism=self._options.determinism,
                workers=workers,
                batch=batch,
                channel_rows=self._options.channel_rows,
                ring_blocks=ring_blocks,
                itemsizes=[8, *itemsizes(pipeline.event)],
                core_count=len(available),
                cores=available if pin else [],
                load=offered(load),
                reserved_rows=0 if load is None else RESERVED_ROWS,
                measure=measure,
            )
            for stage, kernels in zip(pipeline.stages, self._kernels, strict=True):
                add_stage(self._core, stage, kernels, partitions_of(stage))
            for index, stream in enumerate(data.streams):
                self._add_stream(index, stream, columns_of(stream, pipeline.event))
            self._core.start()

    def run(self) -> Measured:
        """Process the whole input.

        Raises:
            EngineCrashError: an operator failed; the message says which and how.
        """
        self._run_core()
        counters = self._counters()
        return self._measured(self._plan(counters), counters)

    def answer(self) -> Columns:
        """Return all outputs, by time and sink; what a sink got late stays late."""
        return super().answer()

    def _plan(self, counters: Mapping[str, float]) -> str:
        def of(count: float, what: str) -> str:
            return f"{count:.0f} {what}" + ("" if count == 1 else "s")

        parts = [of(counters["injectors"], "injector")]
        for stage in self._pipeline.stages:
            instances = 1 if stage.kind == STATEFUL else self._workers
            parts.append(f"{stage.name} ({stage.kind}) x {instances}")
        parts.append(of(counters["sinks"], "sink"))
        channels = f"{of(counters['queues'], 'queue')} and {of(counters['logs'], 'ordered log')}"
        return (
            f"{' -> '.join(parts)}; determinism: {self._options.determinism} "
            f"({IN_WORDS[self._options.determinism]}); {of(counters['threads'], 'thread')}, "
            f"{of(counters['mergers'], 'merge-sorting operator')} among them; {channels} of "
            f"{self._options.channel_rows} records a producer"
        )

    def _counters(self) -> dict[str, float]:
        counters = self._counted()
        cpu_ns, merger_ns = counters.pop("cpu_ns"), counters.pop("merger_cpu_ns")
        events = self._open().events()
        return {
            **counters,
            "graph_cpu_s": cpu_ns / 1e9,
            # ns a tuple is ms a million of them.
            "graph_cpu_s_per_mtuple": cpu_ns / events / 1e3 if events else 0.0,
            "merger_cpu_share": merger_ns / cpu_ns if cpu_ns else 0.0,
            "switches_per_mtuple": (
                (counters["voluntary_switches"] + counters["involuntary_switches"]) / events * 1e6
                if events
                else 0.0
            ),
        }

    def _at_full_speed(self, core: Any) -> dict[str, Any]:
        return {"latency": histogram(core.latency(), HANDED_OVER)}


def layers_options(given: Mapping[str, object]) -> LayersOptions:
    """Return the options among all those that a task gives; the others by default."""
    return LayersOptions(**{k: v for k, v in given.items() if k in KINDS})  # type: ignore[arg-type]


def wrong_options(given: Mapping[str, object]) -> str | None:
    """Return what is wrong with the values of options of the right types, or None."""
    options = layers_options(given)
    if options.determinism not in DETERMINISM:
        return f"determinism is one of {', '.join(DETERMINISM)}, got {options.determinism!r}"
    if not LEAST_CHANNEL_ROWS <= options.channel_rows <= MOST_CHANNEL_ROWS:
        return (
            f"channel_rows must be between {LEAST_CHANNEL_ROWS} and {MOST_CHANNEL_ROWS}, got "
            f"{options.channel_rows}"
        )
    return None


def depends_on_ties(pipeline: Pipeline, output: OutputType, workers: int) -> str | None:
    """Return why an answer would depend on which instance is first among ties, or None.

    Instances of a partitioned operator have keys of their own; what they forward at one time leaves
    in the order of the instances. Of operators without keys one instance has all records of a time
    (core/layers_route.h), so that their order stays.
    """
    keyed = [stage for stage in pipeline.stages if stage.kind == PARTITIONED]
    if workers == 1 or not keyed:
        return None
    first = keyed[0]
    behind = pipeline.stages[pipeline.stages.index(first) + 1 :]
    remembers = [stage.name for stage in behind if stage.kind != STATELESS]
    remedy = "give workers = 1, or run variant 'ordered'"
    if remembers:
        return (
            f"operator {remembers[0]} keeps a state, and takes records of one time in the order of "
            f"the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    if output.key_field is None or output.depends(Tag(0, 0), Tag(0, 1)):
        return (
            f"outputs of different keys depend on each other, and at one time leave in the order "
            f"of the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    return None
