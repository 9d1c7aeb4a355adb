"""Runs pipelines, and queries of one operator O+, as query graphs; defines the variant `layers`.

Source: Viper: communication-layer determinism and scaling in stream processing, sections 3 and 4.
Design: docs/decisions/0011-determinism-layers.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.layers.options import NONE, TIME, TURN, LayersOptions
from streamlab.engines.multicore.oplus.elastic.mapping import balanced_mapping
from streamlab.engines.multicore.oplus.kernels import (
    OperatorKernels,
    columns_of,
    layout_of,
    spec_of,
)
from streamlab.engines.multicore.oplus.refusal import check_query, check_single, check_streams
from streamlab.engines.multicore.run.core_run import CoreRun, setup_errors
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.multicore.run.results import histogram
from streamlab.engines.multicore.run.settings import RunSettings, itemsizes
from streamlab.engines.multicore.stages.columns import add_stages, check_fields, partitions_of
from streamlab.engines.multicore.stages.columns import columns_of as pipeline_columns
from streamlab.engines.protocol import Measured, Prepared, Task
from streamlab.workloads.model import Input, OutputType, Pipeline, Query, Tag
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATEFUL, STATELESS

HANDED_OVER = (
    "from when an injector handed over the input record that an output comes from, to within 64 "
    "records (of an operator O+ the last one that was read when its window emitted), until the "
    "output was at its sink; at full speed, so it is the time spent in channels"
)


class GraphRun(CoreRun, ABC):
    """Runs a query graph once. A subclass adds operators and streams to the core.

    The answer is ordered by time and sink; a late output of a sink stays in place.
    The setting `ring_blocks` has an effect only under a load.
    """

    _compares = False
    """Whether the operator is a join, which counts compared pairs."""

    def __init__(
        self, output: np.dtype[np.void], settings: RunSettings, options: LayersOptions | None
    ) -> None:
        super().__init__(output, settings)
        self._options = options or LayersOptions()

    def run(self) -> Measured:
        """Process the complete input; a failure raises EngineCrashError."""
        self._run_core()
        counters = self._counters()
        return self._build_measured(self._plan(counters), counters)

    def _make_core(self, itemsizes: list[int]) -> _core.LayersRun:
        """Return a core without operators; `itemsizes` are the field sizes of a pipeline's input."""
        return _core.LayersRun(
            self._settings.for_core(self._output, threads=0),
            determinism=self._options.determinism,
            channels=self._options.channels,
            merge_unit=self._options.merge_unit,
            dealing=self._options.dealing,
            channel_rows=self._options.channel_rows,
            itemsizes=itemsizes,
        )

    @abstractmethod
    def _operators_in_words(self) -> list[str]:
        """Return one text per operator, with its number of instances."""

    def _plan(self, counters: Mapping[str, float]) -> str:
        def plural(count: float, noun: str) -> str:
            return f"{count:.0f} {noun}" + ("" if count == 1 else "s")

        parts = [
            plural(counters["injectors"], "injector"),
            *self._operators_in_words(),
            plural(counters["sinks"], "sink"),
        ]
        turn = "" if self._options.dealing == TIME else "; dealt in turn"
        queues = plural(counters["queues"], "queue")
        channels = f"{queues} and {plural(counters['logs'], 'ordered log')}"
        return (
            f"{' -> '.join(parts)}; determinism: {self._options.determinism} "
            f"({self._options.in_words}{turn}); {plural(counters['threads'], 'thread')}, including "
            f"{plural(counters['mergers'], 'merge-sorting operator')}; {channels} of "
            f"{self._options.channel_rows} records per producer"
        )

    def _counters(self) -> dict[str, float]:
        counters = self._read_counters()
        if not self._compares:
            del counters["comparisons"]
        cpu_ns, merger_ns = counters.pop("cpu_ns"), counters.pop("merger_cpu_ns")
        events = self._open().events()
        return {
            **counters,
            "graph_cpu_s": cpu_ns / 1e9,
            # ns per tuple / 1e3 = s per million tuples.
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


class LayersRun(GraphRun):
    """Runs a pipeline once as a query graph. Each stream has an injector; stateful operators have one instance."""

    def __init__(
        self,
        pipeline: Pipeline,
        data: Input,
        settings: RunSettings,
        options: LayersOptions | None = None,
    ) -> None:
        super().__init__(pipeline.output, settings, options)
        reason = check_fields(pipeline, data)
        if reason is not None:
            raise UnsupportedError(reason)
        self._pipeline = pipeline
        with setup_errors():
            self._core = self._make_core([8, *itemsizes(pipeline.event)])
            self._kernels = add_stages(self._core, pipeline, partitions_of, bounds=settings.bounds)
            for index, stream in enumerate(data.streams):
                self._add_stream(index, stream, pipeline_columns(stream, pipeline.event))
            self._core.start()

    def _operators_in_words(self) -> list[str]:
        parts = []
        for stage in self._pipeline.stages:
            instances = 1 if stage.kind == STATEFUL else self._settings.workers
            parts.append(f"{stage.name} ({stage.kind}) x {instances}")
        return parts


def check_ties(
    pipeline: Pipeline, output: OutputType, workers: int, dealing: str = TIME
) -> str | None:
    """Return why the answer depends on the order of instances among records of one time, or None.

    Records of one time leave a partitioned operator in the order of its instances, not of the input.
    The same holds for operators without keys if records are dealt in turn. If they are dealt by time,
    one instance has all records of a time (core/layers/route.h), and their order stays.
    This does not check whether the input has two records of one key and time.
    """
    reordering = [
        stage for stage in pipeline.stages if stage.kind == PARTITIONED or dealing == TURN
    ]
    if workers == 1 or not reordering:
        return None
    first = reordering[0]
    later = pipeline.stages[pipeline.stages.index(first) + 1 :]
    sensitive = [
        stage.name for stage in later if stage.kind != STATELESS and not stage.ties_commute
    ]
    remedy = "give workers = 1, or run variant 'ordered'"
    if sensitive:
        return (
            f"operator {sensitive[0]} has a state, and reads records of one time in the order of "
            f"the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    if output.key_field is None or output.depends(Tag(0, 0), Tag(0, 1)):
        return (
            f"outputs of different keys depend on each other, but those of one time leave in the "
            f"order of the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    return None


class LayersQueryRun(GraphRun):
    """Runs a query of one operator O+ once as a query graph.

    Each stream has an injector. There are at most 63 instances, each with the windows of its own keys.
    """

    def __init__(
        self,
        query: Query,
        data: Input,
        settings: RunSettings,
        options: LayersOptions | None = None,
    ) -> None:
        super().__init__(query.output, settings, options)
        workers, operator = settings.workers, query.operators[0]
        self._compares = compares = operator.join is not None
        reason = check_graph(query, workers, self._options.determinism) or check_query(
            query, data, fused=compares, states=workers
        )
        if reason is None and operator.stores and not compares:
            reason = (
                f"operator {operator.name} stores tuples with its keys, which variant "
                "layers cannot; use variant vsn"
            )
        if reason is not None:
            raise UnsupportedError(reason)
        self._operator = operator
        self._kernels = OperatorKernels(operator, bounds=settings.bounds)
        layouts = [layout_of(operator, stream) for stream in data.streams]
        owner = balanced_mapping(operator.buckets, workers).astype(np.int32)
        with setup_errors():
            self._core = self._make_core([8])
            self._core.set_operator(
                spec=spec_of(operator, self._kernels, layouts, fused=self._compares),
                owner=owner.tolist(),
                itemsizes=itemsizes(operator.output),
                end_watermark=None if data.until_ts is None else data.until_ts - 1,
            )
            for index, (stream, layout) in enumerate(zip(data.streams, layouts, strict=True)):
                process = 0 if self._compares else self._kernels.process(layout)
                route = 0 if self._compares else self._kernels.route(layout)
                columns = columns_of(operator, stream)
                self._add_stream(index, stream, columns, layout.input, process, route)
            self._core.start()

    def _operators_in_words(self) -> list[str]:
        operator = self._operator
        method = "join of all pairs" if self._compares else "keyed windows"
        workers = self._settings.workers
        return [f"{operator.name} ({method}) x {workers}, {operator.buckets} buckets of keys"]


def check_graph(query: Query, workers: int, determinism: str) -> str | None:
    """Return why a query cannot run as a graph with this many instances and this layer, or None."""
    if workers > _core.MOST_LAYER_INSTANCES:
        return (
            f"variant layers runs at most {_core.MOST_LAYER_INSTANCES} instances of an operator "
            f"O+; give fewer workers than {workers}"
        )
    if query.operators[0].join is not None and determinism == NONE:
        # Without an order no tuple leaves its window while one injector is ahead of the other.
        return (
            f"{query.name} joins all pairs, which needs an order; do not give determinism = 'none'"
        )
    return check_single(query, "layers")


def _run(program: Pipeline | Query, *arguments: Any) -> Prepared:
    if isinstance(program, Pipeline):
        return LayersRun(program, *arguments)
    return LayersQueryRun(program, *arguments)


def _unsupported(task: Task, options: LayersOptions) -> str | None:
    program, workers = task.workload.program, task.workers
    if isinstance(program, Pipeline):
        return check_ties(program, task.workload.output, workers, options.dealing)
    assert isinstance(program, Query), "the adapter checks"
    return check_graph(program, workers, options.determinism) or check_streams(task.dataset)


LAYERS = Family(
    name="layers",
    summary="a thread for each instance, ordered by channels or operators; pipelines, operators O+",
    models=(Pipeline, Query),
    run=_run,
    unsupported=_unsupported,
    options_type=LayersOptions,
    properties=properties(
        "operators do not mention their instances",
        "channels, not operators, deal the records",
        "the engine merges; operators read one sequence",
    ),
)
