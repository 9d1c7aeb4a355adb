"""Deploys a graph: chooses its units, their numbers of instances, and the routes between them.

The native core runs the result of `deploy`, and `lab plan` shows it. Every deployment equals the
graph as a data-trace transduction (Data-Trace Types, Corollary 4.4), because `deploy` applies rules
that preserve the meaning (Theorem 4.3 and the table of MRG and HASH):

    stateless      MRG >> op = (op || ... || op) >> MRG: each instance reads one instance before it;
                   with several inputs, each input has its own copy; RR if the vertex sets a degree
    keyed          op = HASH >> (op || ... || op) >> MRG
    SORT           SORT = HASH >> (SORT || ... || SORT) >> MRG
    reordering     MRG >> HASH = (HASH || ... || HASH) >> (MRG || ... || MRG), wires crossed
    disjoint keys  MRG >> HASH = identity, if instances already have the keys that HASH assigns
    partials       op = (partial || ... || partial) >> HASH >> (combining || ... || combining)

All instances of a stateless operator get each marker; one instance processes it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from streamlab.workloads.model.dataflow.network import Route
from streamlab.workloads.model.dataflow.operators import OpKeyedOrdered, OpStateless
from streamlab.workloads.model.dataflow.partials import aggregates, can_split
from streamlab.workloads.model.dataflow.program import Dataflow, Vertex
from streamlab.workloads.model.dataflow.types import TraceType
from streamlab.workloads.model.operators.program import Query
from streamlab.workloads.model.pipeline.program import Pipeline


class Part(Enum):
    """Names the part of a vertex that a unit runs."""

    WHOLE = "whole"
    PARTIAL = "partial"
    """Aggregates each key of a block and emits the aggregate at the marker, see `partials`."""
    COMBINING = "combining"
    """Combines the partial aggregates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Describes a deployed vertex, or a part or a copy of one.

    Attributes:
        vertex: The vertex that it runs.
        part: The part of the vertex.
        input_type, output_type: The types of its input and output pairs; equal for a source.
        inputs: The units that it reads; empty for a source.
        route: How pairs from each input reach an instance.
        degree: Number of instances.
        handles_markers: Whether its `on_marker` is called; true for only one copy of a stateless vertex.
    """

    name: str
    vertex: Vertex
    part: Part = Part.WHOLE
    input_type: TraceType
    output_type: TraceType
    inputs: tuple[int, ...] = ()
    route: Route = Route.FORWARD
    degree: int
    handles_markers: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Describes a graph as it runs in parallel.

    Attributes:
        workers: Number of threads, which limits the instances of a unit.
        units: The units, each after its inputs.
        answers: The units whose output is the answer; the last unit is among them.
        sound: False if deployed as an untyped system would, see `deploy`.
    """

    flow: Dataflow
    workers: int
    units: tuple[Unit, ...]
    answers: tuple[int, ...]
    sound: bool

    @property
    def sources(self) -> tuple[int, ...]:
        """The units that are sources, by kind."""
        return tuple(i for i, unit in enumerate(self.units) if unit.vertex.is_source)

    def readers(self, unit: int) -> tuple[int, ...]:
        """Return the units that read a unit."""
        return tuple(i for i, reader in enumerate(self.units) if unit in reader.inputs)


def deploy(
    flow: Dataflow,
    workers: int,
    *,
    streams: Sequence[int] | None = None,
    partials: bool = True,
    sound: bool = True,
) -> Deployment:
    """Return the deployment of a graph.

    Args:
        flow: The graph.
        workers: Number of threads, each with at most one instance of a unit.
        streams: Number of streams of each kind; None means one of each. A source has an instance per
            stream, up to `workers`.
        partials: Whether to split operators into partial and combining units where possible.
        sound: False deploys as an untyped system would (section 2 of the paper): without SORT, with
            round robin to all stateless operators, and without partial aggregates, which need markers.
    """
    builder = _Builder(workers, partials=partials and sound, sound=sound)
    counts = iter(streams or [1] * len(flow.kinds))
    units_of: list[tuple[int, ...]] = []  # by vertex
    for vertex in flow.vertices:
        if vertex.is_source:
            units_of.append(builder.source(vertex, next(counts)))
            continue
        inputs = tuple(unit for input_vertex in vertex.inputs for unit in units_of[input_vertex])
        if vertex.is_sort and not sound:
            units_of.append(inputs)
        elif is_stateless(vertex):
            units_of.append(builder.stateless(vertex, flow.reads(len(units_of)), inputs))
        else:
            units_of.append(builder.keyed(vertex, flow.reads(len(units_of)), inputs))
    return Deployment(
        flow=flow, workers=workers, units=tuple(builder.units), answers=units_of[-1], sound=sound
    )


