"""Runs typed dataflow graphs on the native core: docs/decisions/0020-dataflow.md."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.dataflow.kernels import UnitKernels
from streamlab.engines.multicore.run.core_run import CoreRun, setup_errors
from streamlab.engines.multicore.run.family import Family, properties
from streamlab.engines.multicore.run.settings import CompiledOptions, RunSettings, itemsizes
from streamlab.engines.multicore.stages.kernels import columns_of
from streamlab.engines.protocol import Measured, OfferedLoad
from streamlab.workloads.model import Dataflow, Input, ListColumn
from streamlab.workloads.model.dataflow.drawing import describe_deployment
from streamlab.workloads.model.dataflow.network import Route
from streamlab.workloads.model.dataflow.plan import (
    Deployment,
    Part,
    Unit,
    deploy,
    is_stateless,
    preserves_keys,
    streams_of,
)
from streamlab.workloads.model.dataflow.reference import MAX_MARKERS, first_marker

_FIELDS = {"i": "signed", "u": "unsigned", "b": "unsigned", "f": "float"}
"""The core's comparison of fields, by NumPy kind."""
_ROUTES = {
    Route.FORWARD: "forward",
    Route.ROUND_ROBIN: "deal",
    Route.HASH: "hash",
    Route.MERGED: "hash",
}
"""The core's names of routes; HASH to one instance is MERGED."""
LINK_ROWS = 1 << 14
"""Number of unread rows at which a link is full."""
UNSOUND = "soundness = none ignores the order that the graph's types require; use soundness = typed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowOptions(CompiledOptions):
    """Options of variant `dataflow` (docs/engines/multicore.md).

    Attributes:
        combine: whether an instance aggregates a block's items for each key before it sends them.
        soundness: whether the run keeps the order that types require. With `none` and more than one worker the answer
            is wrong: the run leaves SORT out, deals items to stateless operators in turn, reads links in any order, and
            takes a marker at its first arrival.
    """

    combine: Literal["always", "never"] = "always"
    soundness: Literal["typed", "none"] = "typed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStates:
    """State of a graph after a marker.

    Attributes:
        next_marker: time of the next marker.
        units: for each unit, the initial state of a new key, and the table entries of all keys.
    """

    next_marker: int
    units: tuple[tuple[bytes, bytes], ...]


class DataflowRun(CoreRun):
    """Runs a typed dataflow graph once; a worker without a stream or a key is idle.

    Args:
        flow, data, settings, options: the graph, its input, the settings of the run, and the variant's options.
        deployed: a deployment of the graph or of a part of it; None deploys by settings and options.
        states: `final_states()` of the run on the preceding input; needs one worker.
    """

    HAS_SERVICE_LATENCY = False

    def __init__(
        self,
        flow: Dataflow,
        data: Input,
        settings: RunSettings,
        options: DataflowOptions,
        *,
        deployed: Deployment | None = None,
        states: FlowStates | None = None,
    ) -> None:
        reason = check_flow(flow, data)
        if reason is not None:
            raise UnsupportedError(reason)
        self._deployed = deployed or deploy(
            flow,
            settings.workers,
            streams=streams_of(flow, (stream.kinds for stream in data.streams)),
            partials=options.combine != "never",
            sound=options.soundness != "none",
        )
        units = self._deployed.units
        output = units[self._deployed.answers[-1]].output_type.row
        super().__init__(output, settings)
        self._kernels = [UnitKernels(unit, bounds=settings.bounds) for unit in units]
        self._unsound = None if self._deployed.sound else UNSOUND
        self._marker_period_ns = _marker_period_ns(flow, data, settings.load)
        first, count = _markers(flow, data, None if states is None else states.next_marker)
        self._next_marker = first + count * flow.markers
        period = min(flow.markers, np.iinfo(np.int64).max)
        with setup_errors():
            self._core = _core.DataflowRun(
                settings.for_core(output),
                # Without markers in the input, the first marker may be beyond 64 bits.
                first=first if count else 0,
                period=period,
                count=count,
                aligned=self._deployed.sound,
                link_rows=LINK_ROWS if settings.link_rows is None else settings.link_rows,
            )
            for index, (unit, kernels) in enumerate(zip(units, self._kernels, strict=True)):
                state_pair = None if states is None else states.units[index]
                self._add_unit(unit, kernels, state_pair, is_answer=index in self._deployed.answers)
            for index, stream in enumerate(data.streams):
                source = self._deployed.sources[stream.kinds[0]]
                row = units[source].output_type.row
                fields = np.dtype([(name, row[name]) for name in (row.names or ())[1:]])
                self._add_stream(index, stream, columns_of(stream, fields), source)
            self._core.start()

    def run(self) -> Measured:
        """Process the complete input; a failure raises EngineCrashError."""
        return replace(super().run(), unsound=self._unsound)

    def final_states(self) -> FlowStates:
        """Return the states after a run on one worker that passed a marker after its last event."""
        units = tuple(self._open().state(unit) for unit in range(len(self._deployed.units)))
        return FlowStates(next_marker=self._next_marker, units=units)

    def _plan(self, counters: Mapping[str, float]) -> str:
        return f"{describe_deployment(self._deployed)}; {self._settings.workers} workers"

    def _counters(self, duration_ns: int) -> dict[str, float]:
        period_ns = self._marker_period_ns
        return self._read_counters() | (
            {} if period_ns is None else {"marker_period_ns": period_ns}
        )

    def _add_unit(
        self,
        unit: Unit,
        kernels: UnitKernels,
        states: tuple[bytes, bytes] | None,
        *,
        is_answer: bool,
    ) -> None:
        row = unit.output_type.row
        vertex, is_keyed = unit.vertex, unit.output_type.key is not None
        columns, descending = list(row.names or ()), dict(vertex.order) if vertex.is_sort else {}
        self._core.add_vertex(
            name=unit.name,
            kind=_kind(unit),
            route=_ROUTES[unit.route],
            inputs=unit.inputs,
            degree=unit.degree,
            items=kernels.items(),
            markers=kernels.marks(),
            start=kernels.start(),
            start_bytes=kernels.start_bytes,
            entry_bytes=kernels.entry_bytes,
            max_outputs=1 if vertex.operator is None else vertex.operator.max_outputs,
            keeps_key=is_keyed and not vertex.is_sort and preserves_keys(vertex),
            is_answer=is_answer,
            keyed=is_keyed,
            itemsizes=itemsizes(row),
            fields=[_FIELDS[row[name].kind] for name in row.names or ()] if vertex.is_sort else [],
            # Column 0 is the time; column 1 is the key.
            order=([1] if is_keyed else []) + [columns.index(name) for name in descending],
            descending=[descending.get(name, False) for name in columns],
            initial_state=states,
        )


