"""Cuts a typed dataflow graph into levels: what runs between two shuffles.

Vertices with states (SORT and keyed operators) are at a level each, in groups that have the keys of
a hash; they read what lower levels give, and what their own group gives at their level where it has
all pairs of its keys already. Stateless vertices run wherever pairs for them arise. What several
vertices read, or is merged, or is for a level further on, needs nothing more: each pair says which
vertex it is for, and passes the levels between.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streamlab.engines.spark.generic.graph_items import KEY, OUT, VERTEX
from streamlab.workloads.model import Dataflow
from streamlab.workloads.model.dataflow import OpKeyedOrdered, OpStateless, TraceType
from streamlab.workloads.model.operators.key_buckets import hash_keys
from streamlab.workloads.model.streams.stream import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level of a graph.

    Attributes:
        number: of the level; 0 is where streams are read, before the first shuffle.
        last: the number of the last one, whose output is the answer.
        levels: of each vertex; of a stateless one the last at which it gives a pair.
        degrees: over how many groups the keys of each vertex with states are dealt; others: 0.
    """

    number: int
    last: int
    levels: tuple[int, ...]
    degrees: tuple[int, ...]

    def next(self) -> "Level":
        """Return the level behind it."""
        return replace(self, number=self.number + 1)

    @property
    def groups(self) -> int:
        """How many groups it has."""
        return max((self.degrees[index] for index in self.keyed), default=1)

    @property
    def keyed(self) -> tuple[int, ...]:
        """The vertices with states that are at it."""
        return tuple(
            index
            for index, (level, degree) in enumerate(zip(self.levels, self.degrees, strict=True))
            if degree and level == self.number
        )

    def types_read(self, flow: Dataflow) -> dict[int, TraceType]:
        """Return the vertices that pairs which come to it may be for, and what these read."""
        found = {
            index: flow.reads(index)
            for index, (level, degree) in enumerate(zip(self.levels, self.degrees, strict=True))
            if degree and level >= self.number
        }
        return {**found, OUT: flow.vertices[-1].type}

    def dealt(self, table: pa.Table) -> IntArray:
        """Return the group for each pair of a table of `items`."""
        # What only passes through may go anywhere; the answer is in the last place.
        most = np.array([*(min(degree, self.groups) for degree in self.degrees), self.groups])
        vertex, key = table[VERTEX].to_numpy(), table[KEY].to_numpy()
        groups: IntArray = (hash_keys(key) % most[vertex].astype(np.uint64)).astype(np.int64)
        return groups


def levels(flow: Dataflow, workers: int) -> tuple[Level, ...]:
    """Return the levels of a graph, the one of streams first; there is one behind it at least."""
    found: list[int] = []
    degrees: list[int] = []
    together: list[int] = []
    """Over how many groups a vertex's pairs are, dealt by their keys; 0: they are anywhere."""
    for index, vertex in enumerate(flow.vertices):
        before = vertex.inputs
        if vertex.is_source:
            level, degree, kept = 0, 0, 0
        elif isinstance(vertex.operator, OpStateless):
            # At a marker it gives in one group, of the first level that knows of markers.
            level = max([*(found[i] for i in before), vertex.operator.on_marker is not None])
            degree, kept = 0, int(all(together[i] == 1 for i in before))
        else:
            unit = flow.reads(index).key is None
            degree = 1 if unit else min(workers, vertex.degree or workers)
            level = max(found[i] + (together[i] != degree) for i in before)
            keeps = vertex.is_sort or isinstance(vertex.operator, OpKeyedOrdered)
            kept = degree if keeps or degree == 1 else 0
        found.append(level)
        degrees.append(degree)
        together.append(kept)
    last = max(1, *found)
    return tuple(
        Level(number=number, last=last, levels=tuple(found), degrees=tuple(degrees))
        for number in range(last + 1)
    )
