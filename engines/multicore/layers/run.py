"""Runs pipelines, and queries of one operator O+, as query graphs; defines the variant `layers`.

Source: Viper: communication-layer determinism and scaling in stream processing, sections 3 and 4.
Design: docs/decisions/0011-determinism-layers.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
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
from streamlab.engines.multicore.run.settings import CompiledOptions, RunSettings, itemsizes
from streamlab.engines.multicore.stages.kernels import add_stages, check_fields, partitions_of
from streamlab.engines.multicore.stages.kernels import columns_of as pipeline_columns
from streamlab.engines.protocol import Task
from streamlab.workloads.model import Input, OutputType, Pipeline, Query, Tag
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATEFUL, STATELESS

COMMUNICATION, OPERATOR, NONE = _core.DETERMINISMS
TIME, TURN = _core.DEALINGS

CHANNEL_ROWS = 4096
"""Capacity of a channel in records."""
LATENCY_AT_FULL_SPEED = (
    "from when an injector handed over the input record that an output comes from, to within 64 "
    "records (of an operator O+ the last one that was read when its window emitted), until the "
    "output was at its sink; at full speed, so it is the time spent in channels"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersOptions(CompiledOptions):
    """Options of variant `layers` (docs/engines/multicore.md).

    Attributes:
        determinism: the layer that orders records: channels, operators, or none.
        channels: implementation of ordered channels.
        merge_unit: records that merge-sorting operators take at once.
        dealing: whether records are dealt to instances by time or in turn.
    """

    determinism: Literal["communication", "operator", "none"] = "communication"
    channels: Literal["log", "scalegate"] = "log"
    merge_unit: Literal["run", "tuple"] = "run"
    dealing: Literal["time", "turn"] = "time"

    @property
    def in_words(self) -> str:
        """How records are ordered, as text."""
        if self.determinism == COMMUNICATION:
            return "ordered logs as channels" if self.channels == "log" else "ScaleGate as channels"
        if self.determinism == OPERATOR:
            unit = "" if self.merge_unit == "run" else ", a tuple at a time"
            return f"merge-sorting operators{unit}"
        return "no order"


class LayersRun(CoreRun):
    """Runs a pipeline, or a query of one operator O+, once as a query graph.

    Each stream has an injector. A stateful operator of a pipeline has one instance. Each instance of an
    operator O+ has the windows of its own keys.
    The answer is ordered by time and sink. Outputs of one sink keep their order, even if one of them is late.
    The setting `ring_blocks` has an effect only under a load.
    """

    FULL_SPEED = ("latency", LATENCY_AT_FULL_SPEED)

    def __init__(
        self,
        program: Pipeline | Query,
        data: Input,
        settings: RunSettings,
        options: LayersOptions,
    ) -> None:
        super().__init__(program.output, settings)
        self._options = options
        self._channel_rows = settings.link_rows or CHANNEL_ROWS
        # A join counts compared pairs.
        self._compares = isinstance(program, Query) and program.operators[0].join is not None
        if isinstance(program, Pipeline):
            reason = check_fields(program, data)
        else:
            reason = _check_query(program, data, settings.workers, options.determinism)
        if reason is not None:
            raise UnsupportedError(reason)
        with setup_errors():
            self._core = _core.LayersRun(
                settings.for_core(self._output, threads=0),
                determinism=options.determinism,
                channels=options.channels,
                merge_unit=options.merge_unit,
                dealing=options.dealing,
                channel_rows=self._channel_rows,
                itemsizes=[8, *(itemsizes(program.event) if isinstance(program, Pipeline) else ())],
            )
            if isinstance(program, Pipeline):
                self._operators = self._add_pipeline(program, data)
            else:
                self._operators = self._add_query(program, data)
            self._core.start()

    def _add_pipeline(self, pipeline: Pipeline, data: Input) -> list[str]:
        """Add the operators and streams of a pipeline; return the operators as text."""
        self._kernels: Any = add_stages(
            self._core, pipeline, partitions_of, bounds=self._settings.bounds
        )
        for index, stream in enumerate(data.streams):
            self._add_stream(index, stream, pipeline_columns(stream, pipeline.event))
        return [
            f"{stage.name} ({stage.kind}) x "
            f"{1 if stage.kind == STATEFUL else self._settings.workers}"
            for stage in pipeline.stages
        ]

    def _add_query(self, query: Query, data: Input) -> list[str]:
        """Add the operator and streams of a query; return the operator as text."""
        operator, workers, compares = query.operators[0], self._settings.workers, self._compares
        self._kernels = kernels = OperatorKernels(operator, bounds=self._settings.bounds)
        layouts = [layout_of(operator, stream) for stream in data.streams]
        self._core.set_operator(
            spec=spec_of(operator, kernels, layouts, fused=compares),
            owner=balanced_mapping(operator.buckets, workers).tolist(),
            itemsizes=itemsizes(operator.output),
            end_watermark=None if data.until_ts is None else data.until_ts - 1,
        )
        for index, (stream, layout) in enumerate(zip(data.streams, layouts, strict=True)):
            process = 0 if compares else kernels.process(layout)
            route = 0 if compares else kernels.route(layout)
            columns = columns_of(operator, stream)
            self._add_stream(index, stream, columns, layout.input, process, route)
        method = "join of all pairs" if compares else "keyed windows"
        return [f"{operator.name} ({method}) x {workers}, {operator.buckets} buckets of keys"]

    def _plan(self, counters: Mapping[str, float]) -> str:
        def plural(count: float, noun: str) -> str:
            return f"{count:.0f} {noun}" + ("" if count == 1 else "s")

        parts = [
            plural(counters["injectors"], "injector"),
            *self._operators,
            plural(counters["sinks"], "sink"),
        ]
        turn = "" if self._options.dealing == TIME else "; dealt in turn"
        queues = plural(counters["queues"], "queue")
        channels = f"{queues} and {plural(counters['logs'], 'ordered log')}"
        return (
            f"{' -> '.join(parts)}; determinism: {self._options.determinism} "
            f"({self._options.in_words}{turn}); {plural(counters['threads'], 'thread')}, including "
            f"{plural(counters['mergers'], 'merge-sorting operator')}; {channels} of "
            f"{self._channel_rows} records per producer"
        )

    def _counters(self, duration_ns: int) -> dict[str, float]:
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


def check_ties(
    pipeline: Pipeline, output: OutputType, workers: int, dealing: str = TIME
) -> str | None:
    """Return why the answer depends on the order of instances among records of one time, or None.

    Records of one time leave a partitioned operator in the order of its instances, not of the input.
    The same holds for operators without keys if records are dealt in turn. If records are dealt by time,
    one instance has all records of a time (core/layers/route.h), and keeps their order.
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
    remedy = "use workers = 1, or variant 'ordered'"
    if sensitive:
        return (
            f"operator {sensitive[0]} has a state, and reads records of one time in the order of "
            f"the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    if output.key_field is None or output.depends(Tag(0, 0), Tag(0, 1)):
        return (
            f"outputs of different keys depend on each other, but outputs of one time leave in the "
            f"order of the {workers} instances of {first.name}, not of the input; {remedy}"
        )
    return None


def _check_query(query: Query, data: Input, workers: int, determinism: str) -> str | None:
    joins = query.operators[0].join is not None
    return check_graph(query, determinism) or check_query(query, data, fused=joins, states=workers)


def check_graph(query: Query, determinism: str) -> str | None:
    """Return why a query cannot run as a graph with this layer, or None."""
    operator = query.operators[0]
    if operator.stores and operator.join is None:
        return (
            f"operator {operator.name} stores tuples with its keys, but variant layers cannot store "
            "tuples; use variant vsn"
        )
    if operator.join is not None and determinism == NONE:
        # Without an order no tuple leaves its window while one injector is ahead of the other.
        return f"{query.name} joins all pairs and needs an order, but determinism is 'none'; remove the option"
    return check_single(query, "layers")


def _unsupported(task: Task, options: LayersOptions) -> str | None:
    program, workers = task.workload.program, task.workers
    if isinstance(program, Pipeline):
        return check_ties(program, task.workload.output, workers, options.dealing)
    assert isinstance(program, Query), "the adapter checks"
    return check_graph(program, options.determinism) or check_streams(task.dataset)


LAYERS = Family(
    name="layers",
    summary="a thread for each instance, ordered by channels or operators; pipelines, operators O+",
    label="multicore, thread per instance",
    models=(Pipeline, Query),
    run=LayersRun,
    unsupported=_unsupported,
    options=LayersOptions,
    properties=properties(
        "operators do not mention their instances",
        "channels, not operators, deal the records",
        "the engine merges; operators read one sequence",
    ),
)
