"""Splits a typed dataflow graph into levels: the parts that run between two shuffles.

Each vertex with states (SORT, keyed operators) has one level and runs there in groups by key hash. It reads the
output of lower levels, and that of its own group at the same level if the group has all pairs of its keys.
Stateless vertices run wherever pairs for them arise.
Each pair names its destination vertex and passes through the levels between, so that fan-out, merges and links that
skip levels need no special case.
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
    """One level of a graph: level 0 reads streams before the first shuffle; the last one's output is the answer.

    Attributes:
        levels: level of each vertex; for a stateless one, the last at which it emits pairs.
        degrees: over how many groups the keys of each vertex with states are spread; others: 0.
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
        # Pairs that only pass through may go to any group; the answer's entry comes last.
        most = np.array([*(min(degree, self.groups) for degree in self.degrees), self.groups])
        vertex, key = table[VERTEX].to_numpy(), table[KEY].to_numpy()
        groups: IntArray = (hash_keys(key) % most[vertex].astype(np.uint64)).astype(np.int64)
        return groups


def levels(flow: Dataflow, workers: int) -> tuple[Level, ...]:
    """Return the levels of a graph: that of streams first, then at least one more."""
    vertex_levels: list[int] = []
    degrees: list[int] = []
    spreads: list[int] = []
    """Over how many groups each vertex's output is spread by key; 0: in no such order."""
    for index, vertex in enumerate(flow.vertices):
        before = vertex.inputs
        if vertex.is_source:
            level, degree, spread = 0, 0, 0
        elif isinstance(vertex.operator, OpStateless):
            # At a marker it emits in one group, of the first level that has markers.
            marked = vertex.operator.on_marker is not None
            level = max([*(vertex_levels[i] for i in before), marked])
            degree, spread = 0, int(all(spreads[i] == 1 for i in before))
        else:
            unit = flow.reads(index).key is None
            degree = 1 if unit else min(workers, vertex.degree or workers)
            level = max(vertex_levels[i] + (spreads[i] != degree) for i in before)
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
