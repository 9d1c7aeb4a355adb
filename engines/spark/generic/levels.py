"""Splits a typed dataflow graph into levels: the parts that run between two shuffles.

Each vertex with states (SORT, keyed operators) has one level, where it runs in groups by key hash. The vertex reads the
output of lower levels. It also reads the output of its own group at the same level if the group has all pairs of the
vertex's keys. Stateless vertices run at every level at which pairs for them arise.
Each pair names its destination vertex and passes through all levels before it, so fan-out, merges and links that skip
levels need no special case.
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
    """One level of a graph. Level 0 reads streams before the first shuffle; the last level outputs the answer.

    Attributes:
        number: number of this level.
        last: number of the last level.
        levels: level of each vertex; for a stateless vertex, the last level at which it emits pairs.
        degrees: number of groups for the keys of each vertex with states; 0 for other vertices.
    """

    number: int
    last: int
    levels: tuple[int, ...]
    degrees: tuple[int, ...]

    def next(self) -> "Level":
        """Return the next level."""
        return replace(self, number=self.number + 1)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return max((self.degrees[index] for index in self.keyed), default=1)

    @property
    def keyed(self) -> tuple[int, ...]:
        """The vertices with states at this level."""
        return tuple(
            index
            for index, (level, degree) in enumerate(zip(self.levels, self.degrees, strict=True))
            if degree and level == self.number
        )

    def types_read(self, flow: Dataflow) -> dict[int, TraceType]:
        """Return the possible destination vertices of incoming pairs, with the types that they read."""
        types = {
            index: flow.reads(index)
            for index, (level, degree) in enumerate(zip(self.levels, self.degrees, strict=True))
            if degree and level >= self.number
        }
        return {**types, OUT: flow.vertices[-1].type}

    def groups_of(self, table: pa.Table) -> IntArray:
        """Return the group of each pair of a table."""
        # Pairs that only pass through may go to any group. The last entry is for pairs of the answer, at index OUT.
        group_counts = np.array(
            [*(min(degree, self.groups) for degree in self.degrees), self.groups]
        )
        vertex, key = table[VERTEX].to_numpy(), table[KEY].to_numpy()
        groups: IntArray = (hash_keys(key) % group_counts[vertex].astype(np.uint64)).astype(
            np.int64
        )
        return groups


def levels(flow: Dataflow, workers: int) -> tuple[Level, ...]:
    """Return the levels of a graph: the level of streams, and at least one further level."""
    vertex_levels: list[int] = []
    degrees: list[int] = []
    spreads: list[int] = []
    """Number of groups over which each vertex's output is spread by key; 0 if it is not spread by key."""
    for index, vertex in enumerate(flow.vertices):
        inputs = vertex.inputs
        if vertex.is_source:
            level, degree, spread = 0, 0, 0
        elif isinstance(vertex.operator, OpStateless):
            # At a marker the vertex emits in one group, at the first level that has markers.
            emits_at_marker = vertex.operator.on_marker is not None
            level = max([*(vertex_levels[i] for i in inputs), emits_at_marker])
            degree, spread = 0, int(all(spreads[i] == 1 for i in inputs))
        else:
            is_keyed = flow.reads(index).key is not None
            degree = min(workers, vertex.degree or workers) if is_keyed else 1
            level = max(vertex_levels[i] + (spreads[i] != degree) for i in inputs)
            keeps_keys = vertex.is_sort or isinstance(vertex.operator, OpKeyedOrdered)
            spread = degree if keeps_keys or degree == 1 else 0
        vertex_levels.append(level)
        degrees.append(degree)
        spreads.append(spread)
    last = max(1, *vertex_levels)
    return tuple(
        Level(number=number, last=last, levels=tuple(vertex_levels), degrees=tuple(degrees))
        for number in range(last + 1)
    )
