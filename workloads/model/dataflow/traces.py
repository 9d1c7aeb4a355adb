"""Defines data traces of U(K, V) and O(K, V), and transductions of them, in executable form.

Source: Data-Trace Types, section 3. Slow and close to the paper: the reference for tests of dataflow
graphs.

A *sequence* is a list of items `(key, value)` and markers. Two sequences are equivalent if swaps of
independent neighbours turn one into the other; a *data trace* is a class of equivalent sequences. Its
normal form has, between two markers, a bag of items for U(K, V) and a sequence per key for O(K, V).

The laws of monoids hold for real numbers, but floating-point addition rounds and so depends on its
order. `near` and `close` therefore count two floats as equal if they differ by at most a billionth of
the larger; a sum of a million terms rounds by less. Integers and booleans must be equal exactly. If a
program compares a sum to a threshold, rounding may still appear as a violation.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from streamlab.workloads.model.dataflow.program import Dataflow, Vertex
from streamlab.workloads.model.dataflow.reference import GraphRun
from streamlab.workloads.model.dataflow.types import TraceType, U, of_events
from streamlab.workloads.model.dataflow.vertex_reference import (
    Item,
    Marker,
    Take,
    VertexRun,
    by_numbers,
    start,
)
from streamlab.workloads.model.dgs.rounding import integers_first, relative_difference

Element = Item | Marker
Block = tuple[tuple[int, tuple[Any, ...]], ...]
"""Keys in ascending order, each with its values: ascending in U(K, V), in order of arrival in O(K, V)."""

RELATIVE = 1e-9
"""Largest relative difference of two floats that count as equal."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Holds a data trace; equal traces are equal objects.

    Attributes:
        type: The type whose equivalence defines the trace.
        blocks: The blocks before, between and after the markers, one more than there are markers.
        markers: Times of the markers.
    """

    type: TraceType
    blocks: tuple[Block, ...]
    markers: tuple[int, ...]

    def __le__(self, other: "Trace") -> bool:
        """Return whether this trace is a prefix of another."""
        n = len(self.markers)
        return (
            self.type == other.type
            and self.markers == other.markers[:n]
            and self.blocks[:n] == other.blocks[:n]
            and _is_prefix(self.type, self.blocks[n], other.blocks[n])
        )

    def sequence(self) -> list[Element]:
        """Return one of its sequences."""
        elements: list[Element] = []
        for index, block in enumerate(self.blocks):
            elements += [(key, value) for key, values in block for value in values]
            if index < len(self.markers):
                elements.append(Marker(self.markers[index]))
        return elements

    def lines(self) -> list[str]:
        """Return the trace in words, one line per item or marker."""
        return [element_words(self.type, element) for element in self.sequence()]


def trace(link: TraceType, elements: Iterable[Element]) -> Trace:
    """Return the data trace of a sequence: its class under the equivalence of its type."""
    blocks: list[dict[int, list[Any]]] = [defaultdict(list)]
    markers: list[int] = []
    for element in elements:
        if isinstance(element, Marker):
            markers.append(element.ts)
            blocks.append(defaultdict(list))
        else:
            key, value = element
            blocks[-1][key].append(value)
    return Trace(link, tuple(_normal_form(link, block) for block in blocks), tuple(markers))


Step = Callable[[Element], None]
"""Takes the next element of a sequence."""


@dataclass(frozen=True, slots=True)
class Transduction:
    """Describes a data-string transduction, which processes one element at a time.

    Attributes:
        name: Name for messages.
        reads, gives: Its input and output types X and Y.
        start: The function f of section 3.2. `start(give)` returns a function that takes each element
            and passes its output, markers included, to `give`.
    """

    name: str
    reads: TraceType
    gives: TraceType
    start: Callable[[Step], Step]

    def lifted(self, elements: Iterable[Element]) -> list[Element]:
        """Return all output for a sequence: the lifting of f (section 3.2)."""
        output: list[Element] = []
        step = self.start(output.append)
        for element in elements:
            step(element)
        return output


def of_vertex(vertex: Vertex, reads: TraceType) -> Transduction:
    """Return the transduction of one vertex."""

    def begin(give: Step) -> Step:
        run: VertexRun = start(vertex, _items(give))
        return stepping(run.item, run.marker, give)

    return Transduction(vertex.name, reads, vertex.type, begin)


def of_graph(flow: Dataflow) -> Transduction:
    """Return the transduction of a graph; an item's key is the index of its source."""

    def begin(give: Step) -> Step:
        run = GraphRun(flow, _items(give))
        return stepping(run.item, run.marker, give)

    return Transduction(flow.name, sources(flow), flow.vertices[-1].type, begin)


def sources(flow: Dataflow) -> TraceType:
    """Return the input type of a graph: the type of all its sources, which share their markers."""
    return U("kind", of_events(flow.event).value)


def stepping(item: Take, marker: Callable[[Marker], None], give: Step) -> Step:
    """Return a step that runs `item` and `marker`; a marker leaves after the outputs that it causes."""

    def step(element: Element) -> None:
        if isinstance(element, Marker):
            marker(element)
            give(element)
        else:
            item(*element)

    return step


def item_words(link: TraceType, item: Item) -> str:
    """Return an item in words, e.g. `plug 7: (ts=3, load=10)`."""
    key, value = item
    fields = ", ".join(f"{name}={field}" for name, field in zip(value._fields, value, strict=True))
    return f"({fields})" if link.key is None else f"{link.key} {key}: ({fields})"


def element_words(link: TraceType, element: Element) -> str:
    """Return an item or a marker in words."""
    return f"# {element.ts}" if isinstance(element, Marker) else item_words(link, element)


def near(a: Any, b: Any) -> bool:
    """Return whether two values, or tuples of values, are equal up to rounding; NaN equals NaN."""
    return relative_difference(a, b) <= RELATIVE


def close(a: Trace, b: Trace) -> bool:
    """Return whether two traces are equal up to rounding.

    Unordered values are paired by their integers, then by their floats, so rounding may pair values
    wrongly and report a difference.
    """
    return a == b or (a.markers == b.markers and near(_ordered_blocks(a), _ordered_blocks(b)))


def _ordered_blocks(data: Trace) -> tuple[Any, ...]:
    if data.type.ordered:
        return data.blocks
    return tuple(
        tuple((key, tuple(sorted(map(tuple, values), key=integers_first))) for key, values in block)
        for block in data.blocks
    )


def _items(give: Step) -> Take:
    return lambda key, value: give((key, value))


def _normal_form(link: TraceType, block: dict[int, list[Any]]) -> Block:
    items = []
    for key in sorted(block):
        values = [_plain(value) for value in block[key]]
        if not link.ordered:
            values.sort(key=lambda value: by_numbers((0, value)))
        items.append((key, tuple(values)))
    return tuple(items)


def _plain(value: Any) -> Any:
    """Return a value whose NaNs are one object, so that they compare equal in tuples."""
    if not any(isinstance(field, float) and math.isnan(field) for field in value):
        return value
    fields = (
        math.nan if isinstance(field, float) and math.isnan(field) else field for field in value
    )
    return type(value)._make(fields)


def _is_prefix(link: TraceType, part: Block, whole: Block) -> bool:
    """Return whether a block is a prefix of another: a smaller bag, or a prefix for each key."""
    values = dict(whole)
    for key, prefix in part:
        rest = list(values.get(key, ()))
        if link.ordered:
            if rest[: len(prefix)] != list(prefix):
                return False
            continue
        for value in prefix:
            if value not in rest:
                return False
            rest.remove(value)
    return True