def _kind(unit: Unit) -> str:
    """Return the core's name for the kind of a unit."""
    if unit.vertex.is_source:
        return "source"
    if unit.vertex.is_sort:
        return "sort"
    if unit.part is Part.PARTIAL:
        return "partial"
    return "stateless" if is_stateless(unit.vertex) else "keyed"


def check_flow(flow: Dataflow, data: Input) -> str | None:
    """Return why the core cannot run a graph on an input, or None."""
    for vertex in flow.vertices:
        for name in vertex.type.fields:
            dtype = vertex.type.value[name]
            if dtype.subdtype is not None or dtype.kind not in _FIELDS:
                return f"{vertex.name} emits field {name} of type {dtype}; use a single number"
    for stream in data.streams:
        if len(stream.kinds) != 1:
            return f"stream {stream.name} has several kinds; split it into streams of one kind each"
        for name in flow.event.names or ():
            if isinstance(stream.payload.get(name), ListColumn):
                return (
                    f"stream {stream.name}: column {name} holds lists, but the graph reads numbers"
                )
    _, count = _markers(flow, data)
    if count > MAX_MARKERS:
        return (
            f"the input has {count:,} markers, one every {flow.markers}; expected at most {MAX_MARKERS:,}; "
            "use a longer period"
        )
    return None


def _marker_period_ns(flow: Dataflow, data: Input, load: OfferedLoad | None) -> float | None:
    """Return the mean time in ns from one marker to the next under a load; None without a load."""
    if load is None:
        return None
    pairs = zip(data.streams, load.due_ns, strict=True)
    nonempty = [(stream.ts, due) for stream, due in pairs if len(stream)]
    if not nonempty:
        return None
    first_event = min((int(ts[0]), int(due[0])) for ts, due in nonempty)
    last_event = max((int(ts[-1]), int(due[-1])) for ts, due in nonempty)
    span = last_event[0] - first_event[0]
    return flow.markers * (last_event[1] - first_event[1]) / span if span else None


def _markers(flow: Dataflow, data: Input, first: int | None = None) -> tuple[int, int]:
    """Return the time of an input's first marker, and the number of markers; (0, 0) without markers.

    `first` is the time of the first marker if the preceding input determines it, else None.
    """
    times = [stream.ts for stream in data.streams if len(stream)]
    lasts = [int(ts[-1]) for ts in times]
    if first is None:
        if not times:
            return 0, 0
        first = first_marker(min(int(ts[0]) for ts in times), flow.markers)
    if data.until_ts is not None:
        lasts.append(data.until_ts - 1)
    last_ts = max(lasts)
    # The first marker may lie beyond the last event.
    return first, (last_ts - first) // flow.markers + 1 if first <= last_ts else 0


DATAFLOW = Family(
    name="dataflow",
    summary="each worker has an instance of each operator; aligned by markers; dataflow graphs",
    label="multicore, dataflow",
    models=(Dataflow,),
    run=DataflowRun,
    options=DataflowOptions,
    properties=properties(
        "operators do not mention their instances",
        "the engine partitions and merges operator inputs by their types",
        "the engine aligns instances on markers; operators see one stream",
    ),
)
"""Runs typed dataflow graphs: docs/decisions/0020-dataflow.md."""
