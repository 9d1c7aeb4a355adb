"""Transduction graphs: vertices, the types of their edges, and the builder that checks them.

Source: Data-Trace Types, section 4. An ill-typed graph cannot be made.

    flow = Flow("loads", markers=10_000)
    readings = flow.source("reading", READING)
    loads = flow.add(JOIN_FILTER_MAP, readings)
    filled = flow.add(INTERPOLATE, flow.sort(loads))
    PROGRAM = flow.gives(filled)

Markers are not events of the data. With `markers=P`, the marker at time n x P comes before the
first event of any stream whose time is at least that, for each n after the time of the first event.
Streams are in order of time, so that what lies between two markers is known when the second comes;
the last block has no marker behind it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlab.workloads.model.dataflow.operators import FlowOperator
from streamlab.workloads.model.dataflow.types import O, TraceType, U, of_events
from streamlab.workloads.model.errors import ProgramError

RESERVED = frozenset({"ts", "kind", "key"})
"""Names that events have of themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """A vertex of a graph.

    Attributes:
        name: how messages call it; unique in its graph.
        type: of what leaves it.
        inputs: the vertices that it reads, merged (MRG); none: a source.
        operator: what it does; None: a source, or SORT where there are inputs.
        degree: how many instances it is to have, at most; None: as many as there are workers.
    """

    name: str
    type: TraceType
    inputs: tuple[int, ...] = ()
    operator: FlowOperator | None = None
    degree: int | None = None

    @property
    def is_source(self) -> bool:
        """Whether it stands for the streams of the kind of its name."""
        return not self.inputs

    @property
    def is_sort(self) -> bool:
        """Whether it puts the pairs of a key in order between markers."""
        return self.operator is None and bool(self.inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataflow:
    """A typed dataflow graph with one sink; made by `Flow.gives`.

    Attributes:
        name: how messages call it.
        markers: event time from a marker to the next.
        vertices: each behind those that it reads; the last one's output is the answer.

    Raises:
        ProgramError: the period is not positive, two vertices have one name, a type does not fit,
            two sources have fields of one name and different types, or nothing reads a vertex.
    """

    name: str
    markers: int
    vertices: tuple[Vertex, ...]

    def __post_init__(self) -> None:
        where = f"dataflow {self.name}"
        if not _is_count(self.markers):
            raise ProgramError(
                f"{where}: markers is {self.markers!r}; wanted a whole number, at least 1"
            )
        names = [vertex.name for vertex in self.vertices]
        for name in names:
            if names.count(name) > 1:
                raise ProgramError(f"{where} has two vertices {name}; give one another name")
        if not self.vertices or all(vertex.is_source for vertex in self.vertices):
            raise ProgramError(f"{where} needs at least one operator")
        for index, vertex in enumerate(self.vertices):
            self._check(index, vertex)
        read = {i for vertex in self.vertices for i in vertex.inputs}
        for index, vertex in enumerate(self.vertices[:-1]):
            if index not in read:
                raise ProgramError(
                    f"{where}: nothing reads {vertex.name}; only what is given (the last vertex) "
                    "leaves the graph"
                )
        _ = self.event

    def _check(self, index: int, vertex: Vertex) -> None:
        where = f"dataflow {self.name}"
        if vertex.is_source:
            if vertex.type.ordered or vertex.type.key is not None:
                raise ProgramError(
                    f"{where}: source {vertex.name} is of {vertex.type}, not U(unit)"
                )
            _require_free(where, vertex.name, vertex.type.fields[1:])
            return
        for before in vertex.inputs:
            if not 0 <= before < index:
                raise ProgramError(f"{where}: {vertex.name} reads vertex {before}, not before it")
            self._check_edge(self.vertices[before], vertex)
        if len(set(vertex.inputs)) < len(vertex.inputs):
            twice = next(i for i in vertex.inputs if vertex.inputs.count(i) > 1)
            raise ProgramError(
                f"{where}: {vertex.name} reads {self.vertices[twice].name} twice; an edge is there "
                "once: emit twice instead"
            )
        if vertex.degree is not None and not _is_count(vertex.degree):
            raise ProgramError(
                f"{where}: {vertex.name} has degree {vertex.degree!r}; wanted a whole number, at "
                "least 1"
            )
        reads = self.reads(index)
        if reads.ordered and len(vertex.inputs) > 1:
            names = ", ".join(self.vertices[i].name for i in vertex.inputs)
            raise ProgramError(
                f"{where}: {vertex.name} reads {reads} of several vertices ({names}), whose order "
                "is lost where they are merged; put SORT before it: flow.sort(...) of all of them"
            )

    def _check_edge(self, before: Vertex, vertex: Vertex) -> None:
        """Check that an edge carries what its reader wants; order may be forgotten, not made."""
        operator = vertex.operator
        if operator is None:
            if not before.type.same_pairs(vertex.type):
                raise ProgramError(
                    f"dataflow {self.name}, edge {before.name} -> {vertex.name}: SORT gives "
                    f"{vertex.type}, {before.name} gives {before.type}"
                )
            return
        reads, given = operator.reads, before.type
        edge = f"dataflow {self.name}, edge {before.name} -> {vertex.name}: {vertex.name} reads "
        edge += f"{reads}, {before.name} gives {given}"
        if not given.same_pairs(reads):
            behind = ", and SORT behind it" if reads.ordered else ""
            raise ProgramError(
                f"{edge}; keys or fields differ. Put an OpStateless between them that makes the "
                f"one of the other{behind}{_differing(reads, given)}"
            )
        if reads.ordered and not given.ordered:
            raise ProgramError(
                f"{edge}, in no order between markers. Put SORT between them: "
                f"flow.add({vertex.name}, flow.sort({before.name}))"
            )

    def reads(self, index: int) -> TraceType:
        """Return the type of what a vertex that is no source reads."""
        vertex = self.vertices[index]
        if vertex.operator is not None:
            return vertex.operator.reads
        return U(vertex.type.key, vertex.type.value)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds of streams that it reads: its sources."""
        return tuple(vertex.name for vertex in self.vertices if vertex.is_source)

    @property
    def sources(self) -> tuple[int, ...]:
        """The vertices that are sources, by kind."""
        return tuple(i for i, vertex in enumerate(self.vertices) if vertex.is_source)

    @property
    def event(self) -> np.dtype[np.void]:
        """Structured dtype of the fields of all sources, without `ts`."""
        fields: dict[str, np.dtype[Any]] = {}
        for index in self.sources:
            value = self.vertices[index].type.value
            for name in (value.names or ())[1:]:
                if fields.setdefault(name, value[name]) != value[name]:
                    raise ProgramError(
                        f"dataflow {self.name}: field {name} is {fields[name]} in one source and "
                        f"{value[name]} in another; give one of them another name"
                    )
        return np.dtype(list(fields.items()))

    @property
    def output(self) -> np.dtype[np.void]:
        """What leaves the graph: `ts`, the key unless it is the unit, the other fields."""
        return self.vertices[-1].type.row

    def kind_indices(self, names: Any) -> tuple[int, ...]:
        """Return the indices of kinds given by name."""
        return tuple(self.kinds.index(name) for name in names)

    def readers(self, index: int) -> tuple[int, ...]:
        """Return the vertices that read a vertex."""
        return tuple(i for i, vertex in enumerate(self.vertices) if index in vertex.inputs)


class Flow:
    """Builds a graph, vertex by vertex; what methods return stands for a vertex's output."""

    def __init__(self, name: str, *, markers: int) -> None:
        """Begin an empty graph; see `Dataflow`."""
        self._name = name
        self._markers = markers
        self._vertices: list[Vertex] = []

    def source(self, kind: str, fields: np.dtype[np.void]) -> int:
        """Add a source: all streams of a kind, whose events have these fields (without `ts`).

        Raises:
            ProgramError: a field has a reserved name, or is no number.
        """
        _require_free(f"dataflow {self._name}", kind, fields.names or ())
        return self._add(Vertex(name=kind, type=of_events(fields)))

    def add(self, operator: FlowOperator, *inputs: int, degree: int | None = None) -> int:
        """Add an operator, which reads some vertices, merged; `degree`: see `Vertex`.

        Raises:
            ProgramError: it is no operator, or an input is no vertex. Types are checked by `gives`.
        """
        if not isinstance(operator, FlowOperator):
            raise ProgramError(
                f"dataflow {self._name}: {operator!r:.60} is no operator; wanted an OpStateless, "
                "OpKeyedOrdered or OpKeyedUnordered"
            )
        self._require(operator.name, inputs)
        return self._add(
            Vertex(
                name=operator.name,
                type=operator.gives,
                inputs=inputs,
                operator=operator,
                degree=degree,
            )
        )

    def sort(self, *inputs: int) -> int:
        """Put the pairs of each key in order between markers: by `ts`, then by the other fields."""
        self._require("SORT", inputs)
        given = self._vertices[inputs[0]].type
        count = sum(vertex.is_sort for vertex in self._vertices)
        name = "SORT" if count == 0 else f"SORT-{count + 1}"
        return self._add(Vertex(name=name, type=O(given.key, given.value), inputs=inputs))

    def gives(self, vertex: int) -> Dataflow:
        """Return the graph whose answer is what leaves a vertex.

        Raises:
            ProgramError: see `Dataflow`.
        """
        self._require_vertex("gives", vertex)
        order = [i for i in range(len(self._vertices)) if i != vertex]
        if any(vertex in self._vertices[i].inputs for i in order):
            name = self._vertices[vertex].name
            raise ProgramError(f"dataflow {self._name}: {name} is given and read; only one may be")
        order.append(vertex)
        place = {old: new for new, old in enumerate(order)}
        vertices = tuple(
            Vertex(
                name=of.name,
                type=of.type,
                inputs=tuple(place[i] for i in of.inputs),
                operator=of.operator,
                degree=of.degree,
            )
            for of in (self._vertices[i] for i in order)
        )
        return Dataflow(name=self._name, markers=self._markers, vertices=vertices)

    def _require(self, name: str, inputs: tuple[int, ...]) -> None:
        if not inputs:
            raise ProgramError(f"dataflow {self._name}: {name} reads nothing; name its inputs")
        for index in inputs:
            self._require_vertex(f"{name} reads", index)

    def _require_vertex(self, what: str, index: object) -> None:
        if not isinstance(index, int) or not 0 <= index < len(self._vertices):
            raise ProgramError(
                f"dataflow {self._name}: {what} vertex {index!r:.60}, which is not there; give "
                "what flow.source, flow.add or flow.sort returned"
            )

    def _add(self, vertex: Vertex) -> int:
        self._vertices.append(vertex)
        return len(self._vertices) - 1


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1


def _require_free(where: str, source: str, fields: tuple[str, ...]) -> None:
    taken = sorted(RESERVED & set(fields))
    if taken:
        raise ProgramError(
            f"{where}: source {source} has a field {', '.join(taken)}, a reserved name"
        )


def _differing(reads: TraceType, given: TraceType) -> str:
    """Return in words which fields differ, where only some do."""
    words = []
    if reads.key != given.key:
        words.append(f"keys: {given.key or 'unit'} for {reads.key or 'unit'}")
    for name in dict.fromkeys((*reads.fields, *given.fields)):
        wanted = reads.value[name] if name in reads.fields else "nothing"
        found = given.value[name] if name in given.fields else "nothing"
        if wanted != found:
            words.append(f"{name}: {found} for {wanted}")
    return f" ({', '.join(words)})" if words else " (the order of the fields)"
