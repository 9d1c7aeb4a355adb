"""Splits an OpKeyedUnordered into partial aggregates of each instance and a combining part.

    op = (partial || ... || partial) >> HASH >> (combining || ... || combining)

The split form sends fewer pairs between threads, and is valid after any splitter if `op` has no `on_item`. At a
marker, a partial instance emits the aggregate of each key in its block. The combining instance combines these
aggregates, and then runs `op`'s marker step. Both forms combine the same aggregates, grouped and ordered differently;
the results are equal because `combine` is associative and commutative.

An operator with `on_item` cannot be split, because `on_item` needs each item with its key's state. Neither can an
operator whose aggregate has arrays, because a pair cannot hold arrays.
"""

import numpy as np

from streamlab.workloads.model.dataflow.operators import OpKeyedUnordered
from streamlab.workloads.model.dataflow.program import Vertex
from streamlab.workloads.model.dataflow.types import TraceType, U
from streamlab.workloads.model.dataflow.vertex_reference import (
    Marker,
    Take,
    UnorderedRun,
    VertexRun,
    new_record,
)
from streamlab.workloads.model.dgs.program import Record
from streamlab.workloads.model.streams.records import RecordType


def can_split(vertex: Vertex) -> bool:
    """Return whether a vertex can be split."""
    operator = vertex.operator
    if not isinstance(operator, OpKeyedUnordered) or operator.on_item is not None:
        return False
    return all(field.subdtype is None for field, *_ in (operator.aggregate.fields or {}).values())


def aggregates(vertex: Vertex) -> TraceType:
    """Return the type of pairs of a key and its aggregate of a block, timed by the marker at the block's end."""
    operator = vertex.operator
    assert isinstance(operator, OpKeyedUnordered), "see can_split"
    sums = [(f"sum_{name}", operator.aggregate[name]) for name in operator.aggregate.names or ()]
    return U(operator.reads.key, np.dtype([("ts", np.dtype(np.int64)), *sums]))


class PartialRun(VertexRun):
    """Emits `(key, aggregate)` for each key of a block, at its marker."""

    def __init__(self, vertex: Vertex, give: Take) -> None:
        """Start without items."""
        super().__init__(vertex, give)
        assert isinstance(vertex.operator, OpKeyedUnordered), "see can_split"
        self._operator = vertex.operator
        self._type = RecordType(f"aggregate of {vertex.name}", vertex.operator.aggregate)
        self._block: dict[int, Record] = {}

    def item(self, key: int, value: Record) -> None:
        """Add an item to the aggregate of its key."""
        aggregate = self._block.get(key)
        if aggregate is None:
            aggregate = new_record(self._type, self._operator.identity)
        term, total = self._type.zeroed(), self._type.zeroed()
        self._operator.take(term, key, value)
        self._operator.combine(aggregate, term, total)
        self._block[key] = total

    def marker(self, m: Marker) -> None:
        """Emit the aggregates of the block."""
        block, self._block = self._block, {}
        for key, aggregate in block.items():
            self.give(key, aggregate)


class CombiningRun(UnorderedRun):
    """Combines partial aggregates; its items are aggregates."""

    def item(self, key: int, value: Record) -> None:
        """Add an aggregate of a key's block."""
        self.add(key, value)
