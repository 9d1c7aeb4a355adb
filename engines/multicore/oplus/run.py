"""Runs queries of operators O+ on the native core.

Virtual shared-nothing instances read ordered logs. Shared-nothing instances read queues of tuples or, with a map
stage, queues with one tuple per key.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.oplus import map_stage
from streamlab.engines.multicore.oplus.elastic.controller import Settings, make_controller
from streamlab.engines.multicore.oplus.elastic.decision import Controller, StartController
from streamlab.engines.multicore.oplus.elastic.loop import ElasticLoop, Switch
from streamlab.engines.multicore.oplus.elastic.mapping import (
    Instances,
    IntArray,
    balanced_mapping,
    checked_mapping,
    instance_set,
)
from streamlab.engines.multicore.oplus.elastic.observation import RawSnapshot
from streamlab.engines.multicore.oplus.kernels import (
    OperatorKernels,
    TupleLayout,
    columns_of,
    layout_of,
    shapes_of,
    spec_of,
)
from streamlab.engines.multicore.oplus.options import MapStageOptions, OplusOptions, check_instances
from streamlab.engines.multicore.oplus.refusal import check_query, check_single, check_streams
from streamlab.engines.multicore.run.core_run import CoreRun, setup_errors
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.multicore.run.results import elasticity
from streamlab.engines.multicore.run.settings import RunSettings, itemsizes
from streamlab.engines.protocol import Measured, Task
from streamlab.workloads.model import Input, Query, Stream


class OplusRun(CoreRun):
    """Runs a query once; `workers` instances are active at the start.

    Args:
        query, data, settings, options: the query, its input, the settings and the options of the run.
        shared_nothing: True if each instance has its own queues and state; False if instances share a log and state.
        maps: number of map instances in front of shared-nothing instances; 0 for no map stage.
    """

    def __init__(
        self,
        query: Query,
        data: Input,
        settings: RunSettings,
        options: OplusOptions,
        *,
        shared_nothing: bool = False,
        maps: int = 0,
    ) -> None:
        super().__init__(query.output, settings)
        instances, max_instances = settings.workers, options.threads(settings.workers)
        controller = options.controller
        states = max_instances if shared_nothing or maps else 1
        self._fused = options.fuses(query.operators[0])
        reason = check_query(query, data, fused=self._fused, states=states)
        if reason is None and shared_nothing:
            reason = check_single(query, "sn")
        if reason is None and maps:
            reason = map_stage.check_query(query) or map_stage.check_maps(maps, data)
        if reason is None and controller is not None and not settings.measure:
            reason = "a controller needs measurements; remove the option measure = false"
        if reason is not None:
            raise UnsupportedError(reason)
        self._operators = query.operators
        self._operator = query.operators[0]
        self._data = data
        self._shared_nothing = shared_nothing
        self._maps = maps
        self._max_instances = max_instances
        self._kernels = [
            OperatorKernels(operator, bounds=settings.bounds) for operator in query.operators
        ]
        elastic = None if controller is None else make_controller(controller)
        self._mappings = [
            balanced_mapping(operator.buckets, instances) for operator in self._operators
        ]
        if elastic is not None and isinstance(elastic[0], StartController):
            table = elastic[0].map_start(self._operator.buckets, instances)
            self._mappings[0] = checked_mapping(table, self._operator.buckets, instances)
        # With a map stage, the aggregate reads the mapped tuples.
        self._aggregate, self._aggregate_kernels = self._operator, self._kernels[0]
        if maps:
            self._aggregate = map_stage.mapped_aggregate(self._operator)
            self._aggregate_kernels = OperatorKernels(self._aggregate, bounds=settings.bounds)
        with setup_errors():
            self._core = _core.OplusRun(
                settings.for_core(query.output, threads=max_instances + options.downstream),
                spec=spec_of(
                    self._aggregate,
                    # The aggregate's windows differ only if they store tuples: they then store mapped tuples.
                    self._aggregate_kernels if self._operator.stores else self._kernels[0],
                    self._layouts(),
                    fused=self._fused,
                    bag=self._operator.bag,
                ),
                max_instances=max_instances,
                tuple_buffer=options.tuple_buffer,
                shared_nothing=shared_nothing,
                itemsizes=itemsizes(self._operator.output),
                end_watermark=None if data.until_ts is None else data.until_ts - 1,
                link_rows=settings.link_rows,
                downstream=options.downstream,
                map_instances=maps,
            )
            self._add_operators()
            self._add_streams()
            for index, mapping in enumerate(self._mappings):
                self._core.map(mapping.astype(np.int32).tolist(), index)
            self._core.start()
        self._vector_bits = self._kernels[0].match_vector_bits()
        self._loop = None if elastic is None else self._make_loop(*elastic, max_instances)

    def run(self) -> Measured:
        """Process the complete input; a failure raises EngineCrashError."""
        core = self._open()
        if self._loop is not None:
            self._loop.start()
        try:
            self._run_core()
        finally:
            if self._loop is not None:
                self._loop.stop()
        instances = self._settings.workers
        plan = " -> ".join(
            f"{operator.name}: {instances} instances, {operator.buckets} buckets of keys"
            for operator in self._operators
        )
        if self._maps:
            plan = f"map: {self._maps} instances -> {plan}"
        counters = self._read_counters()
        if self._operator.join is None:
            del counters["comparisons"]
        elif self._vector_bits:
            counters["vector_bits"] = float(self._vector_bits)
        elastic = None
        if self._loop is not None and self._settings.measure:
            elastic = elasticity(
                core,
                self._loop.reconfigurations,
                start=instances,
                join=self._operator.join is not None,
            )
        return self._build_measured(plan, counters, elasticity=elastic)

    @property
    def mapping(self) -> IntArray:
        """Instance of each bucket of the first operator, int64[buckets]."""
        return self._mappings[0]

    def reconfigure(
        self, instances: Instances, mapping: IntArray, others: Sequence[IntArray] | None = None
    ) -> Switch | None:
        """Change the instances of all operators during `run`; see `ElasticOperator`.

        A number n means the first n instances. `mapping` is the mapping of the first operator. `others` are the
        mappings of the further operators; None balances them with the fewest moves. Returns the switch of the first
        operator, once all have switched.
        """
        core = self._open()
        active = instance_set(instances)
        if others is None:
            others = [
                balanced_mapping(operator.buckets, active, current)
                for operator, current in zip(self._operators[1:], self._mappings[1:], strict=True)
            ]
        mappings = [mapping, *others]
        # Request all switches before waiting: a thread needs the switches of all operators.
        numbers = [
            core.reconfigure(active, table.astype(np.int32).tolist(), op)
            for op, table in enumerate(mappings)
        ]
        switched = [
            None if number < 0 else core.await_switch(number, op)
            for op, number in enumerate(numbers)
        ]
        first = switched[0]
        if first is None or None in switched:
            return None
        self._mappings = mappings
        return Switch(event_ts=first[0], moved_bytes=first[1])

    def snapshot(self) -> RawSnapshot | None:
        """Read the counters; see `ElasticOperator`."""
        counters = self._open().snapshot()
        if counters is None:
            return None
        time_ns, active, busy_ns, processed, windows, compared = counters
        is_join = self._operator.join is not None
        return RawSnapshot(
            time_ns=time_ns,
            active=tuple(active),
            busy_ns=tuple(busy_ns),
            processed=tuple(processed),
            arrived=self._arrived_tuples(time_ns),
            # A shared-nothing instance does not know the windows of its queues.
            windows=tuple(windows) if is_join and not self._shared_nothing else None,
            comparisons=compared if is_join else None,
        )

    def switches(
        self, op: int = 0
    ) -> list[tuple[int, int, tuple[int, ...], tuple[int, ...], int, int]]:
        """Return (called_ns, done_ns, before, after, event_ts, moved_bytes) of each change.

        `before` and `after` are the indices of the active instances.
        """
        return [
            (called_ns, done_ns, tuple(before), tuple(after), event_ts, moved_bytes)
            for called_ns, done_ns, before, after, event_ts, moved_bytes in self._open().switches(
                op
            )
        ]

    def _layouts(self) -> list[TupleLayout]:
        return [layout_of(self._operator, stream) for stream in self._data.streams]

    def _add_operators(self) -> None:
        """Add the operators after the first; each reads all fields that its predecessor emits."""
        for operator, kernels in zip(self._operators[1:], self._kernels[1:], strict=True):
            layout = TupleLayout(input=0, fields=operator.fields.names or (), lists=())
            self._core.add_operator(
                spec=spec_of(operator, kernels, [layout], fused=False),
                process=kernels.process(layout),
                itemsizes=itemsizes(operator.output),
            )

    def _add_streams(self) -> None:
        operator, kernels = self._operator, self._kernels[0]
        # Instances that share a log skip the tuples without a key of their own.
        is_routed = self._shared_nothing or (not self._fused and self._max_instances > 1)
        for index, stream in enumerate(self._data.streams):
            layout = layout_of(operator, stream)
            process = 0 if self._fused else kernels.process(layout)
            columns = columns_of(operator, stream)
            if self._maps:
                self._add_mapped(index, stream, columns, layout)
                continue
            route = kernels.route(layout) if is_routed else 0
            shapes = shapes_of(operator)
            self._add_stream(index, stream, columns, layout.input, process, route, shapes)

    def _add_mapped(self, index: int, stream: Stream, columns: object, layout: TupleLayout) -> None:
        mapped = map_stage.mapped_layout(self._aggregate, layout)
        self._add_stream(
            index,
            stream,
            columns,
            layout.input,
            self._aggregate_kernels.process(mapped),
            self._kernels[0].map(layout),
            map_stage.carried_columns(self._operator, self._aggregate, layout),
            add=self._core.add_mapped_stream,
        )

    def _make_loop(
        self, controller: Controller, settings: Settings, max_instances: int
    ) -> ElasticLoop:
        return ElasticLoop(
            self,
            controller,
            settings,
            maximum=max_instances,
            mapping=self.mapping,
            window_s=self._window_s(),
            clock=time.monotonic_ns,
        )

    def _window_s(self) -> float:
        """Return the window's size in seconds of the run, by the ratio of due time to event time."""
        if self._settings.load is None or self._operator.join is None:
            return 0.0
        due = np.concatenate(self._settings.load.due_ns)
        ts = np.concatenate([stream.ts for stream in self._data.streams])
        if len(ts) == 0 or int(ts.max()) == int(ts.min()):
            return 0.0
        ns_per_unit = (int(due.max()) - int(due.min())) / (int(ts.max()) - int(ts.min()))
        return self._operator.window.size * ns_per_unit / 1e9

    def _arrived_tuples(self, time_ns: int) -> tuple[int, ...] | None:
        if self._settings.load is None:
            return None
        arrived = [0] * len(self._operator.inputs)
        for stream, due in zip(self._data.streams, self._settings.load.due_ns, strict=True):
            arrived[stream.kinds[0]] += int(np.searchsorted(due, time_ns, side="right"))
        return tuple(arrived)


