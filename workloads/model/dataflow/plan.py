"""Deployments of a graph: its units, how many instances each has, and how pairs reach them.

The native core runs what `deploy` returns, and `lab plan` shows it. Every deployment equals the
graph as a data-trace transduction (Data-Trace Types, Corollary 4.4), because it is made by rules
that keep the meaning (Theorem 4.3 and the table of MRG and HASH):

    stateless      MRG >> op = (op || ... || op) >> MRG: each instance reads the one before it, and
                   of several inputs there is a copy behind each; RR where it asks for a degree
    keyed          op = HASH >> (op || ... || op) >> MRG
    SORT           SORT = HASH >> (SORT || ... || SORT) >> MRG
    reordering     MRG >> HASH = (HASH || ... || HASH) >> (MRG || ... || MRG), wires crossed
    disjoint keys  MRG >> HASH = identity, where instances have the keys that HASH gives them
    partials       op = (partial || ... || partial) >> HASH >> (combining || ... || combining)

The marker of a stateless operator is passed to all of its instances and processed by one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from streamlab.workloads.model.dataflow.network import Route
from streamlab.workloads.model.dataflow.operators import OpKeyedOrdered, OpStateless
from streamlab.workloads.model.dataflow.partials import aggregates, has_parts
from streamlab.workloads.model.dataflow.program import Dataflow, Vertex
from streamlab.workloads.model.dataflow.types import TraceType


class Part(Enum):
    """What of a vertex a unit does."""

    WHOLE = "whole"
    PARTIAL = "partial"
    """The aggregate of each key of a block, given at the marker: see `partials`."""
    COMBINING = "combining"
    """What those add up to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A vertex, or a part or a copy of it, as it is deployed.

    Attributes:
        name: how messages call it.
        vertex: what it does, or does a part of.
        part: which.
        reads, gives: the types of its pairs; of a source, what it gives.
        inputs: the units that it reads; none: it is of a source.
        route: how pairs find their instance, from each of those.
        degree: how many instances it has.
        marks: whether its `on_marker` is called; of a stateless vertex's copies that of one.
    """

    name: str
    vertex: Vertex
    part: Part = Part.WHOLE
    reads: TraceType
    gives: TraceType
    inputs: tuple[int, ...] = ()
    route: Route = Route.FORWARD
    degree: int
    marks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A graph as it runs in parallel.

    Attributes:
        flow: the graph.
        workers: threads; the most instances that a unit has.
        units: each behind those that it reads.
        answers: those whose output is the answer; the last unit is one.
        sound: False: as a system without types would run it; see `deploy`.
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
        flow: the graph.
        workers: threads, each with at most one instance of a unit.
        streams: how many there are of each kind; None: one of each. A source has as many instances.
        partials: whether operators that can be are split into partial and combining ones.
        sound: False: as an untyped system would run it (section 2 of the paper): without SORT, all
            stateless operators dealt in turn, and without partial aggregates, which need markers.
    """
    deploying = _Deploying(workers, partials=partials and sound, sound=sound)
    counts = iter(streams or [1] * len(flow.kinds))
    at: list[tuple[int, ...]] = []
    for vertex in flow.vertices:
        if vertex.is_source:
            at.append(deploying.source(vertex, next(counts)))
            continue
        inputs = tuple(unit for before in vertex.inputs for unit in at[before])
        if vertex.is_sort and not sound:
            at.append(inputs)
        elif is_stateless(vertex):
            at.append(deploying.stateless(vertex, flow.reads(len(at)), inputs))
        else:
            at.append(deploying.keyed(vertex, flow.reads(len(at)), inputs))
    return Deployment(
        flow=flow, workers=workers, units=tuple(deploying.units), answers=at[-1], sound=sound
    )


def streams_of(flow: Dataflow, kinds: Iterable[tuple[int, ...]]) -> list[int]:
    """Return how many streams there are of each kind, by the kinds of each stream."""
    found = list(kinds)
    return [found.count((kind,)) for kind in range(len(flow.kinds))]


def is_stateless(vertex: Vertex) -> bool:
    """Return whether any instance may process any item; the others need those of their keys."""
    return isinstance(vertex.operator, OpStateless)


def has_disjoint_keys(vertex: Vertex) -> bool:
    """Return whether what different instances give has different keys, those HASH gives them."""
    return vertex.is_sort or isinstance(vertex.operator, OpKeyedOrdered)


class _Deploying:
    """Adds the units of one vertex after another; methods return those that give its output."""

    def __init__(self, workers: int, *, partials: bool, sound: bool) -> None:
        self._workers = workers
        self._partials = partials
        self._sound = sound
        self.units: list[Unit] = []

    def source(self, vertex: Vertex, streams: int) -> tuple[int, ...]:
        degree = max(1, min(self._workers, streams))
        given = vertex.type
        return self._add(
            Unit(name=vertex.name, vertex=vertex, reads=given, gives=given, degree=degree)
        )

    def stateless(
        self, vertex: Vertex, reads: TraceType, inputs: tuple[int, ...]
    ) -> tuple[int, ...]:
        copies: list[int] = []
        for number, before in enumerate(inputs):
            m = self.units[before].degree
            n = vertex.degree or (m if self._sound else self._workers)
            copy = Unit(
                name=_numbered(vertex.name, number),
                vertex=vertex,
                reads=reads,
                gives=vertex.type,
                inputs=(before,),
                degree=min(n, self._workers),
                marks=number == 0,
            )
            forwards = copy.degree == m
            copies += self._add(copy if forwards else replace(copy, route=Route.ROUND_ROBIN))
        return tuple(copies)

    def keyed(self, vertex: Vertex, reads: TraceType, inputs: tuple[int, ...]) -> tuple[int, ...]:
        degree = 1 if reads.key is None else min(self._workers, vertex.degree or self._workers)
        whole = Unit(
            name=vertex.name,
            vertex=vertex,
            reads=reads,
            gives=vertex.type,
            inputs=inputs,
            degree=degree,
        )
        if self._forwards(whole):
            return self._add(whole)
        moving = replace(whole, route=Route.HASH if degree > 1 else Route.MERGED)
        if not self._partials or not has_parts(vertex):
            return self._add(moving)
        sums = aggregates(vertex)
        parts: list[int] = []
        for number, before in enumerate(inputs):
            parts += self._add(
                replace(
                    whole,
                    name=_numbered(f"{vertex.name} partial", number),
                    part=Part.PARTIAL,
                    gives=sums,
                    inputs=(before,),
                    degree=self.units[before].degree,
                )
            )
        name = f"{vertex.name} combining"
        return self._add(
            replace(moving, name=name, part=Part.COMBINING, reads=sums, inputs=tuple(parts))
        )

    def _forwards(self, whole: Unit) -> bool:
        """Return whether each instance has all pairs of its keys from the one that it reads."""
        if len(whole.inputs) != 1:
            return False
        before = self.units[whole.inputs[0]]
        same = whole.degree == 1 or has_disjoint_keys(before.vertex)
        return before.degree == whole.degree and same

    def _add(self, unit: Unit) -> tuple[int, ...]:
        self.units.append(unit)
        return (len(self.units) - 1,)


def _numbered(name: str, number: int) -> str:
    """Return the name of one of several copies, each behind another input."""
    return name if number == 0 else f"{name} ({number + 1})"