def split_at_partials(flow: Dataflow) -> tuple[Deployment, Deployment] | None:
    """Return a graph as two deployments on one worker each; None if the graph cannot be split.

    The first reads any part of the streams and emits the aggregate of each key in each block, timed as the block's
    marker. The second reads these aggregates from a single source, and emits the answer.
    A graph can be split if stateless operators read the streams and pass all their output to one vertex with partial
    aggregates. No stateless operator may emit at markers.
    """
    stateless = {i for i, vertex in enumerate(flow.vertices) if is_stateless(vertex)}
    if any(flow.vertices[i].operator.on_marker is not None for i in stateless):  # type: ignore[union-attr]  # OpStateless
        return None
    cut = min(set(range(len(flow.vertices))) - stateless - set(flow.sources), default=None)
    if cut is None or not can_split(flow.vertices[cut]):
        return None
    downstream = {cut}
    for index, vertex in enumerate(flow.vertices):
        if downstream.intersection(vertex.inputs):
            downstream.add(index)
    upstream = set(range(len(flow.vertices))) - downstream
    if any(not downstream.issuperset(flow.vertices[index].inputs) for index in downstream - {cut}):
        return None
    return _partials(flow, cut, upstream), _downstream_deployment(flow, cut, downstream)


def _partials(flow: Dataflow, cut: int, upstream: set[int]) -> Deployment:
    """Return the deployment of the vertices upstream of `cut`, and of its partial units."""
    builder = _Builder(1, partials=False, sound=True)
    units_of: dict[int, tuple[int, ...]] = {}
    for index in sorted(upstream):
        vertex = flow.vertices[index]
        inputs = tuple(unit for input_vertex in vertex.inputs for unit in units_of[input_vertex])
        units_of[index] = (
            builder.source(vertex, 1)
            if vertex.is_source
            else builder.stateless(vertex, flow.reads(index), inputs)
        )
    vertex = flow.vertices[cut]
    inputs = tuple(unit for input_vertex in vertex.inputs for unit in units_of[input_vertex])
    answers = builder.partial(vertex, flow.reads(cut), inputs)
    return Deployment(flow=flow, workers=1, units=tuple(builder.units), answers=answers, sound=True)


def _downstream_deployment(flow: Dataflow, cut: int, downstream: set[int]) -> Deployment:
    """Return the deployment of a source of partial aggregates, the combining unit of `cut`, and later vertices."""
    builder = _Builder(1, partials=False, sound=True)
    vertex = flow.vertices[cut]
    sums = aggregates(vertex)
    source = builder.source(Vertex(name=f"{vertex.name} partial", type=sums), 1)
    units_of = {cut: builder.combining(vertex, sums, source)}
    for index in sorted(downstream - {cut}):
        vertex = flow.vertices[index]
        inputs = tuple(unit for input_vertex in vertex.inputs for unit in units_of[input_vertex])
        add = builder.stateless if is_stateless(vertex) else builder.keyed
        units_of[index] = add(vertex, flow.reads(index), inputs)
    return Deployment(
        flow=flow,
        workers=1,
        units=tuple(builder.units),
        answers=units_of[max(downstream)],
        sound=True,
    )


def streams_of(flow: Dataflow | Query | Pipeline, kinds: Iterable[tuple[int, ...]]) -> list[int]:
    """Return the number of streams of each kind, given the kinds of each stream."""
    streams = list(kinds)
    return [streams.count((kind,)) for kind in range(len(flow.kinds))]


def is_stateless(vertex: Vertex) -> bool:
    """Return whether an item may go to any instance."""
    return isinstance(vertex.operator, OpStateless)


