"""Defines typed dataflow graphs (transduction graphs), and the builder that checks them.

Source: Data-Trace Types, section 4. An ill-typed graph raises when it is made.

    flow = Flow("loads", markers=10_000)
    readings = flow.source("reading", READING)
    loads = flow.add(JOIN_FILTER_MAP, readings)
    filled = flow.add(INTERPOLATE, flow.sort(loads))
    PROGRAM = flow.gives(filled)

Markers are not events of the data. With `markers=P` there is a marker at each multiple of P after the
time of the first event. In each stream, it precedes the first event at its time or later. Streams are in
order of time, so a block is complete when its marker comes. The last block has no marker at its end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamlab.workloads.model.dataflow.operators import FlowOperator
from streamlab.workloads.model.dataflow.sinks import answer_type, merge, to_answer
from streamlab.workloads.model.dataflow.types import O, TraceType, U, of_events
from streamlab.workloads.model.errors import ProgramError

RESERVED = frozenset({"ts", "kind", "key"})
"""Field names that every event has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """Describes a vertex of a graph.

    Attributes:
        name: Name for messages; unique in its graph.
        type: Type of its output.
        inputs: The vertices that it reads, merged (MRG); empty for a source.
        operator: Its operator; None for a source (without inputs) and for SORT (with inputs).
        degree: Largest number of instances; None means the number of workers.
        disjoint_keys: Whether no two inputs have pairs of one key, so that their merge keeps the order.
        by: The fields by which SORT orders the values of a key, the most significant first. A `-` before
            a name means descending order. The remaining fields follow, in ascending order.
    """

    name: str
    type: TraceType
    inputs: tuple[int, ...] = ()
    operator: FlowOperator | None = None
    degree: int | None = None
    disjoint_keys: bool = False
    by: tuple[str, ...] = ()

    @property
    def is_source(self) -> bool:
        """Whether it represents the streams of the kind with its name."""
        return not self.inputs

    @property
    def is_sort(self) -> bool:
        """Whether it sorts the pairs of a key between markers."""
        return self.operator is None and bool(self.inputs)

    @property
    def order(self) -> tuple[tuple[str, bool], ...]:
        """All fields in the order in which SORT compares them, each with whether its order is descending."""
        leading = [(name.removeprefix("-"), name.startswith("-")) for name in self.by]
        rest = [name for name in self.type.fields if name not in dict(leading)]
        return (*leading, *((name, False) for name in rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataflow:
    """Describes a typed dataflow graph; made by `Flow.gives`, which merges several sinks.

    Attributes:
        markers: Event time between two markers.
        vertices: The vertices, each after its inputs; the output of the last one is the answer.

    Raises:
        ProgramError: The period is not positive, two vertices share a name, a type does not fit,
            two sources have fields of one name and different types, or nothing reads a vertex.
    """

    name: str
    markers: int
    vertices: tuple[Vertex, ...]

    def __post_init__(self) -> None:
        where = f"dataflow {self.name}"
        if not _is_count(self.markers):
            raise ProgramError(
                f"{where}: markers is {self.markers!r}; expected an integer of at least 1"
            )
        names = [vertex.name for vertex in self.vertices]
        for name in names:
            if names.count(name) > 1:
                raise ProgramError(f"{where} has two vertices {name}; rename one of them")
        if not self.vertices or all(vertex.is_source for vertex in self.vertices):
            raise ProgramError(f"{where} needs at least one operator")
        for index, vertex in enumerate(self.vertices):
            self._check(index, vertex)
        read = {i for vertex in self.vertices for i in vertex.inputs}
        for index, vertex in enumerate(self.vertices[:-1]):
            if index not in read:
                raise ProgramError(
                    f"{where}: nothing reads {vertex.name}; only the output of the last vertex "
                    "(flow.gives) leaves the graph"
                )
        _ = self.event

    def _check(self, index: int, vertex: Vertex) -> None:
        where = f"dataflow {self.name}"
        if vertex.is_source:
            if vertex.type.ordered or vertex.type.key is not None:
                raise ProgramError(
                    f"{where}: source {vertex.name} has type {vertex.type}; expected U(unit, ...)"
                )
            _require_free(where, vertex.name, vertex.type.fields[1:])
            return
        for before in vertex.inputs:
            if not 0 <= before < index:
                raise ProgramError(
                    f"{where}: {vertex.name} (vertex {index}) reads vertex {before}; inputs must come "
                    "before their reader"
                )
            self._check_edge(self.vertices[before], vertex)
        if len(set(vertex.inputs)) < len(vertex.inputs):
            twice = next(i for i in vertex.inputs if vertex.inputs.count(i) > 1)
            raise ProgramError(
                f"{where}: {vertex.name} reads {self.vertices[twice].name} twice; list each input "
                "once, and emit twice instead"
            )
        if vertex.degree is not None and not _is_count(vertex.degree):
            raise ProgramError(
                f"{where}: {vertex.name} has degree {vertex.degree!r}; expected an integer of at "
                "least 1"
            )
        self._check_order(vertex, self.reads(index))

    def _check_order(self, vertex: Vertex, reads: TraceType) -> None:
        """Check that a merge keeps the order that a vertex reads, and that SORT's fields exist."""
        where = f"dataflow {self.name}: {vertex.name}"
        if vertex.disjoint_keys and not reads.ordered:
            raise ProgramError(
                f"{where} reads {reads}, whose pairs have no order to keep; leave out disjoint_keys"
            )
        disjoint = vertex.disjoint_keys and reads.key is not None
        if reads.ordered and len(vertex.inputs) > 1 and not disjoint:
            names = ", ".join(self.vertices[i].name for i in vertex.inputs)
            alternative = (
                ""
                if reads.key is None
                else ". If no two have a key in common, add it with disjoint_keys=True"
            )
            raise ProgramError(
                f"{where} reads {reads} from several vertices ({names}), and merging loses their "
                f"order; put SORT before it: flow.sort(...) of all of them{alternative}"
            )
        fields = [name.removeprefix("-") for name in vertex.by]
        for name in fields:
            if name not in vertex.type.fields or fields.count(name) > 1:
                raise ProgramError(
                    f"{where} sorts by {', '.join(vertex.by)}; expected fields of "
                    f"{vertex.type}, each at most once, with a - before those whose greatest value "
                    "comes first"
                )

    def _check_edge(self, before: Vertex, vertex: Vertex) -> None:
        """Check that an edge has the type that its reader reads; an O may be read as a U."""
        operator = vertex.operator
        if operator is None:
            if not before.type.same_pairs(vertex.type):
                raise ProgramError(
                    f"dataflow {self.name}, edge {before.name} -> {vertex.name}: SORT gives "
                    f"{vertex.type}, {before.name} gives {before.type}"
                )
            return
        reads, gives = operator.reads, before.type
        edge = f"dataflow {self.name}, edge {before.name} -> {vertex.name}: {vertex.name} reads "
        edge += f"{reads}, {before.name} gives {gives}"
        if not gives.same_pairs(reads):
            sort = ", and SORT after that" if reads.ordered else ""
            raise ProgramError(
                f"{edge}; keys or fields differ. Put an OpStateless between them that converts one "
                f"to the other{sort}{_describe_difference(reads, gives)}"
            )
        if reads.ordered and not gives.ordered:
            raise ProgramError(
                f"{edge}, in no order between markers. Put SORT between them: "
                f"flow.add({vertex.name}, flow.sort({before.name}))"
            )

    def reads(self, index: int) -> TraceType:
        """Return the input type of a vertex that is not a source."""
        vertex = self.vertices[index]
        if vertex.operator is not None:
            return vertex.operator.reads
        return U(vertex.type.key, vertex.type.value)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of its sources: the kinds of streams that it reads."""
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
                        f"{value[name]} in another; rename one of them"
                    )
        return np.dtype(list(fields.items()))

    @property
    def output(self) -> np.dtype[np.void]:
        """Structured dtype of the output: `ts`, the key unless it is the unit, the other fields."""
        return self.vertices[-1].type.row

    def kind_indices(self, names: Any) -> tuple[int, ...]:
        """Return the indices of kinds by name."""
        return tuple(self.kinds.index(name) for name in names)

    def readers(self, index: int) -> tuple[int, ...]:
        """Return the vertices that read a vertex."""
        return tuple(i for i, vertex in enumerate(self.vertices) if index in vertex.inputs)


class Flow:
    """Builds a graph vertex by vertex; methods return the index of the new vertex."""

    def __init__(self, name: str, *, markers: int) -> None:
        """Begin an empty graph; see `Dataflow`."""
        self._name = name
        self._markers = markers
        self._vertices: list[Vertex] = []

    def source(self, kind: str, fields: np.dtype[np.void]) -> int:
        """Add a source: all streams of a kind, whose events have these fields (without `ts`).

        Raises:
            ProgramError: A field has a reserved name, or is not a number.
        """
        _require_free(f"dataflow {self._name}", kind, fields.names or ())
        return self._add(Vertex(name=kind, type=of_events(fields)))

    def add(
        self,
        operator: FlowOperator,
        *inputs: int,
        degree: int | None = None,
        disjoint_keys: bool = False,
    ) -> int:
        """Add an operator that reads the merged output of `inputs`; see `Vertex` for the other arguments.

        Raises:
            ProgramError: It is not an operator, or an input is not a vertex. `gives` checks types.
        """
        if not isinstance(operator, FlowOperator):
            raise ProgramError(
                f"dataflow {self._name}: {operator!r:.60} is not an operator; expected an OpStateless, "
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
                disjoint_keys=disjoint_keys,
            )
        )

    def sort(self, *inputs: int, by: str | Iterable[str] = ()) -> int:
        """Add a SORT, which sorts the pairs of each key between markers.

        SORT compares the fields of `by`, then the remaining fields. With `by=("-load", "ts")` the greatest
        load comes first, and the earliest of equal loads. Without `by`, `ts` is compared first.
        """
        self._require("SORT", inputs)
        link = self._vertices[inputs[0]].type
        count = sum(vertex.is_sort for vertex in self._vertices)
        name = "SORT" if count == 0 else f"SORT-{count + 1}"
        fields = (by,) if isinstance(by, str) else tuple(by)
        return self._add(Vertex(name=name, type=O(link.key, link.value), inputs=inputs, by=fields))

    def gives(self, *sinks: int) -> Dataflow:
        """Return the graph whose answer is the output of a vertex, or of several.

        With several sinks, rows have the columns of all sinks and the column `sink`, the number of the
        row's sink from 0. Columns that a sink lacks are zero. The answer is then unordered, even if a
        sink gives an O.

        Raises:
            ProgramError: See `Dataflow`, and `answer_type`.
        """
        if not sinks:
            raise ProgramError(f"dataflow {self._name}: gives needs at least one vertex")
        for vertex in sinks:
            self._require_vertex("gives", vertex)
        return self._end_at(*sinks) if len(sinks) == 1 else self._merge_sinks(sinks)

    def _merge_sinks(self, sinks: tuple[int, ...]) -> Dataflow:
        """Return the graph with several sinks and a last vertex that merges them."""
        where = f"dataflow {self._name}"
        if len(set(sinks)) < len(sinks):
            twice = next(i for i in sinks if sinks.count(i) > 1)
            raise ProgramError(
                f"{where} gives {self._vertices[twice].name} twice; list each sink once"
            )
        links = [self._vertices[i].type for i in sinks]
        answer = answer_type(where, links)
        merged = Flow(self._name, markers=self._markers)
        merged._vertices = [*self._vertices]
        rows = [
            merged.add(
                to_answer(f"sink {number}: {self._vertices[i].name}", number, link, answer), i
            )
            for number, (i, link) in enumerate(zip(sinks, links, strict=True))
        ]
        return merged._end_at(merged.add(merge(answer), *rows))

    def _end_at(self, vertex: int) -> Dataflow:
        """Return the graph whose only sink is a vertex."""
        order = [i for i in range(len(self._vertices)) if i != vertex]
        if any(vertex in self._vertices[i].inputs for i in order):
            name = self._vertices[vertex].name
            raise ProgramError(
                f"dataflow {self._name}: another vertex reads {name}, so it cannot be the answer; "
                "call flow.gives on a vertex without readers"
            )
        order.append(vertex)
        new_index = {index: position for position, index in enumerate(order)}
        vertices = tuple(
            replace(v, inputs=tuple(new_index[i] for i in v.inputs))
            for v in (self._vertices[i] for i in order)
        )
        return Dataflow(name=self._name, markers=self._markers, vertices=vertices)

    def _require(self, name: str, inputs: tuple[int, ...]) -> None:
        if not inputs:
            raise ProgramError(f"dataflow {self._name}: {name} reads nothing; name its inputs")
        for index in inputs:
            self._require_vertex(f"{name} reads", index)

    def _require_vertex(self, reader: str, index: object) -> None:
        if not isinstance(index, int) or not 0 <= index < len(self._vertices):
            raise ProgramError(
                f"dataflow {self._name}: {reader} vertex {index!r:.60}, which does not exist; pass a "
                "vertex that flow.source, flow.add or flow.sort returned"
            )

    def _add(self, vertex: Vertex) -> int:
        self._vertices.append(vertex)
        return len(self._vertices) - 1


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1


def _require_free(where: str, source: str, fields: tuple[str, ...]) -> None:
    reserved = sorted(RESERVED & set(fields))
    if reserved:
        raise ProgramError(
            f"{where}: source {source} has a field {', '.join(reserved)}, a reserved name; rename it"
        )


def _describe_difference(reads: TraceType, gives: TraceType) -> str:
    """Return in words which fields differ, or that only their order differs."""
    words = []
    if reads.key != gives.key:
        words.append(f"keys: {gives.key or 'unit'} for {reads.key or 'unit'}")
    for name in dict.fromkeys((*reads.fields, *gives.fields)):
        expected = reads.value[name] if name in reads.fields else "nothing"
        actual = gives.value[name] if name in gives.fields else "nothing"
        if expected != actual:
            words.append(f"{name}: {actual} for {expected}")
    return f" ({', '.join(words)})" if words else " (the order of the fields)"
