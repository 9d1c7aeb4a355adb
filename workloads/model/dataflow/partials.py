"""OpKeyedUnordered in two parts: partial aggregates of each instance, and what combines them.

    op = (partial || ... || partial) >> HASH >> (combining || ... || combining)

behind any splitter, where `op` has no `on_item`. A partial instance gives, at a marker, the
aggregate of each key that it has seen in the block; the combining one puts those together, and
then does what `op` does at a marker. Both sides combine the same aggregates of items, in other
groups and another order, so that associativity and commutativity of `combine` make them equal, and
the identity is neutral where they begin. Fewer pairs cross threads. With `on_item`, which must see
each item beside its key's state, there is no such form; nor where an aggregate has arrays, which no
pair can hold.
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
    filled,
)
from streamlab.workloads.model.dgs.program import Record
from streamlab.workloads.model.streams.records import RecordType


def has_parts(vertex: Vertex) -> bool:
    """Return whether a vertex has this form."""
    operator = vertex.operator
    if not isinstance(operator, OpKeyedUnordered) or operator.on_item is not None:
        return False
    return all(field.subdtype is None for field, *_ in (operator.aggregate.fields or {}).values())


def aggregates(vertex: Vertex) -> TraceType:
    """Return the type of what a block's items of a key add up to, timed as the marker behind it."""
    operator = vertex.operator
    assert isinstance(operator, OpKeyedUnordered), "see has_parts"
    sums = [(f"sum_{name}", operator.aggregate[name]) for name in operator.aggregate.names or ()]
    return U(operator.reads.key, np.dtype([("ts", np.dtype(np.int64)), *sums]))


class PartialRun(VertexRun):
    """Gives `(key, aggregate)` for each key of a block, at its marker."""

    def __init__(self, vertex: Vertex, give: Take) -> None:
        """Start without items."""
        super().__init__(vertex, give)
        assert isinstance(vertex.operator, OpKeyedUnordered), "see has_parts"
        self._operator = vertex.operator
        self._type = RecordType(f"aggregate of {vertex.name}", vertex.operator.aggregate)
        self._block: dict[int, Record] = {}

    def item(self, key: int, value: Record) -> None:
        """Add an item to the aggregate of its key."""
        so_far = self._block.get(key)
        if so_far is None:
            so_far = filled(self._type, self._operator.identity)
        taken, both = self._type.zeroed(), self._type.zeroed()
        self._operator.take(taken, key, value)
        self._operator.combine(so_far, taken, both)
        self._block[key] = both

    def marker(self, m: Marker) -> None:
        """Give the aggregates of the block."""
        block, self._block = self._block, {}
        for key, aggregate in block.items():
            self.give(key, aggregate)


class CombiningRun(UnorderedRun):
    """Takes aggregates for items."""

    def item(self, key: int, value: Record) -> None:
        """Take an aggregate of a key's block."""
        self.add(key, value)