def preserves_keys(vertex: Vertex) -> bool:
    """Return whether each instance emits only the keys that HASH assigns to it."""
    return vertex.is_sort or isinstance(vertex.operator, OpKeyedOrdered)


class _Builder:
    """Adds units vertex by vertex; each method returns the units that emit the vertex's output."""

    def __init__(self, workers: int, *, partials: bool, sound: bool) -> None:
        self._workers = workers
        self._partials = partials
        self._sound = sound
        self.units: list[Unit] = []

    def source(self, vertex: Vertex, streams: int) -> tuple[int, ...]:
        degree = max(1, min(self._workers, streams))
        link = vertex.type
        return self._add(
            Unit(name=vertex.name, vertex=vertex, input_type=link, output_type=link, degree=degree)
        )

    def stateless(
        self, vertex: Vertex, reads: TraceType, inputs: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Add a copy of a stateless vertex for each of its inputs."""
        copies: list[int] = []
        for number, input_unit in enumerate(inputs):
            input_degree = self.units[input_unit].degree
            degree = vertex.degree or (input_degree if self._sound else self._workers)
            copy = Unit(
                name=_copy_name(vertex.name, number),
                vertex=vertex,
                input_type=reads,
                output_type=vertex.type,
                inputs=(input_unit,),
                degree=min(degree, self._workers),
                handles_markers=number == 0,
            )
            forwards = copy.degree == input_degree
            copies += self._add(copy if forwards else replace(copy, route=Route.ROUND_ROBIN))
        return tuple(copies)

    def keyed(self, vertex: Vertex, reads: TraceType, inputs: tuple[int, ...]) -> tuple[int, ...]:
        """Add a keyed vertex; if its pairs must be repartitioned, as partial and combining units where possible."""
        degree = 1 if reads.key is None else min(self._workers, vertex.degree or self._workers)
        whole = Unit(
            name=vertex.name,
            vertex=vertex,
            input_type=reads,
            output_type=vertex.type,
            inputs=inputs,
            degree=degree,
        )
        if self._forwards(whole):
            return self._add(whole)
        repartitioned = replace(whole, route=Route.HASH if degree > 1 else Route.MERGED)
        if not self._partials or not can_split(vertex):
            return self._add(repartitioned)
        return self.combining(
            vertex, aggregates(vertex), self.partial(vertex, reads, inputs), degree
        )

    def partial(self, vertex: Vertex, reads: TraceType, inputs: tuple[int, ...]) -> tuple[int, ...]:
        """Add a unit of partial aggregates for each input, with the input's degree."""
        parts: list[int] = []
        for number, input_unit in enumerate(inputs):
            parts += self._add(
                Unit(
                    name=_copy_name(f"{vertex.name} partial", number),
                    vertex=vertex,
                    part=Part.PARTIAL,
                    input_type=reads,
                    output_type=aggregates(vertex),
                    inputs=(input_unit,),
                    degree=self.units[input_unit].degree,
                )
            )
        return tuple(parts)

    def combining(
        self, vertex: Vertex, sums: TraceType, parts: tuple[int, ...], degree: int = 1
    ) -> tuple[int, ...]:
        return self._add(
            Unit(
                name=f"{vertex.name} combining",
                vertex=vertex,
                part=Part.COMBINING,
                input_type=sums,
                output_type=vertex.type,
                inputs=parts,
                route=Route.HASH if degree > 1 else Route.MERGED,
                degree=degree,
            )
        )

    def _forwards(self, whole: Unit) -> bool:
        """Return whether each instance gets all pairs of its keys from a single instance."""
        if len(whole.inputs) != 1:
            return False
        input_unit = self.units[whole.inputs[0]]
        same = whole.degree == 1 or preserves_keys(input_unit.vertex)
        return input_unit.degree == whole.degree and same

    def _add(self, unit: Unit) -> tuple[int, ...]:
        self.units.append(unit)
        return (len(self.units) - 1,)


def _copy_name(name: str, number: int) -> str:
    """Return the name of the copy for an input, numbered from 0."""
    return name if number == 0 else f"{name} ({number + 1})"