def _unsupported(task: Task, options: OplusOptions) -> str | None:
    return check_streams(task.dataset) or check_instances(task.workers, options)


def _unsupported_sn(task: Task, options: OplusOptions) -> str | None:
    query = task.workload.program
    if isinstance(query, Query) and options.fuses(query.operators[0]):
        return (
            f"{task.workload.name} is a join of all pairs over the columns of a shared log, but "
            'shared-nothing instances share no log; use join_form = "operator10"'
        )
    single = check_single(query, "sn") if isinstance(query, Query) else None
    return single or _unsupported(task, options)


def _run_behind_maps(
    query: Query, data: Input, settings: RunSettings, options: MapStageOptions
) -> OplusRun:
    oplus_options = OplusOptions(tuple_buffer=options.tuple_buffer, downstream=options.downstream)
    maps = options.map_instances or settings.workers
    return OplusRun(query, data, settings, oplus_options, maps=maps)


def _unsupported_sn_map(task: Task, options: MapStageOptions) -> str | None:
    query, maps = task.workload.program, options.map_instances or task.workers
    return (
        check_streams(task.dataset)
        or (map_stage.check_query(query) if isinstance(query, Query) else None)
        or map_stage.check_maps(maps, task.dataset)
    )


VSN = Family(
    name="vsn",
    summary="virtual shared-nothing: instances share state and an ordered log; operators O+",
    label="multicore, shared state",
    models=(Query,),
    stamps_arrivals=True,
    run=OplusRun,
    unsupported=_unsupported,
    options=OplusOptions,
    properties=properties(
        "the operator does not mention its instances",
        "the mapping of buckets, not the operator, does",
        "only f_MK, f_U, f_O and f_S are used",
    ),
)
SN = replace(
    VSN,
    name="sn",
    summary="shared-nothing: queues, copies and a state for each instance; operators O+",
    label="multicore, shared-nothing",
    run=partial(OplusRun, shared_nothing=True),
    unsupported=_unsupported_sn,
)
SN_MAP = replace(
    VSN,
    name="sn-map",
    summary="shared-nothing with a map stage: a tuple for each key, routed by it; operators O+",
    label="multicore, map stage",
    unsupported=_unsupported_sn_map,
    options=MapStageOptions,
    run=_run_behind_maps,
)
